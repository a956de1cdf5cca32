// The state of every target, kept across reloads for as long as the target means the same.
import type { RememberedKey } from './learned-quotas.ts';
import { TargetState } from './target-state.ts';

/** What tells targets apart. */
export interface RememberedTarget {
  readonly upstream: {
    readonly name: string;
    readonly origin: string;
    /** False: what its answers said of limits is to be forgotten. */
    readonly learnsLimits?: boolean;
    /** Its API keys; undefined: one. */
    readonly credentials?: { readonly remembered: readonly RememberedKey[] };
  };
  /** The model's id at the provider. */
  readonly model: string;
}

/** A target of the config in force, with its state. */
export interface KnownTarget {
  readonly provider: string;
  readonly model: string;
  readonly state: TargetState;
}

export class TargetStates {
  readonly #byTarget = new WeakMap<RememberedTarget, TargetState>();
  #known: ReadonlyMap<string, KnownTarget> = new Map();
  #routes: unknown;

  /** The state of a target; one that `keep` does not know has a state for as long as its object lives. */
  of(target: RememberedTarget): TargetState {
    const state = this.#byTarget.get(target);
    return state ?? this.#remember(target, new TargetState());
  }

  /** From now on there are these routes. What is known of a target with the same provider, origin and model stays; others are forgotten. */
  keep(routes: ReadonlyMap<string, { readonly targets: readonly RememberedTarget[] }>): void {
    // The same object when only rules or keys have changed.
    if (routes === this.#routes) return;
    this.#routes = routes;
    const seen = new Set<RememberedTarget>();
    const known = new Map<string, KnownTarget>();
    for (const { targets } of routes.values()) {
      for (const target of targets) {
        if (seen.has(target)) continue;
        seen.add(target);
        const { upstream, model } = target;
        const key = `${upstream.name}\n${upstream.origin}\n${model}`;
        const before = known.get(key) ?? this.#known.get(key);
        const state = this.#remember(target, before?.state ?? this.of(target));
        if (upstream.learnsLimits === false) state.quota.forget();
        state.quota.keep(upstream.credentials?.remembered);
        known.set(key, before ?? { provider: upstream.name, model, state });
      }
    }
    this.#known = known;
  }

  /** Those of the last `keep`. */
  known(): Iterable<KnownTarget> {
    return this.#known.values();
  }

  #remember(target: RememberedTarget, state: TargetState): TargetState {
    this.#byTarget.set(target, state);
    return state;
  }
}
