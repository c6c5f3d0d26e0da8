-- Makes the record of a stream.
-- KEYS: record, tombstone. ARGV: incarnation, ms to live, ms that a trace outlives it, [note, value] ...
-- The record's fields: g, the incarnation; and for each direction, led by u or d:
--   k token: the log is the key <record without its r><direction>:<token>
--   h who holds it, the one writer that knows the token   f fence of the writers
--   t last number trimmed   x bytes trimmed   q whether somebody waits for room
--   r readers   w writers to be told of changes   :<writer> number of its last entry
-- and .<name>, a note: '<version>:<nonce>:<value>'. The trace stands in the tombstone's place: a record
-- that is gone while the trace stands has outlived its time; one that took the trace along was lost.
-- An entry of the log has the number of its last payload: b '<bytes before> <bytes after>', e payload ...
local g = redis.call('HGET', KEYS[1], 'g')
if g == ARGV[1] then return 'made' end
if g then return 'exists' end
local trace = redis.call('GET', KEYS[2])
if trace and trace ~= 'trace' then return 'deleted' end
redis.call('HSET', KEYS[1], 'g', ARGV[1])
for i = 4, #ARGV, 2 do put_note(KEYS[1], ARGV[i], '', ARGV[i + 1]) end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('SET', KEYS[2], 'trace', 'PX', ARGV[2] + ARGV[3])
return 'made'
