// The identity of one provider: what its requests are sent with now, for whom, and what operators see of it.
import type { SessionTags } from './aws.ts';
import { KnownTokens } from './known-tokens.ts';
import { type HeldCredential, Renewal, type RenewalOutcome, type RenewalParts } from './renewal.ts';
import { TaggedSessions } from './sessions.ts';
import type { TokenSource } from './token-source.ts';

/** Where the credentials of a provider come from. */
export interface IdentityPlan {
  readonly source: TokenSource;
  /** Absent: all callers have the same credential. */
  readonly tagged?:
    | {
        readonly keys: readonly string[];
        readonly most: number;
        readonly sourceOf: (tags: SessionTags) => TokenSource;
      }
    | undefined;
}

/** What operators see. Moments in milliseconds of the gateway's clock. */
export interface IdentityStatus {
  readonly provider: string;
  readonly source: string;
  readonly principal: string | undefined;
  /** Undefined: there was none yet. Infinity: it has no end. */
  readonly endsAtMs: number | undefined;
  readonly renewedAtMs: number | undefined;
  /** Why the last renewal failed; undefined: it did not. */
  readonly problem: string | undefined;
  readonly isValid: boolean;
  /** Of the tags of callers. */
  readonly sessions: number;
}

export interface IdentityParts extends Omit<RenewalParts, 'ended'> {
  /** The renewal of its own credential has ended, or that of a session with tags. */
  readonly ended: (provider: string, outcome: RenewalOutcome, isOwn: boolean) => void;
}

export class Identity {
  readonly provider: string;
  readonly #plan: IdentityPlan;
  readonly #parts: IdentityParts;
  readonly #own: Renewal;
  readonly #sessions: TaggedSessions | undefined;
  readonly #tokens = new KnownTokens();

  /** Nothing is asked before `start`. */
  constructor(provider: string, plan: IdentityPlan, parts: IdentityParts) {
    this.provider = provider;
    this.#plan = plan;
    this.#parts = parts;
    this.#own = this.#renewalOf(plan.source, true);
    const { tagged } = plan;
    if (tagged !== undefined) {
      const open = (tags: SessionTags): Renewal => this.#renewalOf(tagged.sourceOf(tags), false);
      this.#sessions = new TaggedSessions({ ...tagged, nowMs: parts.nowMs, open });
    }
  }

  /** The credential for a caller with these labels: that of its session, else its own; undefined: there is none now. */
  heldFor(labels: readonly string[] | undefined): HeldCredential | undefined {
    return this.#sessionOf(labels)?.held ?? this.#own.held;
  }

  /** The last credential of its own, although it may have ended; undefined: there was none yet. */
  get last(): HeldCredential | undefined {
    return this.#own.last;
  }

  /** A live list: all secrets of the provider, longest first. */
  get secrets(): readonly string[] {
    return this.#tokens.words;
  }

  get isValid(): boolean {
    return this.#own.held !== undefined;
  }

  /** When its first question has ended. */
  get settled(): Promise<void> {
    return this.#own.settled;
  }

  start(): void {
    this.#own.renew();
  }

  stop(): void {
    this.#own.stop();
    this.#sessions?.stop();
  }

  /** The provider refuses what a caller with these labels is sent with. */
  refused(labels: readonly string[] | undefined): void {
    const session = this.#sessionOf(labels);
    (session?.held === undefined ? this.#own : session).refused();
  }

  /** Why its last renewal failed; undefined: it did not. */
  get problem(): string | undefined {
    return this.#own.problem;
  }

  /** When another credential is due. Milliseconds of the gateway's clock. */
  get nextAtMs(): number {
    return this.#own.nextAtMs;
  }

  /** Further secrets of the provider. */
  alsoKnows(secrets: readonly string[]): void {
    this.#tokens.also(secrets);
  }

  status(): IdentityStatus {
    const { last, problem } = this.#own;
    return {
      provider: this.provider,
      source: this.#plan.source.describe(),
      principal: last?.principal,
      endsAtMs: last?.endsAtMs,
      renewedAtMs: last?.issuedAtMs,
      problem,
      isValid: this.isValid,
      sessions: this.#sessions?.count ?? 0,
    };
  }

  #sessionOf(labels: readonly string[] | undefined): Renewal | undefined {
    return labels === undefined ? undefined : this.#sessions?.of(labels);
  }

  #renewalOf(source: TokenSource, isOwn: boolean): Renewal {
    const { ended, nowMs } = this.#parts;
    return new Renewal(source, {
      ...this.#parts,
      ended: (outcome) => {
        const { held, problem } = outcome;
        if (problem === undefined && held !== undefined) this.#tokens.add(held.credential, held.endsAtMs, nowMs());
        this.#sessions?.sweep();
        ended(this.provider, outcome, isOwn);
      },
    });
  }
}
