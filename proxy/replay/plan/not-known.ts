// What a replay cannot know, as sentences: nothing of it is guessed in silence.
import type { TrafficHead } from '../../../domain/replays/traffic-head.ts';
import { nameSome } from '../../../gitops/diff/config-change.ts';
import type { World } from '../world.ts';
import type { ImpactReport } from './report.ts';
import { count, percent } from './say.ts';

/** What a replay was not told. */
export interface Gaps {
  readonly before: World;
  readonly after: World;
  readonly head: TrafficHead;
  readonly isWithoutOverrides: boolean;
  /** The longest window of a limit, and for how long requests had filled it. Milliseconds. */
  readonly longestMs: number;
  readonly warmMs: number;
  /** The titles of budgets whose spend before is not known. */
  readonly unknownBudgets: readonly string[];
}

export function notKnown(impact: ImpactReport, gaps: Gaps): string[] {
  const { head, before, after, longestMs, warmMs, unknownBudgets } = gaps;
  const { guessed, moved, traffic } = impact;
  const said: [boolean, string][] = [
    [traffic.requests === 0, 'there was no traffic in this time, so nothing is known of what the change does'],
    [
      guessed > 0,
      `the tokens of ${count(guessed, 'answer')}, which no provider gave, or another model: they are taken to be as recorded, else as those of the same user path and model`,
    ],
    [moved.length > 0, 'how fast another provider answers, and which of its calls fail'],
    ...overrideGaps(gaps),
    [true, 'what clients do after another answer: a client that is refused may come again'],
    [
      unknownBudgets.length > 0,
      `what was spent before the first request: these budgets begin empty: ${nameSome(unknownBudgets)}`,
    ],
    [
      longestMs > warmMs,
      warmMs === 0
        ? 'what was used before the first request: the windows of rate limits begin empty'
        : `what was used more than ${count(Math.round(warmMs / 60_000), 'minute')} before the first request: longer windows of rate limits begin with less than they had`,
    ],
    [
      !before.snapshot.cache.isEnabled && after.snapshot.cache.isEnabled,
      'which answers the cache would give: bodies are not recorded here',
    ],
    [
      head.share < 1,
      `the traffic is a sample of ${percent(head.share)}: every request stands for ${Math.round(1 / head.share)}, at the same moment`,
    ],
    [head.hashed, 'the names of user paths, keys and labels that stand in neither configuration: they are hashes'],
  ];
  return said.flatMap(([holds, sentence]) => (holds ? [sentence] : []));
}

function overrideGaps({ head: { live }, isWithoutOverrides, after }: Gaps): [boolean, string][] {
  const without = 'both configurations are replayed without them';
  if (isWithoutOverrides)
    return [[true, `what operators have set outside of git: ${without}, as --without-overrides says`]];
  if (live === undefined)
    return [[true, `rules, budgets, aliases and drains that operators have set outside of git: ${without}`]];
  return [
    [
      live.documents.length > 0,
      `when operators set what they have set: it is replayed as it was at ${live.at}, at every moment`,
    ],
    [
      live.left_out !== undefined,
      `${count(live.left_out ?? 0, 'setting')} of operators: the file has hashes, and these cannot be told without names`,
    ],
    [after.problems.length > 0, `what it would do if it could be read: ${nameSome(after.problems)}`],
  ];
}
