// The API keys of the providers. Those of one provider are used in turn; a key that was refused (401), has no money left (402), or was asked to wait (429), rests.
import { createHash } from 'node:crypto';
import type { CloudIdentities } from '../cloud-identity/identities.ts';
import type { KeyTrouble, RememberedKey } from '../targets/learned-quotas.ts';
import { longestRestMs, unsaidRestMs } from '../targets/rest-times.ts';
import type { AnswerHead } from './answer-head.ts';
import { askedWaitMs } from './retry-headers.ts';
import type { AwsSigner } from './sign-aws.ts';

/** How long a key rests after a 401 or a 402: it was revoked as a rule, or its account is used up, and seldom comes back. Milliseconds. */
const refusedMs = 60_000;

/** What an answer says of its key, by its status. */
const troubles: Readonly<Record<number, KeyTrouble['kind']>> = { 401: 'key_refused', 402: 'account_used_up' };

/** A key as it is configured. */
export interface GivenKey {
  /** Its place in the configuration, from 1. */
  readonly position: number;
  /** Undefined: the provider is asked without one. */
  readonly secret: string | undefined;
  /** Headers of every request with this key, names and values in turn. */
  readonly headers: readonly string[];
  /** Signs every request; undefined: the headers say all. */
  readonly signer?: AwsSigner | undefined;
  /** How it is sent, whatever the endpoint usually takes; absent: as usual. */
  readonly style?: 'aws' | 'bearer' | undefined;
}

/** A key that is another one after each renewal of an identity. */
export interface RenewingKey {
  /** Equal for the same identity after a restart; no secret. */
  readonly name: string;
  readonly keyOf: (mark: string, state: KeyState) => ApiKey;
}

/** The state of a key. It survives a reload of the configuration. */
export interface KeyState {
  restsUntilMs: number;
  trouble: KeyTrouble | undefined;
}

export interface ApiKey extends GivenKey {
  /** Tells the key from others of its provider wherever it stands in the configuration, and tells nothing of its secret. */
  readonly mark: string;
  readonly state: KeyState;
  /** The key for a caller with these labels; absent: all callers have the same one. */
  forCaller?(labels: readonly string[]): ApiKey;
  /** The provider refuses it; absent: nothing can be done about that. */
  refused?(): void;
}

/** The quota that a provider grants a target, per key. */
export interface KeysLeft {
  /** Whether the quota of this key is used up at `nowMs` (Unix milliseconds). */
  isKeyUsedUp(key: RememberedKey, nowMs: number): boolean;
}

/** A key that a provider refuses. */
export interface RefusedKey {
  readonly provider: string;
  readonly position: number;
  /** How many keys the provider has. */
  readonly count: number;
}

/** The keys of one provider; at least one. */
export class ApiKeys {
  readonly #keys: readonly ApiKey[];
  readonly #refused: (position: number) => void;
  #next = 0;

  /** `given`: the keys, or what renews the only one. `refused` is told of a key when its first 401 comes. */
  constructor(
    given: readonly GivenKey[] | RenewingKey,
    former: ApiKeys | undefined,
    refused: (position: number) => void,
  ) {
    const known = former === undefined ? [] : former.#keys;
    const states = new Map(known.map(({ mark, state }) => [mark, state]));
    const stateOf = (mark: string): KeyState => states.get(mark) ?? { restsUntilMs: 0, trouble: undefined };
    const keyOf = (key: GivenKey): ApiKey => {
      const mark = markOf(key.secret);
      return { ...key, mark, state: stateOf(mark) };
    };
    if ('keyOf' in given) {
      const mark = markOf(given.name);
      this.#keys = [given.keyOf(mark, stateOf(mark))];
    } else this.#keys = given.map(keyOf);
    this.#refused = refused;
  }

  /** The state of each key. */
  get remembered(): readonly RememberedKey[] {
    return this.#keys.map(({ state }) => state);
  }

  get all(): readonly ApiKey[] {
    return this.#keys;
  }

  get count(): number {
    return this.#keys.length;
  }

  /**
   * The next key that does not rest, if possible one with quota left for the target; when all rest, the one whose rest
   * ends first. `nowMs` in Unix milliseconds.
   */
  pick(nowMs: number, left?: KeysLeft): ApiKey {
    const keys = this.#keys;
    let soonest = keys[0] as ApiKey;
    if (keys.length === 1) return soonest;
    let spare = -1;
    for (let step = 0; step < keys.length; step += 1) {
      const index = (this.#next + step) % keys.length;
      const key = keys[index] as ApiKey;
      if (key.state.restsUntilMs > nowMs) {
        if (key.state.restsUntilMs < soonest.state.restsUntilMs) soonest = key;
      } else if (left?.isKeyUsedUp(key.state, nowMs) !== true) return this.#take(index);
      else if (spare === -1) spare = index;
    }
    return spare === -1 ? soonest : this.#take(spare);
  }

  /** The key with this mark; undefined: it is no longer configured. */
  marked(mark: string): ApiKey | undefined {
    return this.#keys.find((key) => key.mark === mark);
  }

  #take(index: number): ApiKey {
    this.#next = index + 1;
    return this.#keys[index] as ApiKey;
  }

