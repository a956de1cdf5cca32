// The API's data of providers, targets and aliases, and the derived data of a view. Pure.

export interface Provider {
  readonly name: string;
  readonly type: string;
  readonly origin?: string;
  /** `discovered`: the provider is asked for them. */
  readonly models: readonly string[] | 'discovered';
  readonly keys: number;
  readonly left_out_by: readonly string[];
  readonly declared_at: string;
}

export type Breaker = 'closed' | 'half_open' | 'open';

/** The state of a target at one proxy. */
export interface TargetView {
  readonly instance: string;
  readonly breaker: Breaker;
  readonly obstacle?:
    | 'breaker_open'
    | 'breaker_half_open'
    | 'resting'
    | 'key_refused'
    | 'account_used_up'
    | 'model_unavailable'
    | 'quota_used_up';
  readonly since?: string;
  readonly until?: string;
  readonly calls: number;
  readonly failures: number;
  readonly first_byte_ms?: number;
  readonly first_byte_p95_ms?: number;
  readonly limits: readonly LearnedLimit[];
}

export interface LearnedLimit {
  readonly dimension: string;
  readonly remaining: number;
  readonly limit?: number;
}

/** A provider, or one of its models. */
export interface DrainSubject {
  readonly provider: string;
  readonly model?: string;
}

/** It is taken out until the end. */
export interface Drain extends DrainSubject {
  readonly reason: string;
  readonly expires_at: string;
  readonly updated_by: string;
}

export interface Target {
  readonly provider: string;
  readonly model: string;
  /** Of it, or of its provider. */
  readonly drain?: Drain;
  readonly calls: number;
  readonly failures: number;
  readonly proxies: readonly TargetView[];
}

export interface TargetListing {
  readonly targets: readonly Target[];
  readonly drains: readonly Drain[];
  readonly complete: boolean;
  readonly window_seconds: number;
}

export interface Alias {
  readonly source: string;
  readonly targets: readonly {
    readonly model: string;
    readonly weight: number;
    readonly tier?: number;
    readonly when?: string;
  }[];
  readonly strategy: string;
  readonly user_paths?: readonly string[];
  readonly when?: string;
  readonly enabled: boolean;
  readonly description?: string;
  readonly retry?: {
    readonly attempts: number;
    readonly on: readonly string[];
    readonly deadline?: string;
    readonly budget?: number;
  };
  readonly hedge: boolean | { readonly after?: string; readonly percentile?: number };
  readonly rescue?: 'continue' | 'restart';
  readonly mirror?: { readonly target: string; readonly share: number };
  readonly managed_by: 'config' | 'manual';
  readonly overrides_config: boolean;
  readonly declared_at?: string;
  readonly enforced: boolean;
  readonly unenforced_reason?: string;
  readonly updated_at?: string;
  readonly updated_by?: string;
}

export interface AliasListing {
  readonly virtual_models: readonly Alias[];
  readonly stale?: true;
}

/** `provider/model`. */
export function nameOf({ provider, model }: Pick<Target, 'provider' | 'model'>): string {
  return `${provider}/${model}`;
}

/** `provider`, or `provider/model`. */
export function drainName({ provider, model }: DrainSubject): string {
  return model === undefined ? provider : `${provider}/${model}`;
}

/** The drain of a provider as a whole. */
export function drainOfProvider(name: string, drains: readonly Drain[]): Drain | undefined {
  return drains.find(({ provider, model }) => model === undefined && provider === name);
}

/** Whether no request goes there now, or others are asked in its place. */
export function isBlocked(target: Target): boolean {
  return target.drain !== undefined || blockedViews(target).length > 0;
}

/** The views of proxies for which something stands in the way. */
export function blockedViews({ proxies }: Target): readonly TargetView[] {
  return proxies.filter(({ obstacle }) => obstacle !== undefined);
}

/** Milliseconds, the mean of what the proxies measured, weighed by their calls; undefined before the first. */
export function meanFirstByte({ proxies }: Target): number | undefined {
  let [sum, weight] = [0, 0];
  for (const { first_byte_ms: ms, calls } of proxies) {
    if (ms === undefined) continue;
    sum += ms * (calls + 1);
    weight += calls + 1;
  }
  return weight === 0 ? undefined : sum / weight;
}

/** The longest of what the proxies measured. Milliseconds. */
export function highFirstByte({ proxies }: Target): number | undefined {
  const known = proxies.flatMap(({ first_byte_p95_ms: ms }) => (ms === undefined ? [] : [ms]));
  return known.length === 0 ? undefined : Math.max(...known);
}

/** The remaining amount of each limit by the proxy with the smallest one: each learns it from its own answers. */
export function learnedLimits({ proxies }: Target): readonly LearnedLimit[] {
  const least = new Map<string, LearnedLimit>();
  for (const limit of proxies.flatMap(({ limits }) => limits)) {
    const known = least.get(limit.dimension);
    if (known === undefined || limit.remaining < known.remaining) least.set(limit.dimension, limit);
  }
  return [...least.values()];
}

/** The targets that a name in an alias stands for: one model at a provider, or a model at any. */
export function targetsNamed(name: string, targets: readonly Target[]): readonly Target[] {
  const wanted = name.toLowerCase();
  const exact = targets.filter((target) => nameOf(target).toLowerCase() === wanted);
  return exact.length > 0 ? exact : targets.filter(({ model }) => model.toLowerCase() === wanted);
}
