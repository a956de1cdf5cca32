// Steps that Redis takes as a whole with the journal: answers are of bounded size, and a group that is gone is made again.
import { script, words } from '../../state/redis/scripts.ts';

/** A later reader must find `group` and `field` unchanged in what a former version has written. */
const names = `${words}
local stream, bytesKey = KEYS[1], KEYS[2]
local group, field = 'control-plane', 'record'
`;

/**
 * KEYS: journal, its bytes. ARGV: most entries, most bytes of the journal, then lines. Gives how many of them it has added: it ends where
 * the journal is full, because an entry that was not read yet must not be lost for a new one.
 */
export const appendScript = script(`${names}
ours(stream, 'stream')
ours(bytesKey, 'string')
local entries, bytes = redis.call('XLEN', stream), number(redis.call('GET', bytesKey))
if entries == 0 then bytes = 0 end
local added = 0
for at = 3, #ARGV do
  if entries + added >= tonumber(ARGV[1]) or bytes >= tonumber(ARGV[2]) then break end
  redis.call('XADD', stream, '*', field, ARGV[at])
  added = added + 1
  bytes = bytes + #ARGV[at]
end
redis.call('SET', bytesKey, string.format('%.0f', bytes))
return added
`);

/**
 * KEYS: journal, its bytes. ARGV: consumer, most entries, bytes after which it ends, milliseconds after which entries of another consumer
 * are taken over. Gives ids and lines in turn, an empty line for what is none: what this consumer was given before and has not
 * acknowledged, then what others have left, then what is new.
 */
export const deliverScript = script(`${names}
local consumer, most, mostBytes, idle = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
ours(stream, 'stream')
local found, given, bytes = {}, {}, 0
local function isEnough()
  return #found >= 2 * most or bytes >= mostBytes
end
local function give(entry)
  local id, fields = entry[1], entry[2]
  if given[id] then return end
  given[id] = true
  local line = fields and fields[1] == field and fields[2] or ''
  found[#found + 1] = id
  found[#found + 1] = line
  bytes = bytes + #line
end
local function read(from)
  local answer = redis.call('XREADGROUP', 'GROUP', group, consumer, 'COUNT', '1', 'STREAMS', stream, from)
  return answer and answer[1][2][1]
end
local first = redis.pcall('XREADGROUP', 'GROUP', group, consumer, 'COUNT', '1', 'STREAMS', stream, '0')
if first and first.err and string.find(first.err, 'NOGROUP', 1, true) then
  redis.call('XGROUP', 'CREATE', stream, group, '0', 'MKSTREAM')
end
local last = '0'
while not isEnough() do
  local entry = read(last)
  if not entry then break end
  give(entry)
  last = entry[1]
end
local cursor = '0-0'
while not isEnough() do
  local answer = redis.call('XAUTOCLAIM', stream, group, consumer, idle, cursor, 'COUNT', '1')
  for _, entry in ipairs(answer[2]) do
    if entry then give(entry) end
  end
  cursor = answer[1]
  if cursor == '0-0' then break end
end
while not isEnough() do
  local entry = read('>')
  if not entry then break end
  give(entry)
end
return found
`);

/** KEYS: journal, its bytes. ARGV: ids and the bytes of their lines in turn. */
export const removeScript = script(`${names}
if redis.call('TYPE', stream)['ok'] ~= 'stream' then return false end
ours(bytesKey, 'string')
local bytes = number(redis.call('GET', bytesKey))
for at = 1, #ARGV, 2 do
  redis.call('XACK', stream, group, ARGV[at])
  if redis.call('XDEL', stream, ARGV[at]) == 1 then bytes = bytes - tonumber(ARGV[at + 1]) end
end
if redis.call('XLEN', stream) == 0 then bytes = 0 end
redis.call('SET', bytesKey, string.format('%.0f', math.max(0, bytes)))
return false
`);

/**
 * KEYS: journal. ARGV: consumer that ends, or empty, milliseconds of silence. Forgets consumers that wait for nothing: that one, and all
 * that have been silent for so long. One that has entries stays until another one has taken them over.
 */
export const forgetConsumersScript = script(`${names}
if redis.call('TYPE', stream)['ok'] ~= 'stream' then return false end
local consumers = redis.pcall('XINFO', 'CONSUMERS', stream, group)
if consumers.err then return false end
for _, flat in ipairs(consumers) do
  local consumer = {}
  for at = 1, #flat, 2 do consumer[flat[at]] = flat[at + 1] end
  if consumer.pending == 0 and (consumer.name == ARGV[1] or consumer.idle >= tonumber(ARGV[2])) then
    redis.call('XGROUP', 'DELCONSUMER', stream, group, consumer.name)
  end
end
return false
`);
