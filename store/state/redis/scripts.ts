// Redis scripts as fixed text: names of keys come as KEYS, everything else as ARGV. Each checks everything before it writes.
import { createHash } from 'node:crypto';

export interface RedisScript {
  readonly text: string;
  /** By which a server that has seen the text knows it. */
  readonly digest: string;
}

/** With its digest. */
export function script(text: string): RedisScript {
  return { text, digest: createHash('sha1').update(text).digest('hex') };
}

/**
 * Common functions of scripts: `number` reads a number, garbage included; `state` belongs to a newer version; `unpack`
 * takes a few thousand values at most.
 */
export const words = `
local function number(text)
  local found = tonumber(text)
  if found and found >= 0 and found < 2 ^ 53 and found == math.floor(found) then return found end
  return 0
end
local function isNewer(state, known)
  return number(redis.pcall('HGET', state, 'version')) > tonumber(known)
end
local function each(list, width, work)
  local step = 1000 * width
  for first = 1, #list, step do
    work(unpack(list, first, math.min(first + step - 1, #list)))
  end
end
local function ours(key, kind)
  local found = redis.call('TYPE', key)['ok']
  if found ~= kind and found ~= 'none' then redis.call('DEL', key) end
end
`;

/**
 * KEYS: state. ARGV: known version, id for a store without one, channel, id of the store expected (empty for none), mark of the change, what
 * is remembered of it, how many changes are, number of pairs expected, those pairs (field of the kind, revision), then for each change:
 * field of the document, field of its kind, body or empty. A full server takes what follows a deletion: so one comes first, unless
 * there are documents that are new.
 */
export const commitScript = script(`${words}
local state = KEYS[1]
if isNewer(state, ARGV[1]) then return {'newer'} end
if (redis.call('HGET', state, 'store_id') or '') ~= ARGV[4] then return {'conflict'} end
local first = 9 + 2 * tonumber(ARGV[8])
for at = 9, first - 1, 2 do
  if number(redis.call('HGET', state, ARGV[at])) ~= tonumber(ARGV[at + 1]) then return {'conflict'} end
end
local before = redis.call('HGET', state, 'revision')
if before and (#before > 15 or not string.match(before, '^%d+$')) then return {'corrupt'} end
if first > #ARGV then
  return {'done', before or '0', string.match(redis.call('HGET', state, 'mark') or '', '^' .. (before or '0') .. ':(.+)$')}
end
local isNew = false
for at = first, #ARGV, 3 do
  isNew = isNew or (ARGV[at + 2] ~= '' and redis.call('HEXISTS', state, ARGV[at]) == 0)
end
if not isNew then redis.call('HDEL', state, 'change:none') end
for at = first, #ARGV, 3 do
  if ARGV[at + 2] == '' then redis.call('HDEL', state, ARGV[at]) end
end
redis.call('HINCRBY', state, 'revision', 1)
local revision = redis.call('HGET', state, 'revision')
redis.call('HDEL', state, string.format('change:%.0f', tonumber(revision) - tonumber(ARGV[7])))
redis.call('HSET', state, 'mark', revision .. ':' .. ARGV[5], 'change:' .. revision, ARGV[6])
redis.call('HSETNX', state, 'store_id', ARGV[2])
redis.call('HSET', state, 'version', ARGV[1])
for at = first, #ARGV, 3 do
  if ARGV[at + 2] == '' then
    redis.call('HDEL', state, ARGV[at])
  else
    redis.call('HSET', state, ARGV[at], '{"revision":' .. revision .. ',"body":' .. ARGV[at + 2] .. '}')
  end
  redis.call('HSET', state, ARGV[at + 1], revision)
end
redis.pcall('PUBLISH', ARGV[3], revision)
return {'done', revision, ARGV[5]}
`);

/**
 * KEYS: state. ARGV: known version, id of the store, revision and mark that were seen, the most documents and the most bytes of an answer.
 * Gives revision and mark, the number of changes since, what is remembered of each, then field and value of each document that these name
 * and that is there; or `lost` when that is not known for certain, or is more.
 */
