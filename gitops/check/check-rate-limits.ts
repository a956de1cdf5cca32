// Checks of rate limits that the schema cannot express: valid subjects, no duplicate rule, templates only with their entitlement.
import { periodLabel } from '../../domain/rules/period.ts';
import { declaredRules, ruleKey } from '../../domain/rules/rule.ts';
import { normaliseSubject } from '../../domain/rules/scope.ts';
import type { RateLimits } from '../../schemas/types.ts';
import type { Path } from '../../schemas/validation/path.ts';
import { valueAt } from '../../schemas/validation/value-at.ts';
import { type Part, problemIn, type Sources } from '../assemble/sources.ts';
import type { KnownNames } from '../assemble/written-aliases.ts';
import type { Problem } from '../read/problem.ts';
import { unknownModels, unknownProviders } from './check-rule-subjects.ts';

/** The problem of a template without its entitlement. */
export const templateProblem =
  'needs the entitlement quota_templates (GATEWAY_ENTITLEMENTS); it never falls back to a shared counter';

/** With more rules, listing and metrics become slow; matching does not. */
const mostRules = 100_000;
const subjectKeys = { user_paths: 'path', providers: 'name', models: 'model' } as const;

/** Checks every rule. */
export function checkRateLimits(
  config: RateLimits,
  known: KnownNames,
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
  if (known.areComplete) {
    warnings.push(...unknownProviders(config, known, sources), ...unknownModels(config, known, sources));
  }
  return { problems, warnings };

  /**
   * The comparable subject of every entry, by section and index. Entries without one have been reported, and entries with the subject
   * of another file: one file has all limits of a subject.
   */
  function checkSubjects(): Map<string, string> {
    const found = new Map<string, string>();
    const firsts = new Map<string, Path>();
    for (const rule of declaredRules(config)) {
      const [section, entry, , index] = rule.place;
      const path = ['rate_limits', section, entry, subjectKeys[section]];
      if (index !== 0 || sources.isUnknown(path)) continue;
      const { subject, problem } = normaliseSubject(rule.scope, rule.subject);
      if (problem !== undefined) {
        problems.push(sources.problem(path, `${sources.quoted(path)} ${problem}`));
        continue;
      }
      const first = firsts.get(`${section} ${subject}`);
      if (first === undefined) firsts.set(`${section} ${subject}`, path);
      if (first === undefined || sources.file(first) === sources.file(path)) found.set(`${section} ${entry}`, subject);
      else problems.push(sources.problem(path, sayOtherFile(rule.scope, path, first, sources)));
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
        const other = sources.quoted([...first.slice(0, 3), subjectKeys[section]]);
        const spelled = other === subject ? '' : ` as ${other}`;
        problems.push(
          sources.problem(path, `the rule for ${rule} is already declared${spelled} in ${sources.place(first)}`),
        );
      }
    }
  }
}

function sayOtherFile(scope: string, path: Path, first: Path, sources: Sources): string {
  const kind = scope.replace('_', ' ');
  const named = `the ${kind} ${sources.quoted(path)} has limits in ${sources.place(first)} already`;
  return `${named}; keep all limits of one ${kind} in one file`;
}

/**
 * `per_child: true` without the entitlement is fatal (spec, Errors: there is no fallback to a shared counter). Checks the values before
 * validation, so that another mistake in the same file does not hide it.
 */
export function checkTemplates(parts: readonly Part[], entitlements: ReadonlySet<string>): Problem[] {
  if (entitlements.has('quota_templates')) return [];
  const sections = ['rate_limits', 'budgets'].flatMap((section) => parts.map((part) => ({ part, section })));
  return sections.flatMap(({ part, section }) => {
    const entries = valueAt(part.value, [section, 'user_paths']);
    if (!Array.isArray(entries)) return [];
    return entries.flatMap((entry: unknown, index) => {
      if (valueAt(entry, ['per_child']) !== true) return [];
      const path = [section, 'user_paths', index, 'per_child'];
      return [{ ...problemIn({ part, path }, templateProblem), fatal: true }];
    });
  });
}
