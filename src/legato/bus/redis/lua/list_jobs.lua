-- Reads some of the jobs that a list names. KEYS: held or a queue. ARGV: base, first, last place in it.
-- Reply: {now in µs, names read, then for each job data, place, fence, deliveries, holder}
local names = redis.call('ZRANGE', KEYS[1], ARGV[2], ARGV[3])
local found = {string.format('%.0f', time()), #names}
for _, digest in ipairs(names) do
  local job = redis.call('HMGET', ARGV[1] .. ':j:' .. digest, 'd', 'p', 'f', 'n', 'w')
  if job[1] then
    for i = 1, 5 do table.insert(found, job[i] or '') end
  end
end
return found
