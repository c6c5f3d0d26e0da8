-- A job is done. KEYS: job, held, queue, finished. ARGV: digest, fence, ms to remember it.
if redis.call('HGET', KEYS[1], 'f') ~= ARGV[2] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
redis.call('SET', KEYS[4], 1, 'PX', ARGV[3])
return 1
