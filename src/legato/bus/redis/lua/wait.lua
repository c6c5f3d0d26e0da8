-- Notes that somebody waits for room. KEYS: record. ARGV: direction. Reply: 1, or 0 if it is gone.
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HDEL', KEYS[1], '')  -- goes on when memory is out
redis.call('HSET', KEYS[1], ARGV[1] .. 'q', 1)
return 1
