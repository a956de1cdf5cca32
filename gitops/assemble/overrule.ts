// Replaces rules of the files with rules of environment variables, with a warning for each (design section 4, Environment versus YAML).
import { normaliseSubject } from '../../domain/rules/scope.ts';
import { foldCase } from '../../domain/selector.ts';
import type { Config, RateLimits } from '../../schemas/types.ts';
import { type Path, quote } from '../../schemas/validation/path.ts';
import { didYouMean } from '../../schemas/validation/suggest.ts';
import { type Problem, problemOfFile } from '../read/problem.ts';
import type { EnvironmentRules, GivenRules } from './environment-rules.ts';
import type { Sources } from './sources.ts';

/**
 * Changes `config`: a subject that a variable names loses all entries of the files; those of the variable are appended. Gives the
 * warnings. `isDeclared` says whether the files have a section `rate_limits`.
 */
export function overrule(
  config: RateLimits,
  rules: EnvironmentRules,
  sources: Sources,
  isDeclared: boolean,
): Problem[] {
  const warnings: Problem[] = [];
  const owners = new Map(rules.given.map(({ scope, subject, variable }) => [`${scope} ${subject}`, variable]));
  const isKept = (scope: GivenRules['scope'], subject: string, path: Path): boolean => {
    const { subject: comparable } = normaliseSubject(scope, subject);
    const variable = owners.get(`${scope} ${comparable}`);
    if (variable === undefined) return true;
    warnings.push(sources.problem(path, `is replaced, with all its limits, by the environment variable ${variable}`));
    return false;
  };
  const given = (wanted: GivenRules['scope']): GivenRules[] => rules.given.filter(({ scope }) => scope === wanted);

  const userPaths = config.user_paths.filter(({ path }, index) => {
    return isKept('user_path', path, ['rate_limits', 'user_paths', index, 'path']);
  });
  const providers = config.providers.filter(({ name }, index) => {
    return isKept('provider', name, ['rate_limits', 'providers', index, 'name']);
  });
  config.user_paths = [...userPaths, ...given('user_path').flatMap(toUserPaths)];
  config.providers = [
    ...providers,
    ...given('provider').map(({ subject, limits }) => ({ name: subject, limits: limits.map(({ limit }) => limit) })),
  ];
  if (isDeclared) warnings.push(...overruleSwitch('rate_limits', config.enabled, rules, sources));
  config.enabled = rules.enabled ?? config.enabled;
  return warnings;
}

/** A variable may hold limits with and without `per_child`, an entry only one kind: then the variable becomes two entries. */
function toUserPaths({ subject, limits }: GivenRules): RateLimits['user_paths'] {
  return [false, true].flatMap((wanted) => {
    const chosen = limits.filter(({ perChild }) => perChild === wanted).map(({ limit }) => limit);
    return chosen.length === 0 ? [] : [{ path: subject, per_child: wanted, limits: chosen }];
  });
}

const switches = { rate_limits: ['RATE_LIMITS_ENABLED', 'rules'], budgets: ['BUDGETS_ENABLED', 'budgets'] } as const;

/** Warnings about the switch of a section, where a variable decides over it, or should. `declared`: as in the files. */
export function overruleSwitch(
  section: keyof typeof switches,
  declared: boolean,
  { enabled, given }: { readonly enabled: boolean | undefined; readonly given: readonly { variable: string }[] },
  sources: Sources,
): Problem[] {
  const path = [section, 'enabled'];
  const [variable, noun] = switches[section];
  const [first] = given;
  if (enabled === undefined && !declared && first !== undefined) {
    const message = `is false, so the ${noun} of ${first.variable} and its like are not enforced either; ${variable} decides over it`;
    return [sources.problem(path, message)];
  }
  if (enabled === undefined || sources.written(path) !== !enabled) return [];
  return [sources.problem(path, `is overruled by the environment variable ${variable}`)];
}

/** A warning for every provider that a variable names and no file declares. */
export function checkGivenProviders(given: readonly GivenRules[], providers: Config['providers']): Problem[] {
  const names = Object.keys(providers);
  const known = new Set(names.map(foldCase));
  return given.flatMap(({ scope, subject, variable }) => {
    if (scope !== 'provider' || known.has(subject)) return [];
    const meant = names.find((name) => foldCase(name).replaceAll('_', '-') === subject);
    const hint =
      meant === undefined
        ? didYouMean(subject, names)
        : `; underscores become hyphens, so limit ${quote(meant)} in the YAML files`;
    return [problemOfFile(variable, `there is no provider ${quote(subject)}, so its limits match nothing${hint}`)];
  });
}

/** One warning when rules have token caps but tokens are not counted (spec, Errors). */
export function checkTokenCaps(config: RateLimits, { usageEnabled }: EnvironmentRules): Problem[] {
  const entries = [...config.user_paths, ...config.providers, ...config.models];
  const hasTokenCaps = entries.some(({ limits }) => limits.some(({ max_tokens }) => max_tokens !== undefined));
  if (usageEnabled || !config.enabled || !hasTokenCaps) return [];
  return [problemOfFile('USAGE_ENABLED', 'is false, so no token is counted and no max_tokens is enforced')];
}
