-- Adds to a counter. KEYS[3]: nonce. ARGV: name, what to add, nonce, ms to live or ''.
-- Reply: the sum in digits; nil if the record is not a counter or would reach 2^53.
local known = redis.call('GET', KEYS[3])
if known then return known end  -- asked again: the reply was lost
local now = now_us()
local version, _, value = live(ARGV[1], now)
if version and not string.match(value, '^%-?%d+$') then return false end
local sum = tonumber(value or '0') + tonumber(ARGV[2])
if math.abs(sum) >= 9007199254740992 then return false end
sum = string.format('%.0f', sum)
store(ARGV[1], ARGV[3], sum, now)
if not version then
  if ARGV[4] == '' then
    redis.call('ZREM', KEYS[2], ARGV[1])
  else
    redis.call('ZADD', KEYS[2], string.format('%.0f', now / 1000 + ARGV[4]), ARGV[1])
  end
end
tidy(now)
redis.call('SET', KEYS[3], sum, 'PX', 15000)
return sum
