// A target that an operator has taken out for a while: a provider, or one of its models. And its document in the state store.
import { type Authorship, authorshipBody, expiryMs, readAuthorship } from '../rules/authorship.ts';
import { foldCase } from '../selector.ts';

/** The kind of its documents; the id is the key of the drain. */
export const targetDrainKind = 'target_drain';

/** No new call goes to the target until the end. */
export interface TargetDrain extends Authorship {
  readonly key: string;
  /** The name of the provider. */
  readonly provider: string;
  /** The id of the model there; absent: all that the provider is asked for. */
  readonly model?: string;
  readonly reason: string;
  readonly expiresAt: string;
  /** No operator has set it: the proxy has no valid credential for the provider. It is never stored. */
  readonly isWithoutCredential?: true;
}

/** `<provider>` or `<provider>/<model>`. Names of providers have no slash. */
export function targetName({ provider, model }: Pick<TargetDrain, 'provider' | 'model'>): string {
  return model === undefined ? provider : `${provider}/${model}`;
}

/** Letter case does not matter. */
export function drainKey(target: Pick<TargetDrain, 'provider' | 'model'>): string {
  return foldCase(targetName(target));
}

/** The drain of a document; undefined when the body is none, or its key is not the id. Unknown members are ignored. */
export function readTargetDrain(id: string, body: unknown): TargetDrain | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const members = body as Readonly<Record<string, unknown>>;
  const { provider, model } = members;
  const authorship = readAuthorship(members);
  if (typeof provider !== 'string' || !(model === undefined || typeof model === 'string')) return undefined;
  const { reason, expiresAt } = authorship ?? {};
  if (authorship === undefined || reason === undefined || expiresAt === undefined) return undefined;
  const target = { provider, ...(model === undefined ? {} : { model }) };
  return drainKey(target) === id ? Object.freeze({ key: id, ...target, ...authorship, reason, expiresAt }) : undefined;
}

/** The inverse of `readTargetDrain`. */
export function targetDrainBody(drain: TargetDrain): object {
  const { provider, model } = drain;
  return { provider, ...(model === undefined ? {} : { model }), ...authorshipBody(drain) };
}

/** Drains as they stand at a time, in Unix milliseconds. */
export interface StandingDrains {
  readonly inForce: TargetDrains;
  /** Those that have ended and are still stored. */
  readonly ended: readonly TargetDrain[];
  /** When the next one ends, in Unix milliseconds; undefined: none does. */
  readonly nextEndMs: number | undefined;
}

export function standingDrains(stored: readonly TargetDrain[], nowMs: number): StandingDrains {
  const standing = stored.filter((drain) => expiryMs(drain) > nowMs);
  return {
    inForce: standing.length === 0 ? noDrains : new TargetDrains(standing),
    ended: stored.filter((drain) => expiryMs(drain) <= nowMs),
    nextEndMs: standing.length === 0 ? undefined : Math.min(...standing.map(expiryMs)),
  };
}

/** The drains that are in force. */
export class TargetDrains {
  readonly #byKey: ReadonlyMap<string, TargetDrain>;

  constructor(drains: readonly TargetDrain[]) {
    this.#byKey = new Map(drains.map((drain) => [drain.key, drain]));
  }

  /** The one that keeps a target out for longest; undefined: it may be asked. `model` empty: none is asked for. */
  of(provider: string, model: string): TargetDrain | undefined {
    if (this.#byKey.size === 0) return undefined;
    const whole = this.#byKey.get(drainKey({ provider }));
    const own = model === '' ? undefined : this.#byKey.get(drainKey({ provider, model }));
    if (whole === undefined || own === undefined) return whole ?? own;
    return expiryMs(whole) < expiryMs(own) ? own : whole;
  }

  /** Whether some models of a provider are out, and not all of it. */
  hasModelsOf(provider: string): boolean {
    const begin = `${drainKey({ provider })}/`;
    return [...this.#byKey.keys()].some((key) => key.startsWith(begin));
  }

  values(): Iterable<TargetDrain> {
    return this.#byKey.values();
  }
}

export const noDrains = new TargetDrains([]);
