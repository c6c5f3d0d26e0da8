-- Gives a job back; the claim does not count as a delivery. KEYS: job, held, queue, waiting workers.
-- ARGV: digest, fence. Reply: channels to tell.
local job = redis.call('HMGET', KEYS[1], 'f', 'r')
if job[1] ~= ARGV[2] then return {} end
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('HSET', KEYS[1], 'f', 0)
redis.call('HINCRBY', KEYS[1], 'n', -1)
redis.call('ZADD', KEYS[3], job[2] or 0, ARGV[1])
keep(KEYS[3], redis.call('PTTL', KEYS[1]))
return waiting(KEYS[4], time())
