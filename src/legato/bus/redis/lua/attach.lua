-- Adds a reader of a log. KEYS: record. ARGV: direction, incarnation or '', reader.
-- Reply: writers to be told of it, or nil if the stream is gone.
local d = ARGV[1]
redis.call('HDEL', KEYS[1], '')  -- goes on when memory is out
local m = redis.call('HMGET', KEYS[1], 'g', d .. 'r', d .. 'w')
if not m[1] or (ARGV[2] ~= '' and m[1] ~= ARGV[2]) then return false end
redis.call('HSET', KEYS[1], d .. 'r', with(m[2], ARGV[3]))
return m[3] or ''
