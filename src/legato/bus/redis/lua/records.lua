-- What the scripts of the registry share. KEYS: records, expiries. A record is the field '.<name>' with
-- '<version>:<nonce>:<value>'; the field 'v' holds the last version. Expiries are by name, in ms.
local function now_us()
  local now = redis.call('TIME')
  return tonumber(now[1]) * 1000000 + tonumber(now[2])
end

local function split(record)
  local version, nonce, at = string.match(record, '^(%d+):(%w*):()')
  return version, nonce, string.sub(record, at)
end

-- Version, nonce and value of a record; nothing if it is not there or has outlived its time.
local function live(name, now)
  local record = redis.call('HGET', KEYS[1], '.' .. name)
  if not record then return nil end
  local due = redis.call('ZSCORE', KEYS[2], name)
  if due and tonumber(due) <= now / 1000 then return nil end
  return split(record)
end

-- Forget some records that have outlived their time, and let the keys go with the last of them.
local function tidy(now)
  local at = string.format('%.0f', now / 1000)
  local due = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', at, 'LIMIT', 0, 16)
  for _, name in ipairs(due) do
    redis.call('HDEL', KEYS[1], '.' .. name)
    redis.call('ZREM', KEYS[2], name)
  end
  local last = redis.call('ZRANGE', KEYS[2], -1, -1, 'WITHSCORES')[2]
  local named = redis.call('HLEN', KEYS[1]) - 1
  if named <= 0 then
    redis.call('DEL', KEYS[1], KEYS[2])
  elseif last and redis.call('ZCARD', KEYS[2]) == named then
    local at = string.format('%.0f', tonumber(last))
    redis.call('PEXPIREAT', KEYS[1], at)
    redis.call('PEXPIREAT', KEYS[2], at)
  else
    redis.call('PERSIST', KEYS[1])
    redis.call('PERSIST', KEYS[2])
  end
end

local function store(name, nonce, value, now)
  local version = math.max(now, tonumber(redis.call('HGET', KEYS[1], 'v') or '0') + 1)
  version = string.format('%.0f', version)
  redis.call('HSET', KEYS[1], '.' .. name, version .. ':' .. nonce .. ':' .. value, 'v', version)
end