export const sinceScript = script(`${words}
local state, seen, mark = KEYS[1], tonumber(ARGV[3]), ARGV[4]
if isNewer(state, ARGV[1]) then return {'newer'} end
local position = redis.call('HMGET', state, 'store_id', 'revision', 'mark')
local last = number(position[2])
local function change(revision)
  local text = redis.call('HGET', state, string.format('change:%.0f', revision)) or ''
  local isJson, found = pcall(cjson.decode, text)
  return isJson and type(found) == 'table' and found or {}, text
end
local isSame = false
for _, each in ipairs(change(seen).marks or {}) do isSame = isSame or each == mark end
if position[1] ~= ARGV[2] or not isSame or last < seen then return {'lost'} end
local answer, names, size, most = {'done', position[2], position[3], string.format('%.0f', last - seen)}, {}, 0, tonumber(ARGV[6])
for revision = seen + 1, last do
  local found, text = change(revision)
  if type(found.names) ~= 'table' then return {'lost'} end
  for _, name in ipairs(found.names) do names[#names + 1] = name end
  answer[#answer + 1] = text
  size = size + #text
  if #names > tonumber(ARGV[5]) or size > most then return {'lost'} end
end
local told = {}
for _, name in ipairs(names) do
  local field = 'document:' .. name
  local value = not told[field] and redis.call('HGET', state, field)
  told[field] = true
  if value then
    answer[#answer + 1] = field
    answer[#answer + 1] = value
    size = size + #field + #value
    if size > most then return {'lost'} end
  end
end
return answer
`);

/** KEYS: state. ARGV: known version, id, channel. Gives the id in force. */
export const initialiseScript = script(`${words}
if isNewer(KEYS[1], ARGV[1]) then return {'newer'} end
if redis.call('HSETNX', KEYS[1], 'store_id', ARGV[2]) == 1 then
  redis.call('HSET', KEYS[1], 'version', ARGV[1])
  redis.call('HSETNX', KEYS[1], 'revision', '0')
  redis.pcall('PUBLISH', ARGV[3], '0')
end
return {'done', redis.call('HGET', KEYS[1], 'store_id')}
`);

/** KEYS: state. ARGV: known version, channel, where the state must stand: id or empty, revision, mark or empty; then fields and values. */
export const rewriteScript = script(`${words}
local state = KEYS[1]
if isNewer(state, ARGV[1]) then return {'newer'} end
local revision = redis.call('HGET', state, 'revision') or '0'
if (redis.call('HGET', state, 'store_id') or '') ~= ARGV[3] or number(revision) ~= tonumber(ARGV[4]) then return {'late'} end
if (string.match(redis.call('HGET', state, 'mark') or '', '^' .. string.format('%.0f', number(revision)) .. ':(.+)$') or '') ~= ARGV[5] then return {'late'} end
redis.call('DEL', state)
local values = {}
for at = 6, #ARGV do values[#values + 1] = ARGV[at] end
each(values, 2, function(...) redis.call('HSET', state, ...) end)
redis.call('HSET', state, 'version', ARGV[1])
redis.pcall('PUBLISH', ARGV[2], '0')
return {'done'}
`);

/**
 * KEYS: state, counters, their expiry. ARGV: known version, sequence, now, how long rows are kept after their time, number of removed
 * rule keys, those keys, then for each row: field, counts, when it expires or empty. Gives the stored sequence, or `newer`, when it
 * refuses.
 */
