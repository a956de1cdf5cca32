// The sessions of a role, one for each set of tags that callers have. A session is made by the first request that wants it, off its path.
import type { SessionTags } from './aws.ts';
import type { Renewal } from './renewal.ts';

/** One that was wanted since then is in use: it makes no room for others, and is renewed. Milliseconds. */
const inUseMs = 60_000;

interface Session {
  readonly renewal: Renewal;
  wantedAtMs: number;
}

export interface SessionParts {
  /** How many there are at a time. */
  readonly most: number;
  /** Which labels become tags: the texts before their colons. */
  readonly keys: readonly string[];
  /** Milliseconds of the gateway's clock. */
  readonly nowMs: () => number;
  /** How a session is kept in force; `isWanted` says whether it still is to be. */
  readonly open: (tags: SessionTags) => Renewal;
}

export class TaggedSessions {
  readonly #parts: SessionParts;
  /** By the text of their tags; the one that was wanted least recently stands first. */
  readonly #sessions = new Map<string, Session>();
  /** The tags of lists of labels: a key has the same list for as long as it lives. */
  readonly #known = new WeakMap<readonly string[], { readonly name: string; readonly tags: SessionTags }>();

  constructor(parts: SessionParts) {
    this.#parts = parts;
  }

  get count(): number {
    return this.#sessions.size;
  }

  /** The session with the tags of these labels, made if need be; undefined: they have none, or there is no room. Never waits. */
  of(labels: readonly string[]): Renewal | undefined {
    const { name, tags } = this.#tagsOf(labels);
    if (name === '') return undefined;
    const now = this.#parts.nowMs();
    const session = this.#sessions.get(name) ?? this.#open(tags, now);
    if (session === undefined) return undefined;
    session.wantedAtMs = now;
    this.#sessions.delete(name);
    this.#sessions.set(name, session);
    return session.renewal;
  }

  /** Ends those that were not wanted for the life of a credential: nobody renews what is not used. */
  sweep(): void {
    const now = this.#parts.nowMs();
    for (const [name, { renewal, wantedAtMs }] of this.#sessions) {
      const { last } = renewal;
      const isUnused = last !== undefined && wantedAtMs < last.issuedAtMs && wantedAtMs + inUseMs < now;
      if (isUnused) this.#end(name, renewal);
    }
  }

  stop(): void {
    for (const [name, { renewal }] of this.#sessions) this.#end(name, renewal);
  }

  #open(tags: SessionTags, now: number): Session | undefined {
    if (this.#sessions.size >= this.#parts.most) {
      const [first] = this.#sessions;
      // All are in use: the issuer is not asked for each request in turn.
      if (first === undefined || first[1].wantedAtMs + inUseMs > now) return undefined;
      this.#end(first[0], first[1].renewal);
    }
    const session = { renewal: this.#parts.open(tags), wantedAtMs: now };
    session.renewal.renew();
    return session;
  }

  #end(name: string, renewal: Renewal): void {
    this.#sessions.delete(name);
    renewal.stop();
  }

  #tagsOf(labels: readonly string[]): { readonly name: string; readonly tags: SessionTags } {
    const known = this.#known.get(labels);
    if (known !== undefined) return known;
    const tags = tagsOfLabels(labels, this.#parts.keys);
    const pairs = Object.entries(tags).sort(([one], [other]) => (one < other ? -1 : 1));
    const found = { name: pairs.length === 0 ? '' : JSON.stringify(pairs), tags };
    this.#known.set(labels, found);
    return found;
  }
}

/** What AWS takes as the value of a tag (docs.aws.amazon.com/STS/latest/APIReference/API_Tag.html). */
const valueOfTag = /^[\p{L}\p{Z}\p{N}_.:/=+\-@]{1,256}$/u;

/** The first label of each key counts; one whose value no tag can have is none. */
export function tagsOfLabels(labels: readonly string[], keys: readonly string[]): SessionTags {
  const tags: Record<string, string> = {};
  for (const label of labels) {
    const [key = ''] = label.split(':', 1);
    const value = label.slice(key.length + 1).trim();
    if (keys.includes(key) && tags[key] === undefined && valueOfTag.test(value)) tags[key] = value;
  }
  return tags;
}
