// The Lua of one counter of shared limits, and of what is granted under it; it stands behind the session's part of a script.
import { recallEveryMs, recallMs, silentMs, spareShare, spread } from '../limits/exchanging.ts';

/**
 * A counter is a hash: `h` the newest slice, `t` used, `H` held by all, `g` burials seen, `d` 1 when somebody was told that it is dry, `x`
 * when others were last asked to give back, `P` spare of all, `s<session>` held, `p<session>` of that spare, `<slice>` used. What is not read is
 * not written: most exchanges touch few of its fields.
 *
 * Uses of the script: `id` and `own`, the session as text and number; `now`; `facts`, `text`, `number`, `parseGrave`.
 */
export const counterWords = `
local function sliceAt(time, period) return math.floor((time * 3) / (50 * period)) end
local fields = {'h', 't', 'H', 'g', 'd', 'x', 'P', 's' .. id, 'p' .. id}

-- What a field says. Where somebody else has written garbage, the field is removed, and the sums are made anew.
local function read(counter, field, value)
  local units = number(value)
  if value and units == 0 and value ~= '0' then
    counter.isDamaged = true
    counter.changed[field] = 0
  end
  return units
end

-- Everything that the hash holds; what has been changed meanwhile stays.
local function readAll(counter)
  if counter.isWhole then return end
  counter.isWhole = true
  if counter.isForeign then return end
  local flat = call('HGETALL', counter.key)
  for at = 1, #flat, 2 do
    local session = match(flat[at], '^s(%d+)$')
    local sparing = match(flat[at], '^p(%d+)$')
    local slice = match(flat[at], '^%d+$') and tonumber(flat[at])
    if session and counter.sessions[session] == nil then
      counter.sessions[session] = read(counter, flat[at], flat[at + 1])
    elseif sparing and counter.spares[sparing] == nil then
      counter.spares[sparing] = read(counter, flat[at], flat[at + 1])
    elseif slice and counter.slices[slice] == nil then
      counter.slices[slice] = read(counter, flat[at], flat[at + 1])
    end
  end
end

local function usedIn(counter, slice)
  if counter.slices[slice] == nil then
    local field = text(slice)
    counter.slices[slice] = counter.isWhole and 0 or read(counter, field, call('HGET', counter.key, field))
  end
  return counter.slices[slice]
end
local function setUsed(counter, slice, units)
  counter.used = counter.used + units - usedIn(counter, slice)
  counter.slices[slice] = units
  counter.changed[text(slice)] = units
end
local function hold(counter, session, units)
  counter.held = counter.held + units - (counter.sessions[session] or 0)
  counter.sessions[session] = units
  counter.changed['s' .. session] = units
end
local function spare(counter, session, units)
  local known = math.min(units, counter.sessions[session] or 0)
  if counter.spares[session] == known then return end
  counter.spare = counter.spare + known - (counter.spares[session] or 0)
  counter.spares[session] = known
  counter.changed['p' .. session] = known
end

local function use(counter, slice, units)
  local place = math.min(slice, counter.head)
  if counter.period == 0 or units == 0 or place <= counter.head - 61 then return end
  setUsed(counter, place, usedIn(counter, place) + units)
end
local function refund(counter, low, high, units)
  if low <= counter.head - 61 then return end
  local left = units
  readAll(counter)
  for slice = low, math.min(high, counter.head) do
    local counted = usedIn(counter, slice)
    local taken = math.min(left, counted)
    if taken > 0 then
      setUsed(counter, slice, counted - taken)
      left = left - taken
    end
  end
end

-- Drops what has left the trailing period.
local function turn(counter, former)
  if former >= counter.head or counter.period == 0 then return end
  if counter.head - former <= 4 then
    for slice = former - 60, counter.head - 61 do
      if usedIn(counter, slice) > 0 then setUsed(counter, slice, 0) end
    end
    return
  end
  readAll(counter)
  for slice, units in pairs(counter.slices) do
    if slice <= counter.head - 61 and units > 0 then setUsed(counter, slice, 0) end
  end
end

local function buryHeld(counter)
  if counter.graves == facts.graves then return end
  counter.graves = facts.graves
  readAll(counter)
  for session, units in pairs(counter.sessions) do
    if units > 0 then
      local grave = parseGrave(call('HGET', gravesKey, session) or '')
      local used = grave and grave.used
      if not grave and call('HEXISTS', sessionsKey, session) == 0 then used = now end
      if used then
        hold(counter, session, 0)
        spare(counter, session, 0)
        if counter.period ~= 0 then use(counter, sliceAt(used, counter.period), units) end
      end
    end
  end
end

local function mend(counter)
  readAll(counter)
  counter.isDamaged, counter.used, counter.held, counter.spare = false, 0, 0, 0
  for _, units in pairs(counter.slices) do counter.used = counter.used + units end
  for _, units in pairs(counter.sessions) do counter.held = counter.held + units end
  for _, units in pairs(counter.spares) do counter.spare = counter.spare + units end
end

-- The slices of the uses to come are read along.
local function load(key, period, uses)
  local counter = {key = key, period = period, head = period > 0 and sliceAt(now, period) or 0, slices = {}, sessions = {}, spares = {}, changed = {}}
  local wanted, places = fields, {}
  if period > 0 and uses[1] then
    wanted = {unpack(fields)}
    for _, each in ipairs(uses) do
      local place = math.min(each[1], counter.head)
      if place > counter.head - 61 then
        places[#places + 1] = place
        wanted[#places + 9] = text(place)
      end
    end
  end
  local found = redis.pcall('HMGET', key, unpack(wanted))
  counter.isForeign = found.err ~= nil
  counter.isWhole = counter.isForeign or not found[1]
  if counter.isWhole then
    counter.graves, counter.used, counter.held, counter.dry, counter.recalled, counter.spare = facts.graves, 0, 0, 0, 0, 0
    counter.sessions[id], counter.spares[id] = 0, 0
    counter.before = {[7] = 0}
    return counter
  end
  counter.used, counter.held, counter.spare = number(found[2]), number(found[3]), number(found[7])
  counter.sessions[id], counter.spares[id] = read(counter, fields[8], found[8]), read(counter, fields[9], found[9])
  counter.graves, counter.dry, counter.recalled = number(found[4]), number(found[5]), number(found[6])
  counter.before = {number(found[1]), counter.used, counter.held, counter.graves, counter.dry, counter.recalled, counter.spare}
  for at, place in ipairs(places) do counter.slices[place] = read(counter, wanted[at + 9], found[at + 9]) end
  if (counter.used == 0 and found[2] ~= '0') or (counter.held == 0 and found[3] ~= '0') or (counter.spare == 0 and (found[7] or '0') ~= '0') then
    counter.isDamaged = true
  end
  if counter.isDamaged then mend(counter) end
  turn(counter, counter.before[1])
  return counter
end

local function save(counter)
  if counter.isDamaged then mend(counter) end
  local values, gone = {}, {}
  local before = counter.before
  for at, value in ipairs({counter.head, counter.used, counter.held, counter.graves, counter.dry, counter.recalled, counter.spare}) do
    if before[at] ~= value then
      values[#values + 1] = fields[at]
      values[#values + 1] = text(value)
    end
  end
  for field, units in pairs(counter.changed) do
    if units == 0 then
      gone[#gone + 1] = field
    else
      values[#values + 1] = field
      values[#values + 1] = text(units)
    end
  end
  if counter.isForeign then call('DEL', counter.key) end
  if #values > 0 then call('HSET', counter.key, unpack(values)) end
  if #gone > 0 then call('HDEL', counter.key, unpack(gone)) end
  -- What was counted in a slice lives on from its first use; so does what is held.
  if counter.period > 0 and before[1] == counter.head and (before[3] == 0) == (counter.held == 0) then return end
  local expires = 20000
  if counter.period > 0 then
    expires = expires + math.ceil(counter.period * 61000 / 60) + (counter.held == 0 and 0 or 3600000)
  elseif counter.held > 0 then
    expires = 86400000
  end
  call('PEXPIRE', counter.key, text(expires))
end

local function tell(kind, key)
  redis.pcall('PUBLISH', ARGV[5], kind .. string.sub(key, tonumber(ARGV[6]) + 1))
end

local function book(key, item)
  local counter = load(key, item[1], item[7])
  local before = counter.used + counter.held
  buryHeld(counter)
  for _, each in ipairs(item[7]) do use(counter, each[1], each[2]) end
  for _, each in ipairs(item[8]) do refund(counter, each[1], each[2], each[3]) end
  if counter.sessions[id] ~= item[3] then hold(counter, id, item[3]) end
  if counter.dry == 1 and counter.used + counter.held < before then
    counter.dry = 0
    tell('f', key)
  end
  local row = {counter = counter, cap = item[2], wish = item[5], least = item[6], granted = 0, lacking = 0, recall = 0}
  row.told, row.spare, row.isDated = item[4], item[4], item[9]
  return row
end

local function free(row) return row.cap - row.counter.used - row.counter.held end
local function give(row, units)
  if units == 0 then return end
  hold(row.counter, id, row.counter.sessions[id] + units)
  row.granted = row.granted + units
end

-- Whether another session has spare units, and answers.
local function isAwaiting(counter)
  readAll(counter)
  for session, units in pairs(counter.spares) do
    if units > 0 and session ~= id then
      local of = parseSession(call('HGET', sessionsKey, session) or '')
      if of and of.contact >= now - ${silentMs} then return true end
    end
  end
  return false
end

-- A request lacks units. What others hold is called back, and waited for: for a moment, and as long as one has not given its spare units back.
local function lack(row, units)
  local counter = row.counter
  if row.lacking == 0 or units < row.lacking then row.lacking = units end
  counter.dry = 1
  row.recall = 0
  if counter.held == counter.sessions[id] then return end
  if now - counter.recalled >= ${recallEveryMs} then
    counter.recalled = now
    tell('r', counter.key)
  end
  local since = now - counter.recalled
  if since < ${recallMs} then
    row.recall = ${recallMs} - since
  elseif isAwaiting(counter) then
    row.recall = ${recallEveryMs} - since
  end
end

-- As many requests as all their counters have room for. A need: item, units, kept, alone.
local function admit(rows, requests, needs)
  local admitted = requests
  for _, need in ipairs(needs) do
    local row, units, kept = rows[need[1] + 1], need[2], need[3]
    local fits = requests
    if units > 0 then fits = math.floor((math.max(0, free(row)) + kept) / units) end
    if fits == 0 and need[4] == 1 and row.counter.held == kept and row.counter.used < row.cap then fits = 1 end
    admitted = math.min(admitted, fits)
  end
  for _, need in ipairs(needs) do
    local row, units, kept = rows[need[1] + 1], need[2], need[3]
    give(row, math.min(math.max(0, admitted * units - kept), math.max(0, free(row))))
    row.spare = math.max(0, row.spare - math.min(kept, admitted * units))
    local left = math.max(0, kept - admitted * units)
    if admitted < requests and free(row) + left < units then lack(row, units - left) end
  end
  return admitted
end

local function addSpare(row)
  if row.wish == 0 then return end
  local most = math.max(row.least, math.ceil(row.cap / (${spareShare} * facts.live))) - row.told
  local part = math.floor(math.max(0, free(row)) / (${spread} * facts.live))
  local granted = math.max(0, math.min(row.wish, most, part))
  give(row, granted)
  row.spare = row.spare + granted
  if granted > 0 or row.lacking > 0 or free(row) > 0 then return end
  row.lacking = 1
  row.counter.dry = 1
  row.recall = row.counter.held > row.counter.sessions[id] and -1 or 0
end

local function freeIn(row)
  if row.lacking == 0 then return 0 end
  local counter, room = row.counter, free(row)
  if room >= row.lacking then return 0 end
  readAll(counter)
  if counter.period == 0 then return -1 end
  for slice = counter.head - 60, counter.head do
    room = room + (counter.slices[slice] or 0)
    if room >= row.lacking then return math.max(1, math.ceil((slice + 61) * 50 * counter.period / 3) - now) end
  end
  return -1
end

-- The oldest and the newest slice with use.
local function span(counter)
  local oldest, newest = -1, -1
  readAll(counter)
  for slice, units in pairs(counter.slices) do
    if units > 0 then
      if oldest < 0 or slice < oldest then oldest = slice end
      if slice > newest then newest = slice end
    end
  end
  return oldest, newest
end

local function finish(row)
  local counter = row.counter
  spare(counter, id, row.spare)
  save(counter)
  local others, oldest, newest = counter.held - counter.sessions[id], -1, -1
  if row.isDated then oldest, newest = span(counter) end
  return format('[%d,%d,%d,%d,%d,%d,%d,%d,%d,%d]', row.granted, row.spare, free(row), counter.used, others,
    others - (counter.spare - counter.spares[id]), freeIn(row), row.recall, oldest, newest)
end

local function view(key, period)
  local counter = load(key, period, {})
  buryHeld(counter)
  local oldest, newest = span(counter)
  local holders = {}
  for session, units in pairs(counter.sessions) do
    local of = units > 0 and parseSession(call('HGET', sessionsKey, session) or '')
    if units > 0 then holders[#holders + 1] = {number(session), of and of.instance or '', units, units - (counter.spares[session] or 0)} end
  end
  table.sort(holders, function(one, other) return one[1] < other[1] end)
  local parts = {text(counter.used), text(counter.held), text(oldest), text(newest)}
  for _, each in ipairs(holders) do
    parts[#parts + 1] = '[' .. cjson.encode(each[2]) .. ',' .. text(each[3]) .. ',' .. text(each[4]) .. ']'
  end
  return '[' .. table.concat(parts, ',') .. ']'
end
`;
