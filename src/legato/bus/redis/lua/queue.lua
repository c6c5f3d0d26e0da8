-- What the scripts of jobs share. Keys under BASE, all in one slot:
--   :j:<digest> a job: d data, e engine, p place, f fence of the last claim (0: none), w who made it,
--     n deliveries, r turn, u key of the tenant's last round
--   :q:<engine> digests of waiting jobs by turn     :w:<engine> channels of waiting workers by expiry
--   :h digests of held jobs by the end of the lease :c last fence and place   :e engines
--   :t:<digest> finished                            :o:<nonce> what a claim was given
--   :u:<digest> last round of a tenant
-- Fences and places are the time in µs, or one more than the last: they rise even if :c is lost.
local function time()
  local now = redis.call('TIME')
  return tonumber(now[1]) * 1000000 + tonumber(now[2])
end

local function ticket(clock, field, now)
  local value = math.max(now, tonumber(redis.call('HGET', clock, field) or '0') + 1)
  value = string.format('%.0f', value)
  redis.call('HSET', clock, field, value)
  return value
end

-- Tenants take turns: each has one job in each round, and `r` of a job is its round, with a fraction
-- that orders those of one round as they came. `r` of :c is the round of the last job handed out,
-- `s` counts jobs. A tenant's last round is known while it lies ahead.
local TIES = 2 ^ 20

local function current(clock)
  return tonumber(redis.call('HGET', clock, 'r') or '0')
end

local function forget_past(key, now)
  if tonumber(redis.call('GET', key) or '-1') <= now then redis.call('DEL', key) end
end

local function keep(key, ms)
  if redis.call('PTTL', key) < ms then redis.call('PEXPIRE', key, ms) end
end

-- Jobs whose lease has run out wait again, in their old place.
local function lapse(base, now)
  local due = redis.call('ZRANGEBYSCORE', base .. ':h', '-inf', string.format('%.0f', now / 1000),
    'LIMIT', 0, 1000)
  for _, digest in ipairs(due) do
    redis.call('ZREM', base .. ':h', digest)
    local job = redis.call('HMGET', base .. ':j:' .. digest, 'e', 'r')
    if job[1] then
      redis.call('ZADD', base .. ':q:' .. job[1], job[2] or 0, digest)
      keep(base .. ':q:' .. job[1], 3600000)
    end
  end
end

-- Some of the workers that wait for an engine, at random; a job wakes no more than these.
local function waiting(key, now)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', now / 1000))
  if redis.call('EXISTS', key) == 0 then return {} end
  return redis.call('ZRANDMEMBER', key, 8)
end
