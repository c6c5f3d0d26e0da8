-- Forgets entries. KEYS: record. ARGV: direction, last number to forget, [note's name, note].
-- Reply: {bytes trimmed, whom to tell that there is room} or nil if nothing was to forget.
local d = ARGV[1]
local m = redis.call('HMGET', KEYS[1], d .. 'k', d .. 't', d .. 'x', d .. 'q', d .. 'w')
local trimmed, upto = tonumber(m[2] or '0'), tonumber(ARGV[2])
if not m[1] or upto <= trimmed then return false end
local log = log_of(KEYS[1], d, m[1])
local bytes
-- The first entry that is kept says how much comes before it.
local kept = redis.call('XRANGE', log, (upto + 1) .. '-0', '+', 'COUNT', 1)[1]
if kept then
  bytes = tonumber(string.match(kept[2][2], '^%d+'))
else
  upto, bytes = last_of(log)
  if not upto or upto <= trimmed then return false end
end
redis.call('XTRIM', log, 'MINID', (upto + 1) .. '-0')
redis.call('HSET', KEYS[1], d .. 't', upto, d .. 'x', bytes)
if ARGV[3] then put_note(KEYS[1], ARGV[3], '', ARGV[4]) end
if not m[4] then return {bytes, ''} end
redis.call('HDEL', KEYS[1], d .. 'q')
return {bytes, m[5] or ''}
