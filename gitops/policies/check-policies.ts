// Asks the policies of a directory of its configuration, and says what breaks them: at the entry, with the place of the policy.

import { titleOf } from '../../domain/policies/kinds.ts';
import { type Answer, askPolicies, type Finding } from '../../domain/policies/policy.ts';
import { quote } from '../../schemas/validation/path.ts';
import { didYouMean } from '../../schemas/validation/suggest.ts';
import type { Examined } from '../assemble/examined.ts';
import { mostProblems, type Problem, problemOfFile } from '../read/problem.ts';
import { type Gathered, gatherFacts } from './gather-facts.ts';
import type { PlacedPolicy } from './read-policies.ts';

/** Sections whose entries are named by their keys. */
const namedByKey: ReadonlySet<unknown> = new Set(['providers', 'identities']);
/** Of one policy; the others are counted. */
const mostBreaches = 20;

/** Breaches of policies with the severity error, and all else: breaches of the others, and notes. */
export interface PolicyFindings {
  readonly problems: Problem[];
  readonly warnings: Problem[];
}

/** Never throws. `today`: YYYY-MM-DD. */
export function checkPolicies(policies: readonly PlacedPolicy[], examined: Examined, today?: string): PolicyFindings {
  const findings: PolicyFindings = { problems: [], warnings: [] };
  if (policies.length === 0) return findings;
  const gathered = gatherFacts(examined, today);
  const answers = askPolicies(
    policies.map(({ compiled }) => compiled),
    gathered.facts,
    today,
  );
  for (const [index, answer] of answers.entries()) {
    const placed = policies[index];
    if (placed !== undefined) say(answer, placed, { gathered, examined, findings });
  }
  return { problems: bound(findings.problems), warnings: bound(findings.warnings) };
}

function bound(problems: readonly Problem[]): Problem[] {
  const more = problems.length - mostProblems;
  if (more <= 0) return [...problems];
  return [...problems.slice(0, mostProblems), problemOfFile('…', `and ${more} more about policies`)];
}

interface Saying {
  readonly gathered: Gathered;
  readonly examined: Examined;
  readonly findings: PolicyFindings;
}

function say(answer: Answer, placed: PlacedPolicy, { gathered, examined, findings }: Saying): void {
  const { policy } = answer.policy;
  const breaches = answer.findings.filter(({ is }) => is === 'breach');
  const [unknown] = answer.findings.filter(({ is }) => is === 'unknown');
  const to = policy.severity === 'error' ? findings.problems : findings.warnings;
  for (const breach of breaches.slice(0, mostBreaches)) to.push(sayBreach(breach, placed, gathered, examined));
  if (breaches.length > mostBreaches)
    to.push(placed.problem([], `is broken by ${breaches.length - mostBreaches} more than are listed`));
  if (answer.isTooDear) {
    findings.problems.push(
      placed.problem(
        ['expect'],
        'takes too many steps with this configuration, so it was not asked to its end: narrow it with where, or compare members with == in the loop, which is looked up',
      ),
    );
    return;
  }
  if (unknown !== undefined) {
    const count = answer.findings.length - breaches.length;
    const who = `${quote(titleOf(unknown.entry) || policy.for)}${count > 1 ? ` and ${count - 1} more` : ''}`;
    const message = `is not asked of ${who}: a variable in it is not set here`;
    findings.warnings.push({ ...placed.problem(['expect'], message), environmental: true });
  }
  if (answer.asked === 0) {
    const what = policy.where === undefined ? `there is no ${policy.for}` : `where holds for no ${policy.for}`;
    findings.warnings.push({ ...placed.problem([], `is asked of nothing: ${what}`), isNote: true });
  }
  for (const index of answer.idle) findings.warnings.push(sayIdle(index, answer, placed, gathered));
}

function sayBreach(
  { entry, message }: Finding,
  { compiled, place, problem }: PlacedPolicy,
  { places }: Gathered,
  { sources }: Examined,
): Problem {
  const { name } = compiled.policy;
  const said = `${message} (policy ${name}, ${place})`;
  const path = places.get(entry) ?? compiled.asks;
  const isDeclared = path.length > 0 && (places.has(entry) || sources.isDeclared(path));
  const found = isDeclared
    ? sources.problem(path, said, path.length === 2 && namedByKey.has(path[0]) ? 'key' : 'value')
    : problem([], message);
  return { ...found, policy: name };
}

function sayIdle(index: number, { policy }: Answer, { problem }: PlacedPolicy, { facts }: Gathered): Problem {
  const { for: kind, except } = policy.policy;
  const { entry = '' } = except[index] ?? {};
  const titles = kind === 'config' ? [] : facts[kind].map(titleOf);
  const isThere = titles.some((title) => title.toLowerCase() === entry.toLowerCase());
  const why = isThere
    ? `${quote(entry)} needs no exception any more; remove it`
    : `there is no ${kind} ${quote(entry)}${didYouMean(entry, titles) || '; remove it'}`;
  return problem(['except', index, 'entry'], why);
}
