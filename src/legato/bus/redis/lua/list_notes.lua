-- Reads the notes of a stream. KEYS: record. Reply: {name, version, value, ...} or nil if it is gone.
local fields, found, there = redis.call('HGETALL', KEYS[1]), {}, false
for i = 1, #fields, 2 do
  there = there or fields[i] == 'g'
  if string.sub(fields[i], 1, 1) == '.' then
    local version, _, value = split_note(fields[i + 1])
    table.insert(found, string.sub(fields[i], 2))
    table.insert(found, version)
    table.insert(found, value)
  end
end
return there and found
