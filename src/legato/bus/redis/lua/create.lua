-- Makes the record of a stream. KEYS: record, tombstone. ARGV: incarnation, ms to live.
-- The record's fields: g, the incarnation; and for each direction, led by u or d:
--   k token: the log is the key <record without its r><direction>:<token>
--   h who holds it, the one writer that knows the token   f fence of the writers
--   t last number trimmed   x bytes trimmed   q whether somebody waits for room
--   r readers   w writers to be told of changes   :<writer> number of its last entry
-- An entry of the log has the number of its last payload: b '<bytes before> <bytes after>', e payload ...
local g = redis.call('HGET', KEYS[1], 'g')
if g == ARGV[1] then return 'made' end
if g then return 'exists' end
if redis.call('EXISTS', KEYS[2]) == 1 then return 'deleted' end
redis.call('HSET', KEYS[1], 'g', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 'made'
