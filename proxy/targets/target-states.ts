// The state of every target, kept across reloads for as long as the target means the same.
import { noDrains, type TargetDrain, type TargetDrains } from '../../domain/targets/target-drain.ts';
import type { RememberedKey } from './learned-quotas.ts';
import { TargetState } from './target-state.ts';

/** The name of a target. */
interface NamedTarget {
  readonly upstream: { readonly name: string };
  readonly model: string;
}

/** The identity of a target. */
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
  /** The target whose state it shares, because it is that one for a single request; absent: it has its own. */
  readonly original?: RememberedTarget | undefined;
}

/** A target of the config in force, with its state. */
export interface KnownTarget {
  readonly provider: string;
  readonly model: string;
  readonly state: TargetState;
}

export class TargetStates {
  readonly #byTarget = new WeakMap<RememberedTarget, TargetState>();
  /** By provider and origin, and by model. */
  #known: ReadonlyMap<string, ReadonlyMap<string, KnownTarget>> = new Map();
  #targets: unknown;
  #drains = noDrains;
  readonly #outageOf: (provider: string) => TargetDrain | undefined;

  /** `outageOf`: why the proxy itself keeps a provider out now; default: it keeps none. */
  constructor(outageOf: (provider: string) => TargetDrain | undefined = () => undefined) {
    this.#outageOf = outageOf;
  }

  /** The state of a target; one that `keep` does not know has a state for as long as its object lives. */
  of(asked: RememberedTarget): TargetState {
    const target = asked.original ?? asked;
    const state = this.#byTarget.get(target);
    return state ?? this.#remember(target, new TargetState());
  }

  /** All that operators have set. */
  get drains(): Iterable<TargetDrain> {
    return this.#drains.values();
  }

  /** The drain that keeps a target out now; undefined: it may be asked. Of one without a model, whether its provider is out. */
  drainOf({ upstream, model }: NamedTarget): TargetDrain | undefined {
    return this.#drains.of(upstream.name, model) ?? this.#outageOf(upstream.name);
  }

  /** Some models of the provider are out, so it must be known which one is asked. */
  drainsModelsOf(provider: string): boolean {
    return this.#drains.hasModelsOf(provider);
  }

  /**
   * From now on there are these targets, by provider and by model, and operators have taken out those in `drains`. What is known of a target
   * with the same provider, origin and model stays; others are forgotten.
   */
  keep(targets: ReadonlyMap<string, ReadonlyMap<string, RememberedTarget>>, drains: TargetDrains = this.#drains): void {
    this.#drains = drains;
    // The object is unchanged when only rules or keys have changed.
    if (targets === this.#targets) return;
    this.#targets = targets;
    const known = new Map<string, Map<string, KnownTarget>>();
    for (const models of targets.values()) {
      for (const target of models.values()) {
        const { upstream, model } = target;
        const place = `${upstream.name}\n${upstream.origin}`;
        const there = known.get(place) ?? new Map<string, KnownTarget>();
        known.set(place, there);
        const before = there.get(model) ?? this.#known.get(place)?.get(model);
        const state = this.#remember(target, before?.state ?? this.of(target));
        if (upstream.learnsLimits === false) state.quota.forget();
        state.keep(upstream.credentials?.remembered);
        there.set(model, before ?? { provider: upstream.name, model, state });
      }
    }
    this.#known = known;
  }

  /** Those of the last `keep`. */
  *known(): Generator<KnownTarget, void> {
    for (const models of this.#known.values()) yield* models.values();
  }

  #remember(target: RememberedTarget, state: TargetState): TargetState {
    this.#byTarget.set(target, state);
    return state;
  }
}
