-- Extends leases. KEYS: held, then for each lease its job and its queue.
-- ARGV: lease in ms, ms to keep the jobs, then for each lease the job's digest and the fence.
-- Reply for each: 1, or 0 if the claim is no longer the last.
redis.call('PEXPIRE', KEYS[1], ARGV[2])  -- goes on when memory is out
local now = redis.call('TIME')
local due = string.format('%.0f', tonumber(now[1]) * 1000 + tonumber(now[2]) / 1000 + tonumber(ARGV[1]))
local kept = {}
for i = 1, (#KEYS - 1) / 2 do
  local job, queue, digest, fence = KEYS[2 * i], KEYS[2 * i + 1], ARGV[2 * i + 1], ARGV[2 * i + 2]
  kept[i] = 0
  if redis.call('HGET', job, 'f') == fence then
    redis.call('PEXPIRE', job, ARGV[2])
    redis.call('ZADD', KEYS[1], due, digest)
    redis.call('ZREM', queue, digest)
    kept[i] = 1
  end
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return kept