export const writeCountersScript = script(`${words}
if isNewer(KEYS[1], ARGV[1]) then return 'newer' end
local rows, expiry = KEYS[2], KEYS[3]
local sequence, now = tonumber(ARGV[2]) or -1, tonumber(ARGV[3])
ours(rows, 'hash')
ours(expiry, 'zset')
local stored = number(redis.call('HGET', rows, 'sequence'))
if not (sequence > stored) then return string.format('%.0f', stored) end
local gone, fields, times = {}, {}, {}
local first = 6 + tonumber(ARGV[5])
if first > 6 then
  local removed = {}
  for at = 6, first - 1 do removed[ARGV[at]] = true end
  for _, field in ipairs(redis.call('HKEYS', rows)) do
    local digits = string.match(field, '^%d+:')
    if digits then
      local key = string.sub(field, #digits + 1, #digits + tonumber(string.sub(digits, 1, -2)))
      if removed[key] then gone[#gone + 1] = field end
    end
  end
end
for at = first, #ARGV, 3 do
  if ARGV[at + 2] == '' then
    gone[#gone + 1] = ARGV[at]
  else
    fields[#fields + 1] = ARGV[at]
    fields[#fields + 1] = ARGV[at + 1]
    times[#times + 1] = ARGV[at + 2]
    times[#times + 1] = ARGV[at]
  end
end
local function drop(list)
  each(list, 1, function(...)
    redis.call('HDEL', rows, ...)
    redis.call('ZREM', expiry, ...)
  end)
end
drop(gone)
each(fields, 2, function(...) redis.call('HSET', rows, ...) end)
each(times, 2, function(...) redis.call('ZADD', expiry, ...) end)
drop(redis.call('ZRANGEBYSCORE', expiry, '-inf', ARGV[3]))
redis.call('HSET', rows, 'sequence', ARGV[2])
local newest = redis.call('ZREVRANGE', expiry, 0, 0, 'WITHSCORES')[2]
local left = math.max(0, (tonumber(newest) or now) - now) + tonumber(ARGV[4])
redis.call('PEXPIRE', rows, string.format('%.0f', left))
redis.call('PEXPIRE', expiry, string.format('%.0f', left))
return false
`);

/**
 * KEYS: state, heartbeats, their times. ARGV: known version, instance, when, value, the time up to which silence is long enough. Gives
 * `newer` when it refuses.
 */
export const heartbeatScript = script(`${words}
if isNewer(KEYS[1], ARGV[1]) then return 'newer' end
ours(KEYS[2], 'hash')
ours(KEYS[3], 'zset')
redis.call('HSET', KEYS[2], ARGV[2], ARGV[4])
redis.call('ZADD', KEYS[3], ARGV[3], ARGV[2])
each(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', ARGV[5]), 1, function(...)
  redis.call('HDEL', KEYS[2], ...)
  redis.call('ZREM', KEYS[3], ...)
end)
return false
`);

/**
 * KEYS: state, uses. ARGV: known version, then for each use: field of the document, its id, hour. What is not in the state is left out.
 * Gives `newer` when it refuses.
 */
export const noteUsesScript = script(`${words}
if isNewer(KEYS[1], ARGV[1]) then return 'newer' end
ours(KEYS[2], 'hash')
for at = 2, #ARGV, 3 do
  local isThere = redis.call('HEXISTS', KEYS[1], ARGV[at]) == 1
  if isThere and number(redis.call('HGET', KEYS[2], ARGV[at + 1])) < tonumber(ARGV[at + 2]) then
    redis.call('HSET', KEYS[2], ARGV[at + 1], ARGV[at + 2])
  end
end
return false
`);

/** KEYS: state, uses. ARGV: known version, then ids. Gives `newer` when it refuses. */
export const forgetUsesScript = script(`${words}
if isNewer(KEYS[1], ARGV[1]) then return 'newer' end
ours(KEYS[2], 'hash')
for at = 2, #ARGV do redis.call('HDEL', KEYS[2], ARGV[at]) end
return false
`);

/** KEYS: state, heartbeats, their times. ARGV: known version, instance. Gives `newer` when it refuses. */
export const removeHeartbeatScript = script(`${words}
if isNewer(KEYS[1], ARGV[1]) then return 'newer' end
ours(KEYS[2], 'hash')
ours(KEYS[3], 'zset')
redis.call('HDEL', KEYS[2], ARGV[2])
redis.call('ZREM', KEYS[3], ARGV[2])
return false
`);
