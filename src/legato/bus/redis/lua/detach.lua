-- Takes readers or writers of a log off its list: one, or all of a channel that nobody hears.
-- KEYS: record. ARGV: field, <channel>/<handle> or <channel>/. Reply: writers to be told of it.
local list = redis.call('HGET', KEYS[1], ARGV[1])
if not list then return '' end
local whole, kept = string.sub(ARGV[2], -1) ~= '/', {}
for item in string.gmatch(list, '%S+') do
  local same = item == ARGV[2] or (not whole and string.sub(item, 1, #ARGV[2]) == ARGV[2])
  if not same then table.insert(kept, item) end
end
redis.call('HDEL', KEYS[1], ARGV[1])
if #kept > 0 then redis.call('HSET', KEYS[1], ARGV[1], table.concat(kept, ' ')) end
return redis.call('HGET', KEYS[1], string.sub(ARGV[1], 1, 1) .. 'w') or ''
