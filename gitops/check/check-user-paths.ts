// Warnings about rules and budgets for user paths that do nothing: a cap above that of a parent, a variable for a path that has a hyphen in the files.
import { declaredBudgets, normaliseBudgetSubject } from '../../domain/budgets/budget.ts';
import { budgetPeriodLabel } from '../../domain/budgets/period.ts';
import { periodLabel, periodSeconds } from '../../domain/rules/period.ts';
import { declaredRules } from '../../domain/rules/rule.ts';
import { normaliseSubject } from '../../domain/rules/scope.ts';
import type { Budgets, Limit, RateLimits } from '../../schemas/types.ts';
import { quote } from '../../schemas/validation/path.ts';
import type { GivenRules } from '../assemble/environment-rules.ts';
import { hyphenAdvice, hyphenatedPath } from '../assemble/hyphenated-path.ts';
import type { Sources } from '../assemble/sources.ts';
import { type Problem, problemOfFile } from '../read/problem.ts';

/** Limits the number of warnings. */
const enough = 100;

/** The caps of a user path over one period that will be in force, from a file or a variable. */
interface Placed {
  /** To compare. */
  path: string;
  /** As it is written. */
  shown: string;
  period: string;
  /** One in shadow bounds nothing. */
  isEnforced: boolean;
  /** By name. */
  caps: ReadonlyMap<string, number>;
  /** `file:line:column`, or the name of a variable. */
  place: () => string;
  problem: (cap: string, message: string) => Problem;
}

/**
 * Warnings about caps that are never reached, because a parent has a lower cap over the same period, and about variables that name
 * another path than the files. `config` has the rules and budgets of the files alone.
 */
export function checkUserPaths(
  { rate_limits, budgets }: { readonly rate_limits: RateLimits; readonly budgets: Budgets },
  given: readonly GivenRules[],
  sources: Sources,
): Problem[] {
  const variables = given.filter(({ scope }) => scope === 'user_path');
  const replaced = new Set(variables.map(({ subject }) => subject));
  const declared = limitsOfFiles(rate_limits, sources);
  const rules = [...declared.filter(({ path }) => !replaced.has(path)), ...variables.flatMap(limitsOfVariable)];
  return [
    ...checkCaps(rules),
    ...checkCaps(budgetsOfFiles(budgets, sources)),
    ...checkHyphens(declared, variables),
  ].slice(0, enough);
}

function limitsOfFiles(config: RateLimits, sources: Sources): Placed[] {
  return declaredRules(config).flatMap(({ scope, subject, limit, place }) => {
    if (scope !== 'user_path') return [];
    const { subject: path, shown = '' } = normaliseSubject(scope, subject);
    if (path === undefined) return [];
    const at = ['rate_limits', ...place];
    const problem = (cap: string, message: string): Problem => sources.problem([...at, cap], message);
    return [{ path, shown, ...capsOf(limit), place: () => sources.place(at), problem }];
  });
}

function limitsOfVariable({ variable, subject: path, limits }: GivenRules): Placed[] {
  return limits.map(({ limit }) => {
    const problem = (cap: string, message: string): Problem => problemOfFile(variable, `${cap} ${message}`);
    return { path, shown: path, ...capsOf(limit), place: () => variable, problem };
  });
}

function capsOf(limit: Limit): Pick<Placed, 'period' | 'isEnforced' | 'caps'> {
  const { max_requests: requests, max_tokens: tokens } = limit;
  const caps = new Map<string, number>();
  if (requests !== undefined) caps.set('max_requests', requests);
  if (tokens !== undefined) caps.set('max_tokens', tokens);
  return { period: periodLabel(periodSeconds(limit)), isEnforced: limit.mode === 'enforce', caps };
}

function budgetsOfFiles(budgets: Budgets, sources: Sources): Placed[] {
  return declaredBudgets(budgets).flatMap(({ scope, subject, periodSeconds: seconds, limit, place }): Placed[] => {
    const { subject: path, shown = '' } = normaliseBudgetSubject(scope, subject);
    if (scope !== 'user_path' || path === undefined) return [];
    const at = ['budgets', ...place];
    const problem = (cap: string, message: string): Problem => sources.problem([...at, cap], message);
    const caps = new Map([['amount', limit.amount]]);
    const period = budgetPeriodLabel(seconds);
    return [
      { path, shown, period, isEnforced: limit.mode !== 'shadow', caps, place: () => sources.place(at), problem },
    ];
  });
}

/** A rule or budget holds for everything below its path, a template for each child: both bound those below. */
function checkCaps(rules: readonly Placed[]): Problem[] {
  const warnings: Problem[] = [];
  const byKey = new Map(
    rules.filter(({ isEnforced }) => isEnforced).map((rule) => [`${rule.period} ${rule.path}`, rule]),
  );
  for (const { path, period, caps, problem } of rules) {
    const parents = ancestorsOf(path).flatMap((ancestor) => byKey.get(`${period} ${ancestor}`) ?? []);
    for (const [cap, own] of caps) {
      const [lowest] = parents
        .flatMap((parent) => ({ parent, bound: parent.caps.get(cap) ?? Number.POSITIVE_INFINITY }))
        .filter(({ bound }) => bound < own)
        .sort((a, b) => a.bound - b.bound);
      if (lowest === undefined || warnings.length >= enough) continue;
      const bound = `${lowest.bound} of ${quote(lowest.parent.shown)} (${lowest.parent.place()})`;
      warnings.push(
        problem(cap, `${own} (${period}) is above the ${bound}, which holds here too, so it is never reached`),
      );
    }
  }
  return warnings;
}

/** `/a/b/c` → `/`, `/a`, `/a/b`. */
function ancestorsOf(path: string): string[] {
  if (path === '/') return [];
  const segments = path.split('/').slice(1, -1);
  return ['/', ...segments.map((_, index) => `/${segments.slice(0, index + 1).join('/')}`)];
}

/** A path that a variable names. */
interface NamedPath {
  readonly variable: string;
  /** Normalised. */
  readonly subject: string;
}

/** Warnings about variables that name another path than the files, because the name of a variable cannot have a hyphen. */
export function checkHyphens(
  declared: readonly Pick<Placed, 'path' | 'shown' | 'place'>[],
  variables: readonly NamedPath[],
): Problem[] {
  const paths = new Set(declared.map(({ path }) => path));
  return variables.flatMap(({ variable, subject }) => {
    if (paths.has(subject)) return [];
    const other = declared.find(({ path }) => hyphenatedPath(subject, path) !== undefined);
    if (other === undefined) return [];
    const meant = quote(hyphenatedPath(subject, other.shown) ?? '');
    return [problemOfFile(variable, `limits ${quote(subject)}, not ${meant} of ${other.place()}: ${hyphenAdvice}`)];
  });
}
