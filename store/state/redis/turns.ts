// Turns in a hash beside the state, by the clock of the server.
import { type EndedTurn, forgottenAfterMs, type Turns } from '../state-store.ts';
import { keysVersion, type RedisKeys } from './keys.ts';
import { script, words } from './scripts.ts';
import type { Asking } from './uses.ts';

const version = String(keysVersion);

/** `held`: until when it is held, when the last one ended, by whom it is held, and what the last one left. */
const turn = `${words}
local turns = KEYS[2]
if isNewer(KEYS[1], ARGV[1]) then return 'newer' end
ours(turns, 'hash')
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local untilMs, ended, holder, value = string.match(redis.call('HGET', turns, ARGV[2]) or '', '^(%d+):(%d+):(%x*):(.*)$')
untilMs, ended, holder, value = number(untilMs), number(ended), holder or '', value or ''
local function put(newUntil, newEnded, newHolder, newValue)
  local text = string.format('%.0f:%.0f:%s:%s', newUntil, newEnded, newHolder, newValue)
  redis.call('HSET', turns, ARGV[2], text)
  redis.call('PEXPIRE', turns, ARGV[4])
end
`;

/** KEYS: state, turns. ARGV: known version, name, holder, how long all are kept, least time since the last end, life. Gives taken or not, end, value. */
const takeScript = script(`${turn}
local isFree = untilMs <= now or holder == ARGV[3]
local isTaken = isFree and ended + tonumber(ARGV[5]) <= now
if isTaken then put(now + tonumber(ARGV[6]), ended, ARGV[3], value) end
return {isTaken and 1 or 0, string.format('%.0f', ended), value}
`);

/** KEYS: state, turns. ARGV: known version, name, holder, how long all are kept, value. Gives the end, or false. */
const endScript = script(`${turn}
if holder ~= ARGV[3] then return false end
put(0, now, '', ARGV[5])
return string.format('%.0f', now)
`);

export function redisTurns({ write }: Pick<Asking, 'write'>, keys: RedisKeys): Turns {
  const ownKeys = [keys.state, keys.turns];
  const life = String(forgottenAfterMs);
  return {
    async take({ name, holder }, { everyMs, lifeMs }) {
      const values = [version, name, inHex(holder), life, String(everyMs), String(lifeMs)];
      const [isTaken, ended, value] = (await write(takeScript, ownKeys, values)) as [number, string, string];
      const last: EndedTurn = { value, atMs: Number(ended) };
      return { isTaken: isTaken === 1, ...(last.atMs === 0 ? {} : { last }) };
    },
    async end({ name, holder }, value) {
      const ended = await write(endScript, ownKeys, [version, name, inHex(holder), life, value]);
      return typeof ended === 'string' ? { value, atMs: Number(ended) } : undefined;
    },
  };
}

function inHex(text: string): string {
  return Buffer.from(text).toString('hex');
}
