// What a replay cannot know, as sentences: nothing of it is guessed in silence.
import type { TrafficHead } from '../../../domain/records/traffic.ts';
import type { AssembledConfig } from '../../../gitops/assemble/assembled.ts';
import type { ImpactReport } from './report.ts';
import { count, percent } from './say.ts';

export function notKnown(
  impact: ImpactReport,
  { before, after }: { readonly before: AssembledConfig; readonly after: AssembledConfig },
  { share, hashed }: TrafficHead,
): string[] {
  const { guessed, moved, traffic } = impact;
  const hasBudgets = after.budgets.enabled && after.budgets.user_paths.length + after.budgets.labels.length > 0;
  const said: [boolean, string][] = [
    [traffic.requests === 0, 'there was no traffic in this time, so nothing is known of what the change does'],
    [
      guessed > 0,
      `the tokens of ${count(guessed, 'answer')}, which no provider gave, or another model: they are taken to be as recorded, else as those of the same user path and model`,
    ],
    [moved.length > 0, 'how fast another provider answers, and which of its calls fail'],
    [
      true,
      'rules, budgets, aliases and keys that operators have set outside of git: both configurations are replayed without them',
    ],
    [true, 'what clients do after another answer: a client that is refused may come again'],
    [hasBudgets, 'what was spent before the first request: budgets begin empty'],
    [traffic.requests > 0, 'what was used before the first request: the windows of rate limits begin empty, too'],
    [!before.cache.enabled && after.cache.enabled, 'which answers the cache would give: bodies are not recorded here'],
    [
      share < 1,
      `the traffic is a sample of ${percent(share)}: every request stands for ${Math.round(1 / share)}, at the same moment`,
    ],
    [hashed, 'the names of user paths, keys and labels that stand in neither configuration: they are hashes'],
  ];
  return said.flatMap(([holds, sentence]) => (holds ? [sentence] : []));
}
