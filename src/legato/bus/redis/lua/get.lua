-- Reads a record. ARGV: name. Reply: {version, value} or nil.
local version, _, value = live(ARGV[1], now_us())
if not version then return false end
return {version, value}
