// Every key in Redis, and who writes it. All share one hash tag, so that a script may use several of them in a cluster.

import type { KeptKey } from '../kept-items.ts';

export interface RedisKeys {
  /** The hash tag of all of them. */
  readonly prefix: string;
  /**
   * A hash, by the control plane: everything both planes agree on, so that it is there as a whole or gone as a whole. Fields:
   * `version`, `store_id`, `revision`, `mark` (`<revision>:<mark>`), `kind:<kind>`, `document:["<kind>","<id>"]` and, of the last changes,
   * `change:<revision>` (`{"marks":[…],"deleted":[["<kind>","<id>"],…],"names":["[\"<kind>\",\"<id>\"]",…]}`; `names`: of all documents
   * that were written or deleted).
   */
  readonly state: string;
  /** A channel, by every writer of `state`: a message means that it has changed; its text, the new revision, is not read. */
  readonly changed: string;
  /** A hash, by each process its own field: instance → `{"at_ms", "body"}`. */
  readonly heartbeats: string;
  /** A sorted set beside it: instance → when it was written, to forget those that are gone. */
  readonly heartbeatTimes: string;
  /** A hash, by every process: id of a document of that kind → the hour of its last use. The control plane removes those of deleted ones. */
  uses(kind: string): string;
  /** A hash, by the holders of turns: name → `<until>:<ended at>:<holder's name in hex>:<value>`, times in milliseconds of the server. */
  readonly turns: string;
  /** A hash, by the proxy of that instance: `sequence`, and a field for each counter. */
  counters(instance: string): string;
  /** A sorted set beside it: field → when it expires. */
  counterExpiry(instance: string): string;
  /** The item of that name, as `keptName` gives it, by every proxy: `<when it ends>:` and its bytes. It ends by itself. */
  kept(name: string): string;
  /** A sorted set, by every proxy: name of an item of that owner → when it was put, in milliseconds. */
  keptOrder(owner: string): string;
  /** Sorted sets of all items: name → when it was put, and name → when it ends. */
  readonly keptOrderOfAll: string;
  readonly keptEnds: string;
  /** A hash: name → bytes of the item and its overhead; and a hash of their sums: `all`, and `owner:<owner>`. */
  readonly keptSizes: string;
  readonly keptSums: string;
  /** The cached answer with that key, by every proxy: its facts as a line of JSON, and its bytes. It ends by itself. */
  cached(key: string): string;
  /** A sorted set of all cached answers: key → when it ends, in milliseconds; and a hash: key → bytes, and in the field `all` their sum. */
  readonly cachedEnds: string;
  readonly cachedSizes: string;
  /** The vector set of that partition, by every proxy: key of an answer → its vector, and as its attribute when it ends. It ends with the last. */
  placed(partition: string): string;
  /** A sorted set of all vectors: partition and key → when it ends, in milliseconds. */
  readonly placedEnds: string;
  /** A stream, by every process that serves requests: in the field `record` a record as JSON. The control plane removes those it has stored. */
  readonly journal: string;
  /** A number beside it: bytes of its records. */
  readonly journalBytes: string;
  /**
   * Hashes of shared limits, by every proxy: facts of all counters; sessions; graves, with a sorted set beside them: session → when it was
   * buried. What each field holds stands in `limit-words.ts`.
   */
  readonly limits: string;
  readonly limitSessions: string;
  readonly limitGraves: string;
  readonly limitGraveTimes: string;
  /** A hash of the counter with that name, as `counterKey` gives it, by every proxy. It ends by itself. */
  limit(name: string): string;
  /** A channel, by every proxy: `r` and the name of a counter whose spare units are wanted back, `f` and that of one that may have room. */
  readonly limitNotices: string;
}

/** Kept in the field `version`. Raise it with every change of what lies in the keys. */
export const keysVersion = 1;

export const documentField = 'document:';
export const kindField = 'kind:';
export const changeField = 'change:';

/** The keys under a prefix of letters, digits, dots, underscores and hyphens; throws a TypeError for any other. */
export function redisKeys(prefix: string): RedisKeys {
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(prefix)) throw new TypeError('the key prefix may hold letters, digits and ._-');
  const key = (name: string): string => `{${prefix}}:${name}`;
  return {
    prefix,
    state: key('state'),
    changed: key('changed'),
    heartbeats: key('heartbeats'),
    heartbeatTimes: key('heartbeat-times'),
    turns: key('turns'),
    uses: (kind) => key(`uses:${kind}`),
    counters: (instance) => key(`counters:${instance}`),
    counterExpiry: (instance) => key(`counter-expiry:${instance}`),
    kept: (name) => key(`kept:${name}`),
    keptOrder: (owner) => key(`kept-order:${owner}`),
    keptOrderOfAll: key('kept-order-all'),
    keptEnds: key('kept-ends'),
    keptSizes: key('kept-sizes'),
    keptSums: key('kept-sums'),
    cached: (name) => key(`cached:${name}`),
    cachedEnds: key('cached-ends'),
    cachedSizes: key('cached-sizes'),
    placed: (partition) => key(`placed:${partition}`),
    placedEnds: key('placed-ends'),
    journal: key('journal'),
    journalBytes: key('journal-bytes'),
    limits: key('limits'),
    limitSessions: key('limit-sessions'),
    limitGraves: key('limit-graves'),
    limitGraveTimes: key('limit-grave-times'),
    limit: (name) => key(`limit:${name}`),
    limitNotices: key('limit-notices'),
  };
}

/** The name of a kept item. The length of the owner comes first, in bytes: the texts are free, and scripts take it out. */
export function keptName({ kind, id, owner }: KeptKey): string {
  return `${Buffer.byteLength(owner)}:${owner}:${Buffer.byteLength(kind)}:${kind}:${id}`;
}

/** The field of a counter. The length of the rule key comes first, in bytes: both texts are free, and scripts take it apart. */
export function counterField(key: string, child: string): string {
  return `${Buffer.byteLength(key)}:${key}:${child}`;
}

/** Rule key and child of a field that `counterField` gave; undefined for any other. */
export function parseCounterField(field: string): readonly [key: string, child: string] | undefined {
  const digits = /^[0-9]{1,9}(?=:)/.exec(field)?.[0];
  if (digits === undefined) return undefined;
  const length = Number(digits);
  const bytes = Buffer.from(field.slice(digits.length + 1));
  if (bytes.length <= length || bytes[length] !== 0x3a) return undefined;
  return [bytes.toString('utf8', 0, length), bytes.toString('utf8', length + 1)];
}
