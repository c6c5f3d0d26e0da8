-- Writes a note. KEYS: record. ARGV: name, value, nonce, version that must be there or '', most notes.
-- Reply: 1; 0 if another version is there; -1 if there are too many; nil if the stream is gone.
if redis.call('HEXISTS', KEYS[1], 'g') == 0 then return false end
local version, nonce = '0', nil
local known = redis.call('HGET', KEYS[1], '.' .. ARGV[1])
if known then version, nonce = split_note(known) end
if nonce == ARGV[3] then return 1 end  -- asked again: the reply was lost
if ARGV[4] ~= '' and tonumber(ARGV[4]) ~= tonumber(version) then return 0 end
if not known then
  local count = 0
  for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
    local counts = string.sub(field, 1, 1) == '.' and field ~= '.up' and field ~= '.down'
    if counts then count = count + 1 end
  end
  if count >= tonumber(ARGV[5]) and ARGV[1] ~= 'up' and ARGV[1] ~= 'down' then return -1 end
end
redis.call('HDEL', KEYS[1], '')  -- goes on when memory is out
put_note(KEYS[1], ARGV[1], ARGV[3], ARGV[2])
return 1
