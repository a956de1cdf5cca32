// Redis scripts for vectors: one makes room where there are too many, one forgets one.
import { script, words } from '../../state/redis/scripts.ts';

/** A member of `ends` is `<partition> <key>`; neither has a blank. */
const dropping = `${words}
local ends, prefix = KEYS[1], KEYS[2]
ours(ends, 'zset')
local function drop(member)
  local at = string.find(member, ' ', 1, true) or #member
  redis.pcall('VREM', prefix .. string.sub(member, 1, at - 1), string.sub(member, at + 1))
  redis.call('ZREM', ends, member)
end
`;

/**
 * Makes room for a vector that is put next, and notes when it ends. KEYS: ends, and what the keys of vector sets begin with. ARGV:
 * partition, key, now, end, most vectors, how many to drop at most. Gives how many there are with it, and whether it is among them.
 */
export const announceVectorScript = script(`${dropping}
local member, portion = ARGV[1] .. ' ' .. ARGV[2], tonumber(ARGV[6])
ours(prefix .. ARGV[1], 'vectorset')
redis.call('ZADD', ends, ARGV[4], member)
for _, ended in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', ARGV[3], 'LIMIT', '0', portion)) do drop(ended) end
local excess = math.min(portion, redis.call('ZCARD', ends) - tonumber(ARGV[5]))
if excess > 0 then
  for _, first in ipairs(redis.call('ZRANGE', ends, 0, excess - 1)) do drop(first) end
end
local last = redis.call('ZREVRANGE', ends, 0, 0, 'WITHSCORES')[2]
if last then redis.call('PEXPIRE', ends, string.format('%.0f', math.max(1, tonumber(last) - tonumber(ARGV[3])))) end
return {redis.call('ZCARD', ends), redis.call('ZSCORE', ends, member) and 1 or 0}
`);

/** KEYS: as above. ARGV: partition, key. */
export const forgetVectorScript = script(`${dropping}
drop(ARGV[1] .. ' ' .. ARGV[2])
return false
`);
