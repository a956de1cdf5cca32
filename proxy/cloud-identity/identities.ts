// The identities of all providers that are configured with one. An identity stays while its settings do, whatever else is reloaded.
import type { TargetDrain } from '../../domain/targets/target-drain.ts';
import { timestamp } from '../../domain/timestamp.ts';
import type { Provider } from '../../schemas/types.ts';
import { Identity, type IdentityParts, type IdentityPlan, type IdentityStatus } from './identity.ts';
import { type Pace, type RenewalOutcome, usualPace } from './renewal.ts';
import { planOf } from './sources.ts';
import type { SourceParts } from './token-source.ts';

export interface IdentitiesParts {
  /** Milliseconds of the gateway's clock. */
  readonly nowMs: () => number;
  /** What became of a renewal, of the credential that all callers have (`isOwn`) or of a session with tags. Never throws. */
  readonly ended: IdentityParts['ended'];
  /** Default: 0 to 1 by chance. */
  readonly random?: () => number;
  readonly pace?: Pace;
  readonly sources: SourceParts;
  /** Default: the official packages. */
  readonly planOf?: typeof planOf;
}

interface Known {
  readonly identity: Identity;
  /** What was configured, to tell whether that has changed. */
  readonly settings: string;
}

/** Renewals of one provider since the start. */
export interface RenewalCounts {
  readonly provider: string;
  readonly renewed: number;
  readonly failed: number;
}

export class CloudIdentities {
  readonly #parts: Required<IdentitiesParts>;
  /** By provider. Those of a configuration that was prepared last may never come into force. */
  readonly #prepared = new Map<string, Known>();
  #inForce: ReadonlyMap<string, Known> = new Map();
  readonly #counts = new Map<string, { renewed: number; failed: number }>();

  constructor(parts: IdentitiesParts) {
    this.#parts = { random: Math.random, pace: usualPace, planOf, ...parts };
  }

  /** The identity of a provider; undefined: it has none. A new one asks nothing before `keep`. `secrets`: those of its other settings. */
  of(name: string, provider: Provider, secrets: readonly string[]): Identity | undefined {
    const plan = this.#parts.planOf(provider, this.#parts.sources);
    if (plan === undefined) return undefined;
    const settings = settingsOf(provider);
    const known = [this.#inForce.get(name), this.#prepared.get(name)].find((one) => one?.settings === settings);
    const { identity } = known ?? { identity: this.#open(name, plan) };
    this.#prepared.set(name, { identity, settings });
    identity.alsoKnows(secrets);
    return identity;
  }

  /** Puts the identities of these providers in force: new ones begin to ask, all others end. */
  keep(providers: Iterable<string>): void {
    const before = this.#inForce;
    const next = new Map<string, Known>();
    for (const name of providers) {
      const known = this.#prepared.get(name);
      if (known !== undefined) next.set(name, known);
    }
    this.#inForce = next;
    for (const [name, { identity }] of next) if (before.get(name)?.identity !== identity) identity.start();
    for (const [name, { identity }] of before) if (next.get(name)?.identity !== identity) identity.stop();
    for (const name of this.#prepared.keys()) if (!next.has(name)) this.#prepared.delete(name);
    for (const name of this.#counts.keys()) if (!next.has(name)) this.#counts.delete(name);
  }

  #open(name: string, plan: IdentityPlan): Identity {
    return new Identity(name, plan, {
      ...this.#parts,
      ended: (owner, outcome, isOwn) => this.#ended(owner, outcome, isOwn),
    });
  }

  /** Why a provider cannot be asked now: it has no valid credential; undefined: it can. */
  outageOf(provider: string): TargetDrain | undefined {
    if (this.#inForce.size === 0) return undefined;
    const known = this.#inForce.get(provider);
    return known === undefined || known.identity.isValid ? undefined : this.#outage(known.identity);
  }

  #outage({ provider, nextAtMs, problem }: Identity): TargetDrain {
    const now = Math.floor(this.#parts.nowMs());
    const at = timestamp(now);
    return {
      key: provider,
      provider,
      isWithoutCredential: true,
      reason: problem ?? 'its first credential has not come yet',
      // The next question is the first moment at which a request can succeed.
      expiresAt: timestamp(Math.max(Math.ceil(nextAtMs), now + 1_000)),
      createdAt: at,
      updatedAt: at,
      updatedBy: 'gateway',
    };
  }

  /** The providers without a valid credential. */
  invalid(): string[] {
    return [...this.#inForce].filter(([, { identity }]) => !identity.isValid).map(([provider]) => provider);
  }

  status(): IdentityStatus[] {
    return Array.from(this.#inForce.values(), ({ identity }) => identity.status());
  }

  counts(): RenewalCounts[] {
    return Array.from(this.#counts, ([provider, counts]) => ({ provider, ...counts }));
  }

  /** When the first question of each has ended, but after `mostMs` at the latest. */
  async settled(mostMs: number): Promise<void> {
    const all = Promise.all(Array.from(this.#inForce.values(), ({ identity }) => identity.settled));
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, mostMs);
    await Promise.race([all, late.promise]);
    clearTimeout(timer);
  }

  close(): void {
    this.keep([]);
  }

  #ended(provider: string, outcome: RenewalOutcome, isOwn: boolean): void {
    const counts = this.#counts.get(provider) ?? { renewed: 0, failed: 0 };
    this.#counts.set(provider, counts);
    counts[outcome.problem === undefined ? 'renewed' : 'failed'] += 1;
    this.#parts.ended(provider, outcome, isOwn);
  }
}

/** All that a source is made of. */
function settingsOf({ auth, aws, google, azure, base_url }: Provider): string {
  return JSON.stringify([auth, aws, google, azure, base_url]);
}
