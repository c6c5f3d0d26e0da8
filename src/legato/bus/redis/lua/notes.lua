-- What the scripts that write notes share: fields of a stream's record.
local function split_note(note)
  local version, nonce, at = string.match(note, '^(%d+):(%w*):()')
  return version, nonce, string.sub(note, at)
end

-- Versions are the time in microseconds, or one more than the last.
local function put_note(record, name, nonce, value)
  local now = redis.call('TIME')
  now = tonumber(now[1]) * 1000000 + tonumber(now[2])
  local known = redis.call('HGET', record, '.' .. name)
  local last = known and tonumber((split_note(known))) or 0
  local version = string.format('%.0f', math.max(now, last + 1))
  redis.call('HSET', record, '.' .. name, version .. ':' .. nonce .. ':' .. value)
end
