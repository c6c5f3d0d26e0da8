-- What the scripts of jobs share. Keys under BASE, all in one slot:
--   :j:<digest> a job: d data, e engine, p place, f fence of the last claim (0: none), n deliveries
--   :q:<engine> digests of waiting jobs by place    :w:<engine> channels of waiting workers by expiry
--   :h digests of held jobs by the end of the lease :c last fence and place   :e engines
--   :t:<digest> finished                            :o:<nonce> what a claim was given
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

local function keep(key, ms)
  if redis.call('PTTL', key) < ms then redis.call('PEXPIRE', key, ms) end
end

-- Jobs whose lease has run out wait again, in their old place.
local function lapse(base, now)
  local due = redis.call('ZRANGEBYSCORE', base .. ':h', '-inf', string.format('%.0f', now / 1000),
    'LIMIT', 0, 1000)
  for _, digest in ipairs(due) do
    redis.call('ZREM', base .. ':h', digest)
    local job = redis.call('HMGET', base .. ':j:' .. digest, 'e', 'p')
    if job[1] then
      redis.call('ZADD', base .. ':q:' .. job[1], job[2], digest)
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
