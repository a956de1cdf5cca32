// Redis scripts for kept items: each item has a key of its own, and its name in indexes that are changed in the same step.
import { script, words } from './scripts.ts';

/** `drop` takes an item and its name out of everything, also one that has ended by itself. */
const indexes = `${words}
local state, sizes, sums, ends, orderOfAll = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local itemPrefix, orderPrefix = KEYS[6], KEYS[7]
local function ownerOf(name)
  local digits = string.match(name, '^%d+:')
  return digits and string.sub(name, #digits + 1, #digits + tonumber(string.sub(digits, 1, -2))) or ''
end
local function sum(field)
  return number(redis.call('HGET', sums, field))
end
local function add(field, size)
  redis.call('HSET', sums, field, string.format('%.0f', math.max(0, sum(field) + size)))
  if field ~= 'all' and sum(field) == 0 then redis.call('HDEL', sums, field) end
end
local function drop(name)
  local owner = ownerOf(name)
  local size = number(redis.call('HGET', sizes, name))
  redis.call('UNLINK', itemPrefix .. name)
  redis.call('HDEL', sizes, name)
  redis.call('ZREM', ends, name)
  redis.call('ZREM', orderOfAll, name)
  redis.pcall('ZREM', orderPrefix .. owner, name)
  if size > 0 then
    add('all', -size)
    add('owner:' .. owner, -size)
  end
end
if isNewer(state, ARGV[1]) then return 'newer' end
ours(sizes, 'hash')
ours(sums, 'hash')
ours(ends, 'zset')
ours(orderOfAll, 'zset')
`;

/**
 * KEYS: state, sizes, sums, ends, order of all, and what the keys of items and of the order of an owner begin with. ARGV: known version,
 * name, size, now, end, most bytes of the owner, of all, how many items to drop at most, then the item; without it, only room is made.
 * Gives `newer` when it refuses, and `again` when there is more to drop first. The first write is one that a full server refuses.
 */
export const keepScript = script(`
${indexes}
local name, size, now, left = ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[8])
local owner = ownerOf(name)
local order = orderPrefix .. owner
ours(order, 'zset')
add('all', 0)
for _, ended in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', ARGV[4], 'LIMIT', '0', ARGV[8])) do
  drop(ended)
  left = left - 1
end
local function hasRoom(from, field, most)
  while sum(field) + size > most do
    if left <= 0 then return false end
    local oldest = redis.call('ZRANGE', from, 0, 0)[1]
    if not oldest then
      redis.call('HDEL', sums, field)
      return true
    end
    drop(oldest)
    left = left - 1
  end
  return true
end
drop(name)
if not hasRoom(order, 'owner:' .. owner, tonumber(ARGV[6])) then return 'again' end
if not hasRoom(orderOfAll, 'all', tonumber(ARGV[7])) then return 'again' end
if not ARGV[9] then return false end
redis.call('SET', itemPrefix .. name, ARGV[9], 'PX', string.format('%.0f', tonumber(ARGV[5]) - now))
redis.call('HSET', sizes, name, ARGV[3])
add('all', size)
add('owner:' .. owner, size)
redis.call('ZADD', ends, ARGV[5], name)
redis.call('ZADD', orderOfAll, ARGV[4], name)
redis.call('ZADD', order, ARGV[4], name)
local newest = redis.call('ZREVRANGE', ends, 0, 0, 'WITHSCORES')[2]
local lasts = string.format('%.0f', math.max(1, tonumber(newest) - now))
for _, key in ipairs({sizes, sums, ends, orderOfAll, order}) do redis.call('PEXPIRE', key, lasts) end
return false
`);

/** KEYS as those of `keepScript`. ARGV: known version, name, now. Gives 1 when there was one, else 0; `newer` when it refuses. */
export const removeKeptScript = script(`${indexes}
local ending = redis.call('ZSCORE', ends, ARGV[2])
drop(ARGV[2])
if ending and tonumber(ending) > tonumber(ARGV[3]) then return 1 end
return 0
`);
