// The tokens of identities as this process knows them: verified once, remembered until their end, and judged again when the configuration changes.
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Identity, identityOf } from '../../domain/identities/identity.ts';
import { type ClaimCheck, rightsOf } from '../../domain/identities/rights.ts';
import { claimedIdentity, readUnverified } from '../../domain/identities/token-form.ts';
import { type AuthKey, isActive } from '../../domain/keys/auth-key.ts';
import { digestOf } from '../../domain/keys/secret.ts';
import { tokenKey } from '../../domain/keys/token-key.ts';
import type { TokenOfKey } from '../../domain/keys/token-of-key.ts';
import type { Identity as WrittenIdentity } from '../../schemas/types.ts';
import type { Commit } from '../put-in-force.ts';
import type { Resolve } from './allowed-address.ts';
import { type FetchedKeys, Issuer, type IssuerTimes, issuerTimes, sourceOf } from './issuer.ts';
import { type KeptKeys, keepKeys, recallKeys } from './kept-keys.ts';
import { TokenMemory } from './token-memory.ts';
import { type JosePackage, loadJose, type TokenCheck, verifyToken } from './verify-token.ts';

/** Why a token is refused. */
export interface RefusedToken {
  /** The name of the identity. */
  readonly identity: string;
  /** `unavailable`: the keys of the issuer are not known. `overloaded`: too many tokens are verified at this moment. Both say nothing of the token. */
  readonly check: TokenCheck | ClaimCheck | 'unavailable' | 'overloaded';
  /** A sentence without its end. */
  readonly message: string;
}

/** Exactly one of the two. */
export type JudgedToken =
  | { readonly key: AuthKey; readonly refused?: undefined }
  | { readonly refused: RefusedToken; readonly key?: undefined };

/** What is known of an identity, for operators. */
export interface IdentityState {
  readonly name: string;
  readonly issuer: string;
  readonly keys: number;
  /** Unix milliseconds of the last fetch; undefined: never. */
  readonly fetchedAtMs: number | undefined;
  /** They are not too old. */
  readonly areUsable: boolean;
  readonly lastError: string | undefined;
}

export interface TokenKeysParts {
  /** Where keys of issuers are kept. */
  readonly folder: string;
  /** The time by which tokens end. Unix milliseconds. */
  readonly nowMs: () => number;
  readonly log: { warn(fields: object, text: string): void; info(fields: object, text: string): void };
  /** Tests replace them. */
  readonly times?: IssuerTimes;
  readonly resolve?: Resolve;
}

/** The verifications that run at a time, and those that wait for one of them. */
const mostRunning = 8;
const mostWaiting = 1_024;
const tellAgainMs = 60_000;

type Written = Readonly<Record<string, WrittenIdentity>>;

export class TokenKeys {
  readonly #parts: TokenKeysParts;
  readonly #path: string;
  readonly #kept: KeptKeys;
  readonly #memory = new TokenMemory();
  /** By digest. */
  readonly #judging = new Map<string, Promise<JudgedToken>>();
  readonly #outcomes = new Map<string, number>();
  readonly #queue: (() => void)[] = [];
  #running = 0;
  #jose: JosePackage | undefined;
  #loading: Promise<void> | undefined;
  #written: Written = {};
  #byName: ReadonlyMap<string, Identity> = new Map();
  #issuers = new Map<string, Issuer>();
  #isWriting = false;

  private constructor(parts: TokenKeysParts, path: string, kept: KeptKeys) {
    this.#parts = parts;
    this.#path = path;
    this.#kept = kept;
  }

  static async open(parts: TokenKeysParts): Promise<TokenKeys> {
    const path = join(parts.folder, 'issuer-keys.json');
    const { kept, warning } = await recallKeys(path, parts.nowMs());
    if (warning !== undefined) parts.log.warn({}, warning);
    return new TokenKeys(parts, path, kept);
  }

  /** Whether there was a copy of keys. */
  get hasKept(): boolean {
    return this.#kept.size > 0;
  }

