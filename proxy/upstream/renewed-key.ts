// A key of a cloud identity: it is another one after each renewal, and callers with tags have one of their own.
import type { Identity } from '../cloud-identity/identity.ts';
import type { HeldCredential } from '../cloud-identity/renewal.ts';
import type { Credential } from '../cloud-identity/token-source.ts';
import type { ApiKey, KeyState } from './api-keys.ts';
import type { AwsSigner } from './sign-aws.ts';

/** What a credential is in a request. */
export interface WrittenCredential {
  readonly secret: string;
  /** Names and values in turn. */
  readonly headers: readonly string[];
  readonly signer: AwsSigner | undefined;
}

/** An identity, and how its credentials are written for its provider. */
export interface RenewedCredentials {
  readonly identity: Identity;
  readonly write: (held: HeldCredential) => WrittenCredential;
}

/** While there has been no credential yet. Only what is already kept at the provider is asked for then, and refused there. */
const nothing: WrittenCredential = { secret: '', headers: [], signer: undefined };

/** What was written of each credential. */
const written = new WeakMap<RenewedCredentials, WeakMap<HeldCredential, WrittenCredential>>();

export class RenewedKey implements ApiKey {
  readonly position = 1;
  readonly mark: string;
  readonly state: KeyState;
  readonly #renewed: RenewedCredentials;
  readonly #labels: readonly string[] | undefined;

  constructor(renewed: RenewedCredentials, mark: string, state: KeyState, labels?: readonly string[]) {
    this.mark = mark;
    this.state = state;
    this.#renewed = renewed;
    this.#labels = labels;
  }

  get secret(): string {
    return this.#now.secret;
  }

  get headers(): readonly string[] {
    return this.#now.headers;
  }

  get signer(): AwsSigner | undefined {
    return this.#now.signer;
  }

  /** However the provider takes keys. */
  get style(): 'aws' | 'bearer' | undefined {
    return styles[this.#held?.credential.kind ?? 'bearer'];
  }

  /** The same identity, with the tags of a caller with these labels. */
  forCaller(labels: readonly string[]): ApiKey {
    return new RenewedKey(this.#renewed, this.mark, this.state, labels);
  }

  refused(): void {
    this.#renewed.identity.refused(this.#labels);
  }

  get #held(): HeldCredential | undefined {
    const { identity } = this.#renewed;
    return identity.heldFor(this.#labels) ?? identity.last;
  }

  get #now(): WrittenCredential {
    const held = this.#held;
    if (held === undefined) return nothing;
    const known = written.get(this.#renewed) ?? new WeakMap<HeldCredential, WrittenCredential>();
    written.set(this.#renewed, known);
    const before = known.get(held);
    if (before !== undefined) return before;
    const now = this.#renewed.write(held);
    known.set(held, now);
    return now;
  }
}

const styles: Readonly<Record<Credential['kind'], 'aws' | 'bearer'>> = { aws: 'aws', bearer: 'bearer' };
