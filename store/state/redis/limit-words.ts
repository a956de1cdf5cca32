// Common Lua of the scripts of shared limits: the facts of the store, sessions and graves as their hashes hold them, and the time.
import { graveMs, recoveryMs, usableMs } from '../limits/book.ts';
import { words } from './scripts.ts';

/**
 * KEYS: facts, sessions, graves, their times; then counters. ARGV: known version, the clock in milliseconds or empty, the sign that comes
 * back with the answer, and what a script says of its own.
 *
 * The facts: `version`, `generation`, `server`, and in `numbers`, parted by spaces, those that change. A session is kept as `<connection>
 * <sequence> <seen> <contact> <told> <rank> <when it was ranked> <bytes of the instance>:<instance><boot>`, a grave as `<last use> <sequence>
 * <bytes of the instance>:<instance><boot>`. All times are in milliseconds. Each call that is saved here is saved in every exchange.
 */
export const limitWords = `${words}
local call = redis.call
local factsKey, sessionsKey, gravesKey, timesKey = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local known, sign = ARGV[1], ARGV[3]
local format, match = string.format, string.match
local function text(value) return format('%d', value) end
local function clock()
  if ARGV[2] ~= '' then return tonumber(ARGV[2]) end
  local time = call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local facts
local function readFacts()
  local found = call('HMGET', factsKey, 'numbers', 'version', 'generation', 'server')
  local offset, last, running, next, graves, live, ends, awaited, told =
    match(found[1] or '', '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+)$')
  if not offset or not found[3] then return end
  facts = {
    version = number(found[2]), generation = found[3], server = found[4] or '', offset = tonumber(offset), last = tonumber(last),
    running = tonumber(running), next = tonumber(next), graves = tonumber(graves), live = tonumber(live), ends = tonumber(ends),
    awaited = tonumber(awaited), told = tonumber(told)
  }
end
local function writeNumbers()
  call('HSET', factsKey, 'numbers', format('%d %d %d %d %d %d %d %d %d', facts.offset, facts.last, facts.running, facts.next,
    facts.graves, facts.live, facts.ends, facts.awaited, facts.told))
end

-- The time of the store never goes back; running time ages sessions only while the store is in use.
local function advance()
  local now = clock()
  if now + facts.offset < facts.last then facts.offset = facts.last - now end
  now = now + facts.offset
  facts.running = facts.running + math.min(now - facts.last, 1000)
  facts.last = now
  return now
end

local function named(size, rest) return string.sub(rest, 1, tonumber(size)), string.sub(rest, tonumber(size) + 1) end
local function parseSession(value)
  local connection, sequence, seen, contact, told, rank, ranked, size, rest =
    match(value or '', '^(%d+) (%d+) (%d+) (%d+) ([01]) (%d+) (%d+) (%d+):(.*)$')
  if not connection then return nil end
  local instance, boot = named(size, rest)
  return {
    connection = tonumber(connection), sequence = tonumber(sequence), seen = tonumber(seen), contact = tonumber(contact),
    told = told == '1', rank = tonumber(rank), ranked = tonumber(ranked), instance = instance, boot = boot
  }
end
local function putSession(id, session)
  call('HSET', sessionsKey, id, format('%d %d %d %d %d %d %d %d:%s%s', session.connection, session.sequence, session.seen,
    session.contact, session.told and 1 or 0, session.rank, session.ranked, #session.instance, session.instance, session.boot))
end
local function parseGrave(value)
  local used, sequence, size, rest = match(value or '', '^(%d+) (%d+) (%d+):(.*)$')
  if not used then return nil end
  local instance, boot = named(size, rest)
  return {used = tonumber(used), sequence = tonumber(sequence), instance = instance, boot = boot}
end

-- Of each session its number, as text, and what is kept. What is no session is removed.
local function sessions()
  local found, flat = {}, call('HGETALL', sessionsKey)
  for at = 1, #flat, 2 do
    local session = match(flat[at], '^%d+$') and parseSession(flat[at + 1])
    if session then
      found[#found + 1] = {flat[at], session}
    else
      call('HDEL', sessionsKey, flat[at])
    end
  end
  return found
end

-- What the session holds counts as used at the last moment at which it can have been.
local function bury(id, session)
  local used = math.min(facts.last, session.contact + ${usableMs})
  call('HSET', gravesKey, id, format('%d %d %d:%s%s', used, session.sequence, #session.instance,
    session.instance, session.boot))
  call('ZADD', timesKey, text(facts.last), id)
  call('HDEL', sessionsKey, id)
  facts.graves = facts.graves + 1
  for _, old in ipairs(call('ZRANGEBYSCORE', timesKey, '-inf', text(facts.last - ${graveMs}), 'LIMIT', 0, 100)) do
    call('HDEL', gravesKey, old)
    call('ZREM', timesKey, old)
  end
  call('PEXPIRE', gravesKey, '${graveMs}')
  call('PEXPIRE', timesKey, '${graveMs}')
end

-- How many sessions there are, and how many of them are older. Both numbers of the facts only rise, and with each change of the sessions.
local function census(own, session)
  local now = facts.next + facts.graves
  if session.ranked == now then return facts.live, session.rank end
  local live, rank = 0, 0
  for _, other in ipairs(call('HKEYS', sessionsKey)) do
    live = live + 1
    if number(other) < own then rank = rank + 1 end
  end
  facts.live, session.rank, session.ranked = live, rank, now
  return live, rank
end

local function isRecovering()
  if facts.running >= facts.ends or facts.told >= facts.awaited then facts.ends = 0 end
  return facts.ends > 0
end
local function beginRecovery(others, all)
  local isUnderWay = isRecovering() and not all
  local untold, told = 0, 0
  for _, each in ipairs(sessions()) do
    local id, session = each[1], each[2]
    if session.told and not all then
      told = told + 1
    else
      untold = untold + 1
      if session.told then
        session.told = false
        putSession(id, session)
      end
    end
  end
  if isUnderWay then told = facts.told end
  facts.awaited = math.max(untold + told, others, isUnderWay and facts.awaited or 0)
  facts.told = told
  if not isUnderWay then facts.ends = facts.running + ${recoveryMs} end
end
`;
