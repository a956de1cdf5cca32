// Rules that do not hold for a request, although an operator may expect it.
import type { MergedRule } from '../../domain/rules/merge.ts';
import { ruleTitle } from '../../domain/rules/rule.ts';
import { explainUnenforced } from '../../domain/rules/unenforced.ts';
import { foldCase } from '../../domain/selector.ts';
import { foldUserPath, isWithin } from '../../domain/user-path.ts';
import { type Nearness, nearness } from '../../schemas/validation/nearness.ts';
import type { InForce } from '../snapshot/in-force.ts';
import type { Target } from '../snapshot/snapshot.ts';
import type { NearMiss, NearMissReason } from './explanation.ts';
import { pathOf, ruleSource } from './matching-rules.ts';
import { type ExplainSources, type Question, sees } from './question.ts';

/** The subjects of a request that rules are compared with. */
export interface Subjects {
  readonly userPath: string;
  readonly model: string;
  readonly targets: readonly Target[];
}

/** How names differ, for a sentence that begins with "it". */
export const differences: Readonly<Record<Nearness, string>> = {
  letter_case: 'differs in letter case',
  separator: 'differs in "_" for "-"',
  spelling: 'differs in one or two characters',
};

interface Missed {
  readonly reason: NearMissReason;
  readonly says: string;
}

/** The first ones, in the order of rules, of those that the operator may see. */
export function nearRules(
  subjects: Subjects,
  question: Question,
  { inForce }: Pick<ExplainSources, 'inForce'>,
  most: number,
): NearMiss[] {
  const found: NearMiss[] = [];
  const names = targetNames(subjects.targets);
  const userPath = foldUserPath(subjects.userPath);
  for (const rule of inForce.rules) {
    if (found.length >= most) break;
    if (!sees(question, pathOf(rule))) continue;
    const missed = rule.scope === 'user_path' ? missedPath(rule, userPath) : missedName(rule, subjects, names);
    const miss = missed === 'holds' ? unenforced(rule, inForce) : missed;
    if (miss !== undefined) found.push({ kind: 'rule', name: ruleTitle(rule), ...miss, ...ruleSource(rule, inForce) });
  }
  return found;
}

function unenforced(rule: MergedRule, { prerequisites }: InForce): Missed | undefined {
  const reason = explainUnenforced(rule, prerequisites);
  return reason === undefined ? undefined : { reason: 'not_enforced', says: `it is not enforced: ${reason}` };
}

/** By the scope of rules that may name them. */
function targetNames(targets: readonly Target[]): Readonly<Record<'provider' | 'model', readonly string[]>> {
  const provider = targets.map(({ upstream }) => foldCase(upstream.name));
  const model = targets.flatMap(({ upstream, model: id }) => [foldCase(`${upstream.name}/${id}`), foldCase(id)]);
  return { provider: [...new Set(provider)], model: [...new Set(model)] };
}

function missedPath({ matchSubject, perChild }: MergedRule, userPath: string): Missed | 'holds' | undefined {
  if (isWithin(userPath, matchSubject)) {
    if (!perChild || userPath !== matchSubject) return 'holds';
    return { reason: 'template_itself', says: 'it counts for each path below it, and not for the path itself' };
  }
  const [rule, asked] = [matchSubject.split('/'), userPath.split('/')];
  if (rule.length > asked.length) return undefined;
  const other = rule.findIndex((segment, index) => segment !== asked[index]);
  if (rule.some((segment, index) => index > other && segment !== asked[index])) return undefined;
  return missedSegment(rule[other] ?? '', asked[other] ?? '');
}

function missedSegment(segment: string, asked: string): Missed | undefined {
  const near = nearness(segment, asked);
  const isPart = segment !== '' && (asked.startsWith(segment) || segment.startsWith(asked));
  const compared = `its segment ${JSON.stringify(segment)} is not ${JSON.stringify(asked)}`;
  if (near !== undefined && !isPart) return { reason: near, says: `${compared}: it ${differences[near]}` };
  return isPart ? { reason: 'other_segment', says: `${compared}: paths are compared by whole segments` } : undefined;
}

function missedName(
  { scope, matchSubject, obstacle }: MergedRule,
  { model }: Subjects,
  names: ReturnType<typeof targetNames>,
): Missed | 'holds' | undefined {
  const all = scope === 'provider' ? names.provider : names.model;
  if (all.includes(matchSubject)) return 'holds';
  if (obstacle !== 'unknown_subject') return undefined;
  if (scope === 'model' && matchSubject === foldCase(model)) {
    return { reason: 'rule_on_alias', says: 'its subject is an alias: limit the models that it leads to' };
  }
  for (const name of all) {
    const near = nearness(matchSubject, name);
    if (near !== undefined)
      return {
        reason: near,
        says: `nothing has the name of its subject: ${JSON.stringify(name)} ${differences[near]}`,
      };
  }
  return undefined;
}
