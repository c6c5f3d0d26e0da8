-- Queues a job, once. KEYS: job, finished, clock, queue, waiting workers, engines, tenant's round.
-- ARGV: digest, engine, data, ms to keep it. Reply: channels to tell.
local now = time()
if redis.call('EXISTS', KEYS[2]) == 1 then return {} end
if redis.call('EXISTS', KEYS[1]) == 0 then
  local place = ticket(KEYS[3], 'p', now)
  local round = math.max(current(KEYS[3]), tonumber(redis.call('GET', KEYS[7]) or '-1') + 1)
  redis.call('SET', KEYS[7], string.format('%.0f', round), 'PX', ARGV[4])
  local turn = string.format('%.17g', round + redis.call('HINCRBY', KEYS[3], 's', 1) % TIES / TIES)
  redis.call('HSET', KEYS[1], 'd', ARGV[3], 'e', ARGV[2], 'p', place, 'f', 0, 'n', 0, 'r', turn,
    'u', KEYS[7])
  redis.call('ZADD', KEYS[4], turn, ARGV[1])
  redis.call('SADD', KEYS[6], ARGV[2])
  for _, key in ipairs({KEYS[1], KEYS[3], KEYS[4], KEYS[6]}) do keep(key, tonumber(ARGV[4])) end
elseif not redis.call('ZSCORE', KEYS[4], ARGV[1]) then
  return {}
end
return waiting(KEYS[5], now)
