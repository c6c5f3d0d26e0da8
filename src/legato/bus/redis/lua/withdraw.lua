-- Forgets a job, and that it was finished. KEYS: job, held, finished. ARGV: base, digest.
local engine = redis.call('HGET', KEYS[1], 'e')
if engine then redis.call('ZREM', ARGV[1] .. ':q:' .. engine, ARGV[2]) end
redis.call('DEL', KEYS[1], KEYS[3])
redis.call('ZREM', KEYS[2], ARGV[2])
return 1
