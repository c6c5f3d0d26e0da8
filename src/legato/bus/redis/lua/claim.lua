-- Gives the next waiting job of some engines to a worker.
-- KEYS: held, clock, nonce, then for each engine its queue, then for each its waiting workers.
-- ARGV: base, lease in ms, ms to keep the job, channel or '', ms that the worker waits, its name.
-- Reply: {data, fence, deliveries}, or {ms until a lease may run out, -1 if none is held}
local base, engines, now = ARGV[1], (#KEYS - 3) / 2, time()
local held, clock = KEYS[1], KEYS[2]
local digest, fence = string.match(redis.call('GET', KEYS[3]) or '', '(%S+) (%S+)')
if digest then  -- asked again: the reply was lost
  local job = redis.call('HMGET', base .. ':j:' .. digest, 'd', 'f', 'n')
  if job[2] == fence then return {job[1], fence, tonumber(job[3])} end
end
lapse(base, now)
while true do
  local queue, first, place
  for i = 4, 3 + engines do
    local front = redis.call('ZRANGE', KEYS[i], 0, 0, 'WITHSCORES')
    if front[1] and (not place or tonumber(front[2]) < place) then
      queue, first, place = KEYS[i], front[1], tonumber(front[2])
    end
  end
  if not queue then break end
  redis.call('ZREM', queue, first)
  local key = base .. ':j:' .. first
  local data = redis.call('HGET', key, 'd')
  if data then
    local number = ticket(clock, 'f', now)
    local deliveries = redis.call('HINCRBY', key, 'n', 1)
    redis.call('HSET', key, 'f', number, 'w', ARGV[6])
    redis.call('ZADD', held, string.format('%.0f', now / 1000 + ARGV[2]), first)
    local round, tenant = math.max(current(clock), math.floor(place)), redis.call('HGET', key, 'u')
    redis.call('HSET', clock, 'r', string.format('%.0f', round))
    if tenant then forget_past(tenant, round) end
    redis.call('SET', KEYS[3], first .. ' ' .. number, 'PX', 15000)
    for _, kept in ipairs({key, held, clock}) do keep(kept, tonumber(ARGV[3])) end
    return {data, number, deliveries}
  end
end
if ARGV[4] ~= '' then
  for i = 4 + engines, #KEYS do
    -- Without memory for it the worker only looks less often.
    redis.pcall('ZADD', KEYS[i], string.format('%.0f', now / 1000 + ARGV[5]), ARGV[4])
    keep(KEYS[i], tonumber(ARGV[5]))
  end
end
local due = redis.call('ZRANGE', held, 0, 0, 'WITHSCORES')[2]
return {due and math.max(0, math.ceil(tonumber(due) - now / 1000)) or -1}
