-- Erases a stream and leaves a tombstone without its name.
-- KEYS: record, tombstone. ARGV: nonce of this deletion, ms that the tombstone stands, 0 for none.
-- Reply: {entries erased, whom to tell ...}
local m = redis.call('HMGET', KEYS[1], 'g', 'ur', 'uw', 'dr', 'dw')
if not m[1] then
  local nonce, count = string.match(redis.call('GET', KEYS[2]) or '', '(%S+) (%d+)')
  return {nonce == ARGV[1] and tonumber(count) or 0}
end
local count = 0
for _, d in ipairs({'u', 'd'}) do
  local state = redis.call('HMGET', KEYS[1], d .. 'k', d .. 't')
  if state[1] then
    local log = log_of(KEYS[1], d, state[1])
    local trimmed = tonumber(state[2] or '0')
    count = count + (last_of(log) or trimmed) - trimmed
    redis.call('DEL', log)
  end
end
redis.call('DEL', KEYS[1])
if ARGV[2] == '0' then
  redis.call('DEL', KEYS[2])
else
  redis.call('SET', KEYS[2], ARGV[1] .. ' ' .. count, 'PX', ARGV[2])
end
return {count, m[2] or '', m[3] or '', m[4] or '', m[5] or ''}
