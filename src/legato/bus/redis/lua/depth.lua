-- Counts the waiting jobs. KEYS: engines. ARGV: base. Reply: {engine, count, ...}
lapse(ARGV[1], time())
local depths = {}
for _, engine in ipairs(redis.call('SMEMBERS', KEYS[1])) do
  local count = redis.call('ZCARD', ARGV[1] .. ':q:' .. engine)
  if count > 0 then
    table.insert(depths, engine)
    table.insert(depths, count)
  end
end
return depths
