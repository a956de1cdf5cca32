// Runs traffic through two configurations side by side, and says what the second would have done otherwise.
import type { TrafficLine } from '../../domain/records/traffic.ts';
import type { LiveSettings, SpentBefore } from '../../domain/replays/traffic-head.ts';
import type { AssembledConfig } from '../../gitops/assemble/assembled.ts';
import type { Counting } from '../limits/counted-rules.ts';
import { Impact } from './impact.ts';
import { Replayer } from './replayer.ts';
import { takeSpent } from './spent-before.ts';
import { Typical } from './typical.ts';
import { createWorld, type World } from './world.ts';

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
  /** What operators have set, in both configurations. */
  readonly live: LiveSettings | undefined;
  /** Requests that began before only fill windows. Unix milliseconds. */
  readonly fromMs: number;
}

/** An impact; and what it would be if answers that were not recorded were half, or twice, as long as is typical. */
export interface ReplayedImpact {
  readonly impact: Impact;
  /** Refusals after; absent: no cap counts answers. */
  readonly range?: readonly [least: number, most: number];
}

/** More take an hour. */
const mostCopies = 50_000_000;
const halfAndDouble = [0.5, 2] as const;

/** Takes the lines of one recording in the order in which they began. */
export class Replay {
  readonly #impact = new Impact();
  readonly #typical = new Typical();
  readonly #before: Replayer;
  readonly #after: Replayer;
  /** With other guesses. */
  readonly #spread: readonly { readonly replayer: Replayer; refused: number }[];
  readonly #settings: ReplaySettings;
  #copies = 0;

  /** Throws for a configuration that cannot be compiled. */
  constructor({ before, after }: ReplayedConfigs, settings: ReplaySettings) {
    const replayer = (config: AssembledConfig, scale: number): Replayer =>
      new Replayer(createWorld(config, settings), { typical: this.#typical, countingAt: settings.countingAt, scale });
    this.#settings = settings;
    this.#before = replayer(before, 1);
    this.#after = replayer(after, 1);
    const isSpread = this.#after.world.countsAnswers;
    this.#spread = isSpread ? halfAndDouble.map((scale) => ({ replayer: replayer(after, scale), refused: 0 })) : [];
  }

  get before(): World {
    return this.#before.world;
  }

  get after(): World {
    return this.#after.world;
  }

  /** The longest window of a rule. Milliseconds. */
  get longestMs(): number {
    const rules = [this.before, this.after].flatMap(({ limiter }) => limiter.rules());
    return rules.reduce((longest, { periodSeconds }) => Math.max(longest, periodSeconds * 1_000), 0);
  }

  /** What budgets had spent before `beginMs` (Unix milliseconds); gives the titles of those of which it is not known. */
  begin(spent: readonly SpentBefore[], beginMs: number): string[] {
    const worlds = [this.#before, this.#after, ...this.#spread.map(({ replayer }) => replayer)];
    return [...new Set(worlds.flatMap(({ world }) => takeSpent(world, spent, beginMs)))];
  }

  take(line: TrafficLine): void {
    const { weight, fromMs } = this.#settings;
    const isCounted = line.at >= fromMs;
    const copies = copiesOf((line.n ?? 1) * weight, line.id);
    this.#copies += copies;
    if (this.#copies > mostCopies)
      throw new RangeError(
        `the traffic stands for more than ${mostCopies} requests: take less time, or a larger share`,
      );
    for (let copy = 0; copy < copies; copy += 1) {
      const before = this.#before.decide(line);
      const after = this.#after.decide(line, before.balanced);
      if (isCounted) this.#impact.note(line, before.verdict, after.verdict);
      for (const each of this.#spread) {
        const { verdict } = each.replayer.decide(line, before.balanced);
        if (isCounted && verdict.outcome === 'refused') each.refused += 1;
      }
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
