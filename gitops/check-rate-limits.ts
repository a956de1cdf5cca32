// Checks of rate limits that the schema cannot express: valid subjects, no duplicate rule, templates only with their entitlement.
import { periodLabel } from '../schemas/rules/period.ts';
import { declaredRules, ruleKey } from '../schemas/rules/rule.ts';
import { normaliseSubject } from '../schemas/rules/scope.ts';
import { foldCase, parseSelector } from '../schemas/selector.ts';
import type { Config, RateLimits } from '../schemas/types.ts';
import type { Path } from '../schemas/validation/path.ts';
import { didYouMean } from '../schemas/validation/suggest.ts';
import { valueAt } from '../schemas/validation/value-at.ts';
import type { Problem } from './problem.ts';
import type { Sources } from './sources.ts';

/** The problem of a template without its entitlement. */
export const templateProblem =
  'needs the entitlement quota_templates (GATEWAY_ENTITLEMENTS); it never falls back to a shared counter';

/** With more rules, listing and metrics become slow; matching does not. */
const mostRules = 100_000;
/** Limits the number of warnings, because each suggestion costs time. */
const enough = 100;
const subjectKeys = { user_paths: 'path', providers: 'name', models: 'model' } as const;

/** Checks every rule. `providers` is undefined when they could not be read. */
export function checkRateLimits(
  config: RateLimits,
  providers: Config['providers'] | undefined,
  sources: Sources,
): { problems: Problem[]; warnings: Problem[] } {
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  const count = declaredRules(config).length;
  if (count > mostRules) {
    const message = `has ${count} limits; at most ${mostRules} are supported`;
    return { problems: [sources.problem(['rate_limits'], message, 'key')], warnings };
  }
  const subjects = checkSubjects();
  checkTwins();
  if (providers !== undefined) {
    warnings.push(...unknownProviders(config, Object.keys(providers), sources));
    checkModels(providers);
  }
  return { problems, warnings };

  /** The comparable subject of every entry, by section and index; entries without one have been reported. */
  function checkSubjects(): Map<string, string> {
    const found = new Map<string, string>();
    for (const rule of declaredRules(config)) {
      const [section, entry, , index] = rule.place;
      const path = ['rate_limits', section, entry, subjectKeys[section]];
      if (index !== 0 || sources.isUnknown(path)) continue;
      const { subject, problem } = normaliseSubject(rule.scope, rule.subject);
      if (problem === undefined) found.set(`${section} ${entry}`, subject);
      else problems.push(sources.problem(path, `${sources.quoted(path)} ${problem}`));
    }
    return found;
  }

  function checkTwins(): void {
    const seen = new Map<string, Path>();
    for (const { scope, periodSeconds, place } of declaredRules(config)) {
      const comparable = subjects.get(`${place[0]} ${place[1]}`);
      if (comparable === undefined) continue;
      const key = ruleKey(scope, comparable, periodSeconds);
      const path = ['rate_limits', ...place];
      const first = seen.get(key);
      if (first === undefined) seen.set(key, path);
      else {
        const [section, entry] = place;
        const subject = sources.quoted(['rate_limits', section, entry, subjectKeys[section]]);
        const rule = `${scope.replace('_', ' ')} ${subject} (${periodLabel(periodSeconds)})`;
        problems.push(sources.problem(path, `the rule for ${rule} is already declared in ${sources.place(first)}`));
      }
    }
  }

  /** A warning, not a problem: a provider may list the model later. */
  function checkModels(listed: Config['providers']): void {
    const names = new Set(Object.keys(listed).map(foldCase));
    const qualified = Object.entries(listed).flatMap(([name, { models }]) => models.map((model) => `${name}/${model}`));
    const bare = Object.values(listed).flatMap(({ models }) => models);
    const known = { qualified: new Set(qualified.map(foldCase)), bare: new Set(bare.map(foldCase)) };
    config.models.forEach(({ model }, index) => {
      const path = ['rate_limits', 'models', index, 'model'];
      const subject = foldCase(model);
      const { provider } = parseSelector(subject) ?? {};
      const isQualified = provider !== undefined && names.has(provider);
      if ((isQualified ? known.qualified : known.bare).has(subject)) return;
      if (sources.isUnknown(path) || !subjects.has(`models ${index}`) || warnings.length >= 2 * enough) return;
      const guess = didYouMean(model, isQualified ? qualified : [...bare, ...qualified]);
      const message = `no provider lists the model ${sources.quoted(path)}, so the rule matches nothing${guess}`;
      warnings.push(sources.problem(path, message));
    });
  }
}

/** Warnings about rules for providers that are not configured; the first ones. */
function unknownProviders(config: RateLimits, names: string[], sources: Sources): Problem[] {
  const known = new Set(names.map(foldCase));
  const warnings: Problem[] = [];
  config.providers.forEach(({ name }, index) => {
    if (known.has(foldCase(name)) || warnings.length >= enough) return;
    const path = ['rate_limits', 'providers', index, 'name'];
    if (sources.isUnknown(path)) return;
    const guess = didYouMean(name, names);
    const message = `there is no provider ${sources.quoted(path)}, so the rule matches nothing${guess}`;
    warnings.push(sources.problem(path, message));
  });
  return warnings;
}

/**
 * `per_child: true` without the entitlement is fatal (spec, Errors: there is no fallback to a shared counter). Checks the value before
 * validation, so that another mistake in the same file does not hide it.
 */
export function checkTemplates(written: unknown, entitlements: ReadonlySet<string>, sources: Sources): Problem[] {
  const entries = valueAt(written, ['rate_limits', 'user_paths']);
  if (entitlements.has('quota_templates') || !Array.isArray(entries)) return [];
  return entries.flatMap((entry: unknown, index) => {
    if (valueAt(entry, ['per_child']) !== true) return [];
    return [{ ...sources.problem(['rate_limits', 'user_paths', index, 'per_child'], templateProblem), fatal: true }];
  });
}
