-- Lets a stream live on. KEYS: record, tombstone. ARGV: ms, ms that a trace outlives it.
-- Reply: 1, or 0 if it is gone.
if redis.call('PEXPIRE', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('PEXPIRE', KEYS[2], ARGV[1] + ARGV[2])
for _, d in ipairs({'u', 'd'}) do
  local token = redis.call('HGET', KEYS[1], d .. 'k')
  if token then redis.call('PEXPIRE', log_of(KEYS[1], d, token), ARGV[1]) end
end
return 1
