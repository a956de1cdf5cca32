// Turns what Redis, its client and the network throw into a reason and a sentence that says what to do, without credentials.
import { type StoreFailure, StoreUnavailable } from '../store-unavailable.ts';
import type { RedisAddress } from './address.ts';
import { AbsurdAnswer } from './guard.ts';

/** The first word of what a server answers. */
const replies: ReadonlyMap<string, StoreFailure> = new Map([
  ['NOAUTH', 'denied'],
  ['WRONGPASS', 'denied'],
  ['NOPERM', 'denied'],
  ['READONLY', 'read_only'],
  ['MISCONF', 'read_only'],
  ['NOREPLICAS', 'read_only'],
  ['OOM', 'full'],
  ['WRONGTYPE', 'corrupt'],
  ['BUSY', 'timeout'],
]);

const advice: Readonly<Record<StoreFailure, string>> = {
  unreachable: 'cannot be reached; check that it runs and that REDIS_URL names it',
  timeout: 'did not answer in time; check its load and the network',
  garbled: 'answers what cannot be used; check what REDIS_URL leads to and how large its keys with our prefix are',
  read_only: 'takes no writes; let REDIS_URL name a primary that can write to its disk',
  full: 'is full; give it more memory (maxmemory)',
  evicts: 'may drop keys by itself; set maxmemory-policy to noeviction',
  denied: 'was not opened; check user, password, rights and certificate of what REDIS_URL names',
  corrupt:
    'holds something that is not ours; delete the keys with our prefix that are meant, or give it an empty database',
  newer_schema: 'was written to by a newer version of the gateway; run that version, or another Redis database',
};

/** The failure as a `StoreUnavailable`; a mistake in this program is returned as it is. */
export function explainRedisFailure(address: RedisAddress, thrown: unknown): Error {
  if (thrown instanceof StoreUnavailable || thrown instanceof TypeError || thrown instanceof RangeError) return thrown;
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  return redisFailure(address, reasonOf(error), error);
}

/** Host, port and what to do about it. */
export function redisFailure(address: RedisAddress, reason: StoreFailure, error?: Error): StoreUnavailable {
  const broke = error?.name === 'MaxRetriesPerRequestError' ? 'the connection broke' : undefined;
  const detail = error === undefined ? '' : ` (${broke ?? withoutSecrets(address, error.message)})`;
  const message = `the state store on ${address.host}:${address.port} ${advice[reason]}${detail}`;
  return new StoreUnavailable(reason, message, error === undefined ? undefined : bare(address, error));
}

function reasonOf(error: Error): StoreFailure {
  if (error instanceof AbsurdAnswer) return 'garbled';
  const { message } = error;
  const { code } = error as { code?: unknown };
  if (typeof code === 'string' && /CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS|ERR_SSL/.test(code)) return 'denied';
  const reply = replies.get(/^[A-Z]+/.exec(message)?.[0] ?? '');
  if (reply !== undefined) return reply;
  if (/^ERR (AUTH|invalid password|unknown command)/i.test(message)) return 'denied';
  return message.startsWith('Command timed out') ? 'timeout' : 'unreachable';
}

/** The client's errors carry the command with its arguments, and those of a login are its password: only the words are kept. */
function bare(address: RedisAddress, error: Error): Error {
  const { code } = error as { code?: unknown };
  const copy = new Error(withoutSecrets(address, error.message));
  return typeof code === 'string' ? Object.assign(copy, { code }) : copy;
}

/** An old server repeats a login it does not understand, password included. */
function withoutSecrets({ password, username }: RedisAddress, text: string): string {
  let clean = text;
  for (const secret of [password, username]) if (secret !== undefined) clean = clean.replaceAll(secret, '***');
  return clean;
}

/** Keys beside the state are no loss: the next write puts them right. Throws any other failure. */
export function ofAnotherType(error: unknown): undefined {
  if (error instanceof StoreUnavailable && error.reason === 'corrupt') return undefined;
  throw error;
}
