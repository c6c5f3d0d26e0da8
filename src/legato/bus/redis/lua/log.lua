-- What the scripts of logs share.
local function log_of(record, d, token)
  return string.sub(record, 1, -2) .. d .. ':' .. token
end

-- Number of the last payload in a log, and the bytes ever stored; none if all was trimmed.
local function last_of(log)
  local entry = redis.call('XREVRANGE', log, '+', '-', 'COUNT', 1)[1]
  if not entry then return nil end
  return tonumber(string.match(entry[1], '^%d+')), tonumber(string.match(entry[2][2], '%d+$'))
end
