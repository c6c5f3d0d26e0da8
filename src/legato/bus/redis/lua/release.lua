-- Gives a job back. KEYS: job, held, queue, waiting workers.
-- ARGV: digest, fence, 1 if the claim never reached the worker. Reply: channels to tell.
local job = redis.call('HMGET', KEYS[1], 'f', 'p')
if job[1] ~= ARGV[2] then return {} end
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('HSET', KEYS[1], 'f', 0)
if ARGV[3] == '1' then redis.call('HINCRBY', KEYS[1], 'n', -1) end
redis.call('ZADD', KEYS[3], job[2], ARGV[1])
keep(KEYS[3], redis.call('PTTL', KEYS[1]))
return waiting(KEYS[4], time())
