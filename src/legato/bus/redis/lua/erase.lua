-- Erases a record. ARGV: name. Reply: 1, or 0 if there was none.
local now = now_us()
local version = live(ARGV[1], now)
redis.call('HDEL', KEYS[1], '.' .. ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
tidy(now)
return version and 1 or 0
