// The scripts of shared limits: they do what store/state/limits/book.ts does, in one step of the server. One suite holds both to it.
import { burialMs } from '../limits/book.ts';
import { counterWords } from './limit-counter-words.ts';
import { limitWords } from './limit-words.ts';
import { script } from './scripts.ts';

/** Gives the sign, and the run of the server that answers; empty where that may not be read. KEYS: any of ours. */
export const serverScript = script(`
local found = redis.pcall('INFO', 'server')
return {ARGV[3], type(found) == 'string' and string.match(found, 'run_id:(%w+)') or ''}
`);

/**
 * ARGV[4]: [instance, boot, connection, session or −1, generation or '', fresh generation, server, live]. Gives the sign, and `newer` or
 * [version, now, generation, session, former, sequence, live, rank, recovering].
 */
export const attachScript = script(`${limitWords}
for _, key in ipairs({factsKey, sessionsKey, gravesKey}) do ours(key, 'hash') end
ours(timesKey, 'zset')
if isNewer(factsKey, known) then return {sign, 'newer'} end
local message = cjson.decode(ARGV[4])
local instance, boot, connection, asked = message[1], message[2], message[3], message[4]
local generation, server, others = message[5], message[7], message[8]
readFacts()
if not facts then
  facts = {
    generation = message[6], server = server, offset = 0, last = clock(), running = 0, next = 1, graves = 0, live = 0, ends = 0,
    awaited = 0, told = 0
  }
end
call('HSET', factsKey, 'version', known, 'generation', facts.generation)
local now = advance()
for _, each in ipairs(sessions()) do
  local found = each[2]
  if found.instance == instance and found.boot == boot and found.connection > connection then
    local live, rank = census(tonumber(each[1]), found)
    local recovering = isRecovering()
    writeNumbers()
    return {sign, format('[%d,%d,%s,%s,"%s",%d,%d,%d,%s]', tonumber(known), now, cjson.encode(facts.generation),
      each[1], 'known', found.sequence, live, rank, tostring(recovering))}
  end
end
local isForeign = generation ~= '' and generation ~= facts.generation
local former, kind, id = nil, 'unknown', text(asked)
if asked >= 0 and not isForeign then
  local session = parseSession(call('HGET', sessionsKey, id) or '')
  local grave = parseGrave(call('HGET', gravesKey, id) or '')
  if session and session.instance == instance and session.boot == boot then
    former, kind = session, 'known'
  elseif grave and grave.instance == instance and grave.boot == boot then
    former, kind = grave, 'buried'
  end
end
local isKnown = kind == 'known'
for _, each in ipairs(sessions()) do
  if each[2].instance == instance and not (isKnown and each[1] == id) then bury(each[1], each[2]) end
end
if not isKnown then
  id = text(facts.next)
  facts.next = facts.next + 1
end
local hasTold = not isForeign
if isKnown then hasTold = former.told end
local session = {
  connection = connection, sequence = isKnown and former.sequence or 0, seen = facts.running, contact = now,
  told = hasTold, rank = 0, ranked = 0, instance = instance, boot = boot
}
putSession(id, session)
if server ~= facts.server then
  beginRecovery(others, true)
elseif isForeign then
  beginRecovery(others, false)
end
call('HSET', factsKey, 'server', server)
local live, rank = census(tonumber(id), session)
local recovering = isRecovering()
writeNumbers()
return {sign, format('[%d,%d,%s,%s,"%s",%d,%d,%d,%s]', tonumber(known), now, cjson.encode(facts.generation),
  id, kind, former and former.sequence or 0, live, rank, tostring(recovering))}
`);

/**
 * ARGV[4]: [session, connection, sequence, beat, told, items, groups]; an item: [period, cap, held, spare, wish, least, uses, refunds,
 * dated]; a group: [requests, needs]. ARGV[5]: the channel of notices; ARGV[6]: how many bytes stand before the name of a counter in its key.
 * Gives the sign, and `unknown`, `stale`, `newer`, or [sequence, now, live, rank, recovering, answers, admitted]; an answer:
 * [granted, spare, free, used, others, of these open, until free, recall, oldest slice, newest slice].
 */
export const exchangeScript = script(`${limitWords}
local message = cjson.decode(ARGV[4])
local id, connection, sequence = text(message[1]), message[2], message[3]
local own, beat, told, items, groups = message[1], message[4], message[5], message[6], message[7]
readFacts()
local session = facts and parseSession(call('HGET', sessionsKey, id) or '')
if not session then return {sign, 'unknown'} end
if facts.version > tonumber(known) then return {sign, 'newer'} end
if session.connection ~= connection or sequence <= session.sequence then return {sign, 'stale'} end
local now = advance()
session.sequence, session.seen, session.contact = sequence, facts.running, now
if told and not session.told then
  session.told = true
  facts.told = facts.told + 1
end
if beat then
  for _, each in ipairs(sessions()) do
    if each[1] ~= id and facts.running - each[2].seen > ${burialMs} then bury(each[1], each[2]) end
  end
end
local live, rank = census(own, session)
putSession(id, session)
${counterWords}
local rows = {}
for at, item in ipairs(items) do rows[at] = book(KEYS[at + 4], item) end
local admitted = {}
for at in ipairs(groups) do admitted[at] = '0' end
local recovering = isRecovering()
if not recovering then
  for at, group in ipairs(groups) do admitted[at] = text(admit(rows, group[1], group[2])) end
  for _, row in ipairs(rows) do addSpare(row) end
end
local answers = {}
for at, row in ipairs(rows) do answers[at] = finish(row) end
writeNumbers()
return {sign, format('[%d,%d,%d,%d,%s,[%s],[%s]]', sequence, now, live, rank, tostring(recovering),
  table.concat(answers, ','), table.concat(admitted, ','))}
`);

/** ARGV[4]: [session, connection]. Gives the sign, and `newer` or `done`. */
export const detachScript = script(`${limitWords}
local message = cjson.decode(ARGV[4])
local id = text(message[1])
readFacts()
if facts and facts.version > tonumber(known) then return {sign, 'newer'} end
local session = facts and parseSession(call('HGET', sessionsKey, id) or '')
if not session or session.connection ~= message[2] then return {sign, 'done'} end
advance()
bury(id, session)
writeNumbers()
return {sign, 'done'}
`);

/** ARGV[4]: the period of each counter. Gives the sign, and a view for each: [used, held, oldest, newest, [instance, held, open]…]. */
export const lookScript = script(`${limitWords}
readFacts()
local views = {}
local now, own, id = 0, 0, '0'
if facts then now = math.max(facts.last, clock() + facts.offset) end
${counterWords}
for at, period in ipairs(cjson.decode(ARGV[4])) do
  views[at] = facts and view(KEYS[at + 4], period) or '[0,0,-1,-1]'
end
return {sign, '[' .. table.concat(views, ',') .. ']'}
`);