  /** Whether a key other than this one does not rest. */
  hasOtherFree(asked: ApiKey, nowMs: number): boolean {
    return this.#keys.some(({ state }) => state !== asked.state && state.restsUntilMs <= nowMs);
  }

  /** Lets the key rest until `untilMs` (Unix milliseconds): it is used only when every other key rests, too. */
  rest({ state }: ApiKey, untilMs: number): void {
    state.restsUntilMs = Math.max(state.restsUntilMs, untilMs);
  }

  /**
   * Applies the status of an answer to the key of its request: 401, 402 and 429 let the key rest. `nowMs` in Unix
   * milliseconds.
   */
  answered(key: ApiKey, status: number, head: AnswerHead, nowMs: number): void {
    const kind = troubles[status];
    if (kind !== undefined) this.troubled(key, kind, nowMs);
    else if (status === 429) {
      // Without a wait, or with one that has passed, the key rests for a default time.
      this.rest(key, nowMs + Math.min(askedWaitMs(head, nowMs) || unsaidRestMs, longestRestMs));
    } else if (status < 400) key.state.trouble = undefined;
  }

  /** The provider serves nothing for the key, whatever its status was: the key rests. `nowMs` in Unix milliseconds. */
  troubled(key: ApiKey, kind: KeyTrouble['kind'], nowMs: number): void {
    const { state } = key;
    if (kind === 'key_refused') key.refused?.();
    this.rest(key, nowMs + refusedMs);
    if (state.trouble?.kind === kind) return;
    state.trouble = { kind, sinceMs: Math.floor(nowMs) };
    if (kind === 'key_refused') this.#refused(key.position);
  }

  /** Each key, and why the provider serves nothing for it; undefined: it does. */
  troubles(): { readonly position: number; readonly trouble: KeyTrouble | undefined }[] {
    return this.#keys.map(({ position, state: { trouble } }) => ({ position, trouble }));
  }

  /** Each key, and whether it rests. */
  rests(nowMs: number): { readonly position: number; readonly isResting: boolean }[] {
    return this.#keys.map(({ position, state }) => ({ position, isResting: state.restsUntilMs > nowMs }));
  }
}

/** Stands for the keys of a provider that is asked with the credential of each client: nothing is remembered of what one of them met. */
export class ClientKeys extends ApiKeys {
  /** `headers`: of every request, names and values in turn. */
  constructor(headers: readonly string[]) {
    super([{ position: 1, secret: undefined, headers }], undefined, () => undefined);
    Object.freeze(this);
  }

  override rest(): void {}

  override troubled(): void {}

  override answered(): void {}
}

/** Half of a SHA-256 is enough: a secret of 100 bits cannot be found by it. */
function markOf(secret: string | undefined): string {
  return secret === undefined ? '' : createHash('sha256').update(secret).digest('hex').slice(0, 32);
}

/** The keys of all providers. The state of a key stays while its provider has it. */
export class ProviderKeys {
  #providers = new Map<string, ApiKeys>();
  readonly #refused: (refused: RefusedKey) => void;
  /** The identities of providers that have one in place of a key; undefined: none is known, as where no proxy runs. */
  readonly identities: CloudIdentities | undefined;

  /** `refused` is told of a key when its first 401 comes. */
  constructor(refused: (refused: RefusedKey) => void = () => undefined, identities?: CloudIdentities) {
    this.#refused = refused;
    this.identities = identities;
  }

  /** The keys of a provider, with the state of those in force. They are in force after `keep`. */
  of(provider: string, given: readonly GivenKey[] | RenewingKey): ApiKeys {
    const count = 'keyOf' in given ? 1 : given.length;
    const refused = (position: number): void => this.#refused({ provider, position, count });
    const keys = new ApiKeys(given, this.#providers.get(provider), refused);
    Object.freeze(keys);
    return keys;
  }

  /** The keys in force that their providers serve nothing for. */
  troubled(): (RefusedKey & { readonly trouble: KeyTrouble })[] {
    return [...this.#providers].flatMap(([provider, keys]) =>
      keys
        .troubles()
        .flatMap(({ position, trouble }) =>
          trouble === undefined ? [] : [{ provider, position, count: keys.count, trouble }],
        ),
    );
  }

  /** Puts the keys of these providers in force and forgets all others. */
  keep(upstreams: readonly { readonly name: string; readonly credentials: ApiKeys }[]): void {
    this.#providers = new Map(upstreams.map(({ name, credentials }) => [name, credentials]));
    this.identities?.keep(this.#providers.keys());
  }
}
