// Runs traffic through two configurations side by side, and says what the second would have done otherwise.
import type { TrafficLine } from '../../domain/records/traffic.ts';
import type { AssembledConfig } from '../../gitops/assemble/assembled.ts';
import type { Counting } from '../limits/counted-rules.ts';
import { Impact } from './impact.ts';
import { Replayer } from './replayer.ts';
import { Typical } from './typical.ts';
import { createWorld } from './world.ts';

export interface ReplayedConfigs {
  /** In force when the traffic was recorded. */
  readonly before: AssembledConfig;
  readonly after: AssembledConfig;
}

export interface ReplaySettings {
  readonly usageEnabled: boolean;
  readonly countingAt: (path: string) => Counting | undefined;
  /** How many requests each request of the traffic stands for: 1 divided by the share that was exported. */
  readonly weight: number;
}

/** An impact; and what it would be if answers that were not recorded were half, or twice, as long as is typical. */
export interface ReplayedImpact {
  readonly impact: Impact;
  /** Refusals after; absent: no cap counts answers. */
  readonly range?: readonly [least: number, most: number];
}

const halfAndDouble = [0.5, 2] as const;

/** Takes the lines of one recording in the order in which they began. */
export class Replay {
  readonly #impact = new Impact();
  readonly #typical = new Typical();
  readonly #before: Replayer;
  readonly #after: Replayer;
  /** With other guesses. */
  readonly #spread: readonly { readonly replayer: Replayer; refused: number }[];
  readonly #weight: number;

  /** Throws for a configuration that cannot be compiled. */
  constructor({ before, after }: ReplayedConfigs, { usageEnabled, countingAt, weight }: ReplaySettings) {
    const replayer = (config: AssembledConfig, scale: number): Replayer => {
      const world = createWorld(config, 'planned', usageEnabled);
      return new Replayer(world, { typical: this.#typical, countingAt, scale });
    };
    this.#weight = weight;
    this.#before = replayer(before, 1);
    this.#after = replayer(after, 1);
    const isSpread = this.#after.world.countsAnswers;
    this.#spread = isSpread ? halfAndDouble.map((scale) => ({ replayer: replayer(after, scale), refused: 0 })) : [];
  }

  take(line: TrafficLine): void {
    const copies = copiesOf((line.n ?? 1) * this.#weight, line.id);
    for (let copy = 0; copy < copies; copy += 1) {
      const before = this.#before.decide(line);
      const after = this.#after.decide(line, before.balanced);
      this.#impact.note(line, before.verdict, after.verdict);
      for (const each of this.#spread)
        if (each.replayer.decide(line, before.balanced).verdict.outcome === 'refused') each.refused += 1;
    }
    this.#typical.note(line);
  }

  end(): ReplayedImpact {
    const counts = [...this.#spread.map(({ refused }) => refused), this.#impact.refusals.after];
    const range = [Math.min(...counts), Math.max(...counts)] as const;
    return { impact: this.#impact, ...(this.#spread.length === 0 ? {} : { range }) };
  }
}

/** Whole copies; a fraction is one for as many of the ids. */
function copiesOf(weight: number, id: string): number {
  const whole = Math.floor(weight);
  const rest = weight - whole;
  if (rest === 0) return whole;
  let hash = 2_166_136_261;
  for (let place = 0; place < id.length; place += 1) hash = Math.imul(hash ^ id.charCodeAt(place), 16_777_619);
  return whole + ((hash >>> 0) / 2 ** 32 < rest ? 1 : 0);
}
