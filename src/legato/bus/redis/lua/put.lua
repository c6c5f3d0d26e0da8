-- Writes a record. ARGV: name, value, nonce, ms to live or '', version that must be there or ''.
-- Reply: 1, or 0 if another version is there.
local now = now_us()
local version, nonce = live(ARGV[1], now)
if version and nonce == ARGV[3] then return 1 end  -- asked again: the reply was lost
if ARGV[5] ~= '' and tonumber(ARGV[5]) ~= tonumber(version or '0') then return 0 end
store(ARGV[1], ARGV[3], ARGV[2], now)
if ARGV[4] == '' then
  redis.call('ZREM', KEYS[2], ARGV[1])
else
  redis.call('ZADD', KEYS[2], string.format('%.0f', now / 1000 + ARGV[4]), ARGV[1])
end
tidy(now)
return 1
