// The Redis script that stores an answer, and makes room where there is too much, in one step.
import { script, words } from '../state/redis/scripts.ts';

/**
 * KEYS: ends, sizes, and what the keys of answers begin with. ARGV: key, size, now, end, most bytes of all, how many answers to drop at most,
 * then the answer. Gives whether it was put, how many others went before their end, how many there are, and their bytes.
 */
export const putScript = script(`${words}
local ends, sizes, prefix = KEYS[1], KEYS[2], KEYS[3]
local key, size, now, ending = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local most, left, evicted = tonumber(ARGV[5]), tonumber(ARGV[6]), 0
ours(ends, 'zset')
ours(sizes, 'hash')
local total = number(redis.call('HGET', sizes, 'all'))
local function drop(name)
  redis.call('UNLINK', prefix .. name)
  total = math.max(0, total - number(redis.call('HGET', sizes, name)))
  redis.call('HDEL', sizes, name)
  redis.call('ZREM', ends, name)
end
for _, ended in ipairs(redis.call('ZRANGEBYSCORE', ends, '-inf', ARGV[3], 'LIMIT', '0', ARGV[6])) do drop(ended) end
drop(key)
while total + size > most and left > 0 do
  local oldest = redis.call('ZRANGE', ends, 0, 0)[1]
  if not oldest then
    redis.call('DEL', sizes)
    total = 0
    break
  end
  drop(oldest)
  left = left - 1
  evicted = evicted + 1
end
local isPut = total + size <= most
if isPut then
  redis.call('SET', prefix .. key, ARGV[7], 'PX', string.format('%.0f', ending - now))
  redis.call('HSET', sizes, key, ARGV[2])
  redis.call('ZADD', ends, ARGV[4], key)
  total = total + size
end
redis.call('HSET', sizes, 'all', string.format('%.0f', total))
local last = redis.call('ZREVRANGE', ends, 0, 0, 'WITHSCORES')[2]
if last then
  local lasts = string.format('%.0f', math.max(1, tonumber(last) - now))
  redis.call('PEXPIRE', ends, lasts)
  redis.call('PEXPIRE', sizes, lasts)
else
  redis.call('DEL', sizes)
end
return {isPut and 1 or 0, evicted, redis.call('ZCARD', ends), total}
`);
