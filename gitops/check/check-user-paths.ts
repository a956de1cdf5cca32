// Warnings about rules for user paths that do nothing: a cap above that of a parent, a variable for a path that has a hyphen in the files.
import { periodLabel, periodSeconds } from '../../domain/rules/period.ts';
import { declaredRules } from '../../domain/rules/rule.ts';
import { normaliseSubject } from '../../domain/rules/scope.ts';
import type { Limit, RateLimits } from '../../schemas/types.ts';
import { quote } from '../../schemas/validation/path.ts';
import type { GivenRules } from '../assemble/environment-rules.ts';
import { hyphenAdvice, hyphenatedPath } from '../assemble/hyphenated-path.ts';
import type { Sources } from '../assemble/sources.ts';
import { type Problem, problemOfFile } from '../read/problem.ts';

/** Limits the number of warnings. */
const enough = 100;
const caps = ['max_requests', 'max_tokens'] as const;

/** A limit of a user path that will be in force, from a file or a variable. */
interface Placed {
  /** To compare. */
  path: string;
  /** As it is written. */
  shown: string;
  limit: Limit;
  /** `file:line:column`, or the name of a variable. */
  place: () => string;
  problem: (cap: string, message: string) => Problem;
}

/**
 * Warnings about caps that are never reached, because a parent has a lower cap over the same period, and about variables that name
 * another path than the files. `config` has the rules of the files alone.
 */
export function checkUserPaths(config: RateLimits, given: readonly GivenRules[], sources: Sources): Problem[] {
  const variables = given.filter(({ scope }) => scope === 'user_path');
  const replaced = new Set(variables.map(({ subject }) => subject));
  const declared = limitsOfFiles(config, sources);
  const rules = [...declared.filter(({ path }) => !replaced.has(path)), ...variables.flatMap(limitsOfVariable)];
  return [...checkCaps(rules), ...checkHyphens(declared, variables)].slice(0, enough);
}

function limitsOfFiles(config: RateLimits, sources: Sources): Placed[] {
  return declaredRules(config).flatMap(({ scope, subject, limit, place }) => {
    if (scope !== 'user_path') return [];
    const { subject: path, shown = '' } = normaliseSubject(scope, subject);
    if (path === undefined) return [];
    const at = ['rate_limits', ...place];
    const problem = (cap: string, message: string): Problem => sources.problem([...at, cap], message);
    return [{ path, shown, limit, place: () => sources.place(at), problem }];
  });
}

function limitsOfVariable({ variable, subject: path, limits }: GivenRules): Placed[] {
  return limits.map(({ limit }) => {
    const problem = (cap: string, message: string): Problem => problemOfFile(variable, `${cap} ${message}`);
    return { path, shown: path, limit, place: () => variable, problem };
  });
}

/** A rule holds for everything below its path, a template for each child: both bound the rules below. A rule in shadow bounds nothing. */
function checkCaps(rules: readonly Placed[]): Problem[] {
  const warnings: Problem[] = [];
  const enforced = rules.filter(({ limit }) => limit.mode === 'enforce');
  const byKey = new Map(enforced.map((rule) => [`${periodSeconds(rule.limit)} ${rule.path}`, rule]));
  for (const { path, limit, problem } of rules) {
    const seconds = periodSeconds(limit);
    const parents = ancestorsOf(path).flatMap((ancestor) => byKey.get(`${seconds} ${ancestor}`) ?? []);
    for (const cap of caps) {
      const own = limit[cap] ?? 0;
      const [lowest] = parents
        .filter((parent) => (parent.limit[cap] ?? Number.POSITIVE_INFINITY) < own)
        .sort((a, b) => (a.limit[cap] ?? 0) - (b.limit[cap] ?? 0));
      if (lowest === undefined || warnings.length >= enough) continue;
      const parent = `${lowest.limit[cap]} of ${quote(lowest.shown)} (${lowest.place()})`;
      const period = periodLabel(seconds);
      warnings.push(
        problem(cap, `${own} (${period}) is above the ${parent}, which holds here too, so it is never reached`),
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
