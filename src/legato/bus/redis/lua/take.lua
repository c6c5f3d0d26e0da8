-- Makes a writer the one that holds a log, and shuts out those of lower fences. The log gets a new
-- name, which nobody else knows: whatever others still send finds no key (XADD NOMKSTREAM).
-- KEYS: record. ARGV: direction, incarnation or '', fence, writer, new token, whom to tell or ''.
-- Reply: {'ok', incarnation, number of this writer's last entry, last number, bytes ever stored,
--   bytes trimmed, readers, whom to tell now} or {'gone'} or {'fenced', fence} or {'lost'}.
local d, record, token = ARGV[1], KEYS[1], ARGV[5]
local own = d .. ':' .. ARGV[4]
redis.call('HDEL', record, '')  -- goes on when memory is out
local m = redis.call('HMGET', record, 'g', d .. 'f', d .. 'k', d .. 'h', d .. 't', d .. 'x',
  d .. 'r', d .. 'w')
local g, key, holder = m[1], m[3], m[4]
if not g or (ARGV[2] ~= '' and g ~= ARGV[2]) then return {'gone'} end
local fence, mine = tonumber(m[2] or '0'), tonumber(ARGV[3])
if mine < fence then return {'fenced', m[2]} end

local log = log_of(record, d, token)
if not key then
  redis.call('XGROUP', 'CREATE', log, 'x', '0', 'MKSTREAM')
  redis.call('XGROUP', 'DESTROY', log, 'x')
  redis.call('PEXPIREAT', log, redis.call('PEXPIRETIME', record))
elseif key ~= token then
  if redis.call('EXISTS', log_of(record, d, key)) == 0 then return {'lost'} end
  redis.call('RENAME', log_of(record, d, key), log)
end
local last, bytes = last_of(log)
last, bytes = last or tonumber(m[5] or '0'), bytes or tonumber(m[6] or '0')

if holder and key ~= token then redis.call('HSET', record, d .. ':' .. holder, last) end
local watchers, told = m[8], ''
if mine > fence then
  for _, field in ipairs(redis.call('HKEYS', record)) do
    if string.sub(field, 1, 2) == d .. ':' and field ~= own then redis.call('HDEL', record, field) end
  end
  watchers, told = nil, watchers or ''
elseif redis.call('HLEN', record) > 82 then  -- 18 of them may be notes
  -- Forget the writer that has been silent longest.
  local fields, silent, least = redis.call('HGETALL', record), nil, math.huge
  for i = 1, #fields, 2 do
    local number = string.sub(fields[i], 1, 2) == d .. ':' and tonumber(fields[i + 1])
    if number and number < least and fields[i] ~= own then silent, least = fields[i], number end
  end
  if silent then redis.call('HDEL', record, silent) end
end
redis.call('HSETNX', record, own, 0)
redis.call('HSET', record, d .. 'f', ARGV[3], d .. 'k', token, d .. 'h', ARGV[4])
if ARGV[6] ~= '' then redis.call('HSET', record, d .. 'w', with(watchers, ARGV[6])) end
return {'ok', g, tonumber(redis.call('HGET', record, own)), last, bytes, tonumber(m[6] or '0'),
  m[7] or '', told}
