-- Extends a lease. KEYS: job, held, queue. ARGV: digest, fence, lease in ms, ms to keep the job.
-- Reply: 1, or 0 if the claim is no longer the last. (PEXPIRE comes first: it goes on when memory is out.)
if redis.call('HGET', KEYS[1], 'f') ~= ARGV[2] then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
local now = redis.call('TIME')
local due = tonumber(now[1]) * 1000 + tonumber(now[2]) / 1000 + tonumber(ARGV[3])
redis.call('ZADD', KEYS[2], string.format('%.0f', due), ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
redis.call('ZREM', KEYS[3], ARGV[1])
return 1