  /** Throws for templates and conditions that are none. An identity that does not change stays the same object. */
  prepare(written: Written): Commit {
    const byName = new Map(
      Object.entries(written).map(([name, each]) => {
        const before = this.#byName.get(name);
        const isSame = before !== undefined && isDeepStrictEqual(this.#written[name], each);
        return [name, isSame ? before : identityOf(name, each)];
      }),
    );
    return () => {
      this.#written = written;
      this.#byName = byName;
      this.#keepIssuers();
    };
  }

  /** The key of a token that was verified before, with the rights that it has now; undefined: it is not known, or not let in any more. */
  known(digest: string): AuthKey | undefined {
    if (this.#byName.size === 0) return undefined;
    const key = this.#memory.get(digest);
    if (key === undefined) return undefined;
    const now = this.now(key);
    if (now === key) return key;
    if (now === undefined) this.#memory.drop(digest);
    else this.#memory.keep(now);
    return now;
  }

  /** The key of a verified token with the rights that it has now; undefined: it has ended, or is not let in any more. */
  now(key: AuthKey): AuthKey | undefined {
    const { token } = key;
    if (token === undefined || !isActive(key, this.#parts.nowMs())) return undefined;
    const identity = this.#byName.get(token.identity.name);
    if (identity === token.identity) return key;
    if (identity === undefined || !verifiesAlike(identity, token.identity)) return undefined;
    const { rights } = rightsOf(identity, token.claims);
    return rights && tokenKey({ ...token, identity, digest: key.digest, expiresAtMs: key.expiresAtMs }, rights);
  }

  /** The key of a remembered token of this caller; undefined: there is none. */
  withId(id: string): AuthKey | undefined {
    const key = this.#memory.find((each) => each.id === id);
    return key && this.now(key);
  }

  /** Judges a token that is not known. Undefined: it is none of an identity, so it may be any other key. Never rejects. */
  judge(token: string, digest: string = digestOf(token)): Promise<JudgedToken> | undefined {
    if (this.#byName.size === 0) return undefined;
    const running = this.#judging.get(digest);
    if (running !== undefined) return running;
    const unverified = readUnverified(token);
    if (unverified === undefined) return undefined;
    const identity = claimedIdentity(unverified, [...this.#byName.values()]);
    if (identity === undefined) return undefined;
    const { problem } = unverified;
    const judging =
      problem === undefined
        ? this.#judge(token, digest, identity).catch(() => refusedAs(identity, 'form', 'it could not be read'))
        : Promise.resolve(refusedAs(identity, 'form', problem));
    this.#judging.set(digest, judging);
    return judging.then((judged) => {
      if (this.#judging.delete(digest)) this.#count(identity, judged.refused?.check ?? 'ok');
      return judged;
    });
  }

  states(): readonly IdentityState[] {
    return [...this.#byName.values()].map((identity) => {
      const issuer = this.#issuers.get(sourceOf(identity));
      return {
        name: identity.name,
        issuer: identity.issuer,
        keys: issuer?.known?.keys.length ?? 0,
        fetchedAtMs: issuer?.known?.atMs,
        areUsable: issuer?.usable(identity.keysKeptForMs) !== undefined,
        lastError: issuer?.lastError,
      };
    });
  }

  /** Tokens that are remembered. */
  get remembered(): number {
    return this.#memory.size;
  }

  /** Judged tokens by identity and outcome, which is `ok` or the check that failed. */
  outcomes(): readonly { readonly identity: string; readonly outcome: string; readonly count: number }[] {
    return [...this.#outcomes].map(([key, count]) => {
      const [identity = '', outcome = ''] = key.split(' ');
      return { identity, outcome, count };
    });
  }

  close(): void {
    for (const issuer of this.#issuers.values()) issuer.close();
    this.#issuers.clear();
  }

  async #judge(token: string, digest: string, identity: Identity): Promise<JudgedToken> {
    await this.#loading;
    const issuer = this.#issuers.get(sourceOf(identity));
    const first = await this.#verify(token, identity, issuer);
    // A key that is not known yet may be new: the issuer is asked once more, if that is not too soon.
    const isUnknown = first === undefined || (first !== 'overloaded' && first.refused?.check === 'kid');
    const isFetched = isUnknown && (await issuer?.again()) === true;
    const verified = isFetched ? await this.#verify(token, identity, issuer) : first;
    // While the issuer is down, a key that is not known may be a new one.
    const isDown = isUnknown && issuer?.lastError !== undefined;
    if (verified === 'overloaded')
      return refusedAs(identity, 'overloaded', 'too many tokens are checked at this moment');
    if (verified === undefined || (isDown && verified.refused?.check === 'kid'))
      return refusedAs(
        identity,
        'unavailable',
        `the keys of the identity ${identity.name} are not known: its issuer does not answer`,
      );
    if (verified.refused !== undefined) return { refused: { identity: identity.name, ...verified.refused } };
    const { claims, expiresAtMs } = verified;
    const { rights, refused } = rightsOf(identity, claims);
    if (refused !== undefined) return { refused: { identity: identity.name, ...refused } };
    const key = tokenKey({ identity, claims, digest, expiresAtMs, bytes: 1_024 + 3 * token.length }, rights);
    // The configuration may have changed meanwhile.
    const now = this.now(key);
    if (now === undefined) return refusedAs(identity, 'deny', 'it is not let in any more');
    this.#memory.keep(now);
    return { key: now };
  }

  /** Undefined: there are no keys. */
  async #verify(token: string, identity: Identity, issuer: Issuer | undefined) {
    const keyOf = issuer?.finder(identity.keysKeptForMs);
    const jose = this.#jose;
    if (keyOf === undefined || jose === undefined) return undefined;
    if (this.#queue.length >= mostWaiting) return 'overloaded';
    if (this.#running >= mostRunning) await new Promise<void>((resolve) => this.#queue.push(resolve));
    else this.#running += 1;
    try {
      return await verifyToken(token, identity, keyOf, { jose, nowMs: this.#parts.nowMs() });
    } finally {
      // The place goes on to the one that waits.
      const next = this.#queue.shift();
      if (next === undefined) this.#running -= 1;
      else next();
    }
  }

  #count({ name }: Identity, outcome: string): void {
    const key = `${name} ${outcome}`;
    this.#outcomes.set(key, (this.#outcomes.get(key) ?? 0) + 1);
  }

  /** Those of the identities in force; the others end. */
  #keepIssuers(): void {
    const wanted = new Map([...this.#byName.values()].map((identity) => [sourceOf(identity), identity]));
    for (const [source, issuer] of this.#issuers) {
      if (wanted.has(source)) continue;
      issuer.close();
      this.#issuers.delete(source);
    }
    if (wanted.size === 0) return;
    this.#loading ??= loadJose().then((jose) => {
      this.#jose = jose;
    });
    for (const [source, identity] of wanted) {
      if (!this.#issuers.has(source)) this.#issuers.set(source, this.#issuer(source, identity));
    }
  }

  #issuer(source: string, identity: Identity): Issuer {
    const { nowMs, log, resolve, times = issuerTimes } = this.#parts;
    const fields = { identity: identity.name, issuer: identity.issuer };
    let toldAtMs = Number.NEGATIVE_INFINITY;
    return new Issuer(identity, this.#kept.get(source), {
      nowMs,
      times,
      resolve,
      finder: (keys) => (this.#jose as JosePackage).createLocalJWKSet({ keys: [...keys] }),
      fetched: () => void this.#keep(),
      trouble(sentence) {
        const now = nowMs();
        if (sentence !== undefined && now - toldAtMs < tellAgainMs) return;
        if (sentence === undefined) log.info(fields, 'the keys of the issuer can be fetched again');
        else
          log.warn(
            { ...fields, reason: sentence },
            'the keys of the issuer cannot be fetched: those that are known hold for keys_kept_for',
          );
        toldAtMs = now;
      },
    });
  }

  async #keep(): Promise<void> {
    if (this.#isWriting) return;
    this.#isWriting = true;
    // Issuers that are fetched meanwhile are written, too.
    await new Promise((resolve) => setTimeout(resolve, 100).unref());
    this.#isWriting = false;
    const known = [...this.#issuers].flatMap(([source, issuer]): [string, FetchedKeys][] =>
      issuer.known === undefined ? [] : [[source, issuer.known]],
    );
    const problem = await keepKeys(this.#path, new Map(known));
    if (problem !== undefined) this.#parts.log.warn({}, problem);
  }
}

/** A token that one of them has verified, the other one would verify, too. */
function verifiesAlike(one: TokenOfKey['identity'], other: TokenOfKey['identity']): boolean {
  const wayOf = ({ audiences, algorithms, clockSkewMs }: Identity): unknown => [audiences, algorithms, clockSkewMs];
  return sourceOf(one) === sourceOf(other) && isDeepStrictEqual(wayOf(one), wayOf(other));
}

function refusedAs({ name }: Identity, check: RefusedToken['check'], message: string): JudgedToken {
  return { refused: { identity: name, check, message } };
}
