// Turns what Redis, its client and the network throw into a reason and a sentence that says what to do, without credentials.
import { type StoreFailure, StoreUnavailable } from '../store-unavailable.ts';
import { placeOf, type RedisAddress } from './address.ts';
import { NodeNotFound } from './find-node.ts';
import { AbsurdAnswer } from './guard.ts';
import { wordsOf } from './socket.ts';

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
  unreplicated:
    'has written the change, but too few replicas have it; check them, or lower REDIS_WAIT_REPLICAS: until they have it, a failover undoes it',
  read_only: 'takes no writes; let REDIS_URL name a primary that can write to its disk',
  full: 'is full; give it more memory (maxmemory)',
  evicts: 'may drop keys by itself; set maxmemory-policy to noeviction',
  denied: 'was not opened; check user, password, rights and certificate of what REDIS_URL names',
  corrupt:
    'holds something that is not ours; delete the keys with our prefix that are meant, or give it an empty database',
  newer_schema: 'was written to by a newer version of the gateway; run that version, or another Redis database',
};

/** What helps, by the words or the code of an error. */
const hints: readonly (readonly [RegExp, string])[] = [
  [/^(MOVED|ASK|CLUSTERDOWN|TRYAGAIN)/, 'the cluster is electing a primary, or moves our keys to another node'],
  [/^NOREPLICAS/, 'too few replicas follow it (min-replicas-to-write)'],
  [/^CROSSSLOT/, 'it does not know hash tags: all our keys have one'],
  [/cluster support disabled/i, 'it is no cluster: write redis:// in REDIS_URL'],
  [/^NOPERM .*cluster/i, 'the user needs the right +cluster|slots'],
  [
    /^sentinel .*(NOAUTH|WRONGPASS)/,
    'sentinels have a login of their own: REDIS_SENTINEL_USERNAME and REDIS_SENTINEL_PASSWORD',
  ],
  [/unknown command.*SENTINEL/i, 'it is no sentinel: check the port'],
  [/SELF_SIGNED|UNABLE_TO_(GET|VERIFY)/, 'name the authority of its certificate in REDIS_CA_FILE'],
  [/ALTNAME_INVALID/, 'the certificate must have the name or address by which the server is reached'],
  [/CERT_HAS_EXPIRED|CERT_NOT_YET_VALID/, 'renew the certificate of the server'],
  [
    /ALERT_(CERTIFICATE|BAD_CERTIFICATE|UNKNOWN_CA|HANDSHAKE|UNSUPPORTED_CERTIFICATE)|CERTIFICATE_REQUIRED/,
    'it wants a certificate that it trusts: check REDIS_CERT_FILE and REDIS_KEY_FILE',
  ],
  [/WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/, 'it does not speak TLS on this port'],
];

/** Of a server that is not named as a cluster. */
const ofNode = [/^(MOVED|ASK|CLUSTERDOWN)/, 'it is a node of a cluster: write redis-cluster:// in REDIS_URL'] as const;

/** The failure as a `StoreUnavailable`; a mistake in this program is returned as it is. */
export function explainRedisFailure(address: RedisAddress, thrown: unknown): Error {
  if (thrown instanceof StoreUnavailable || thrown instanceof TypeError || thrown instanceof RangeError) return thrown;
  const error = thrown instanceof Error ? thrown : new Error(String(thrown));
  return redisFailure(address, reasonOf(error), error);
}

/** What REDIS_URL names, and what to do about it. */
export function redisFailure(address: RedisAddress, reason: StoreFailure, error?: Error): StoreUnavailable {
  const broke = error?.name === 'MaxRetriesPerRequestError' ? 'the connection broke' : undefined;
  const detail = error === undefined ? '' : ` (${broke ?? withoutSecrets(address, saidBy(address, error))})`;
  const message = `the state store on ${placeOf(address)} ${advice[reason]}${detail}`;
  return new StoreUnavailable(reason, message, error === undefined ? undefined : bare(address, error));
}

/** The words of an error, with the node it came from and what helps. */
function saidBy({ kind }: RedisAddress, error: Error): string {
  const { code, node } = error as { code?: unknown; node?: unknown };
  const from = typeof node === 'string' ? `${node}: ` : '';
  const [, hint] =
    [...(kind === 'cluster' ? [] : [ofNode]), ...hints].find(
      ([pattern]) => pattern.test(error.message) || pattern.test(String(code)),
    ) ?? [];
  return `${from}${wordsOf(error)}${hint === undefined ? '' : `; ${hint}`}`;
}

function reasonOf(error: Error): StoreFailure {
  if (error instanceof AbsurdAnswer) return 'garbled';
  const message = (error instanceof NodeNotFound ? error.reply : undefined) ?? error.message;
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
  const copy = new Error(withoutSecrets(address, wordsOf(error)));
  return typeof code === 'string' ? Object.assign(copy, { code }) : copy;
}

/** An old server repeats a login it does not understand, password included. */
function withoutSecrets({ password, username, sentinelLogin }: RedisAddress, text: string): string {
  let clean = text;
  for (const secret of [password, sentinelLogin.password, username, sentinelLogin.username])
    if (secret !== undefined) clean = clean.replaceAll(secret, '***');
  return clean;
}

/** Keys beside the state are no loss: the next write puts them right. Throws any other failure. */
export function ofAnotherType(error: unknown): undefined {
  if (error instanceof StoreUnavailable && error.reason === 'corrupt') return undefined;
  throw error;
}
