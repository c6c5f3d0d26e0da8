-- Adds an item to a list of items without spaces; the oldest go when there are too many.
local function with(list, item)
  if not list or list == '' then return item end
  if string.find(' ' .. list .. ' ', ' ' .. item .. ' ', 1, true) then return list end
  list = list .. ' ' .. item
  while #list > 1024 do list = string.gsub(list, '^%S+ ', '') end
  return list
end
