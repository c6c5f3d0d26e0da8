-- Forgets a job, and that it was finished. KEYS: job, held, finished, clock.
-- ARGV: base, digest.
-- Reply: 1, or 0 if there was none.
local job = redis.call('HMGET', KEYS[1], 'e', 'r', 'u')
local engine, tenant = job[1], job[3]
if engine and redis.call('ZREM', ARGV[1] .. ':q:' .. engine, ARGV[2]) == 1 and tenant then
  local round = math.floor(tonumber(job[2]))
  if tonumber(redis.call('GET', tenant) or '-1') == round then redis.call('DECR', tenant) end
  forget_past(tenant, current(KEYS[4]))
end
redis.call('DEL', KEYS[1], KEYS[3])
redis.call('ZREM', KEYS[2], ARGV[2])
return engine and 1 or 0
