-- Reads all records. Reply: {name, version, value, ...}
local now, found = now_us(), {}
local due = {}
local expiries = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', string.format('%.0f', now / 1000))
for _, name in ipairs(expiries) do due[name] = true end
local fields = redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
  local name = string.sub(fields[i], 2)
  if string.sub(fields[i], 1, 1) == '.' and not due[name] then
    local version, _, value = split(fields[i + 1])
    table.insert(found, name)
    table.insert(found, version)
    table.insert(found, value)
  end
end
return found
