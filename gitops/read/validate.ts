// Validates a document against the JSON Schemas and fills in the defaults. Each mistake becomes a sentence with its place.
import rateLimits from '../../schemas/config/rate-limits.schema.json' with { type: 'json' };
import type { BudgetLimit, Config, Limit } from '../../schemas/types.ts';
import { explain, type Sentence } from '../../schemas/validation/explain.ts';
import { budgetList, config as check, limitList } from '../../schemas/validation/generated/config.js';
import { formatPath } from '../../schemas/validation/path.ts';
import { complaintsOf } from '../../schemas/validation/validator.ts';
import { pathKey } from './expand.ts';
import type { ParsedFile } from './parse.ts';
import { isSecret, mostProblems, type Problem } from './problem.ts';
import { yamlWording } from './yaml-wording.ts';

const providerName = new RegExp(rateLimits.$defs.provider_limits.properties.name.pattern);

/** In a variable `per_child` is a member of the limit, because no entry encloses it. */
type GivenLimits = (Limit & { per_child: boolean })[];
type GivenBudgets = (BudgetLimit & { per_child: boolean })[];

/** Schema keywords about the form of a string; they cannot be checked while a variable in it is unknown. */
const formWords = new Set(['enum', 'pattern', 'minLength', 'maxLength', 'x-unit']);

/** The configuration of an empty document: every default. */
export function defaultConfig(): Config {
  const value: unknown = {};
  if (!check(value)) throw new Error('the defaults of the schemas contradict the schemas');
  return value;
}

/**
 * Validates one expanded document and writes the defaults into it. `unknown` holds the paths of strings whose text is unknown. One
 * problem per mistake, but at most `mostProblems`: `unlisted` counts the rest. A top-level key that is not `unsound` fits the schemas.
 */
export function validate(
  parsed: ParsedFile,
  value: unknown,
  unknown: ReadonlySet<string>,
): { problems: Problem[]; unlisted: number; unsound: Set<string> } {
  if (check(value)) return { problems: [], unlisted: 0, unsound: new Set() };
  const complaints = complaintsOf(check.errors, value).filter(
    ({ error, path }) => !(formWords.has(error.keyword) && unknown.has(pathKey(path))),
  );
  // A text with a variable where a list or a number belongs has been reported already.
  const sentences = explain(
    complaints.filter(({ path }) => !unknown.has(pathKey(path))),
    { source: parsed.value, wording: yamlWording, isHidden: isSecret },
  );
  const problems = sentences.slice(0, mostProblems).map(({ path, part, message }) => {
    return { file: parsed.file, ...parsed.locate(path, part), path: formatPath(path), message };
  });
  return {
    problems,
    unlisted: sentences.length - problems.length,
    unsound: new Set(complaints.map(({ error, path }) => String(path[0] ?? error.params['additionalProperty']))),
  };
}

/**
 * Validates the list of limits of an environment variable and writes the defaults into it. Sentences quote nothing of the value.
 */
export function validateLimitList(value: unknown): { limits?: GivenLimits; sentences: Sentence[] } {
  if (limitList(value)) return { limits: value, sentences: [] };
  return { sentences: sayComplaints(limitList.errors, value) };
}

/** `validateLimitList` for the budgets of an environment variable. */
export function validateBudgetList(value: unknown): { limits?: GivenBudgets; sentences: Sentence[] } {
  if (budgetList(value)) return { limits: value, sentences: [] };
  return { sentences: sayComplaints(budgetList.errors, value) };
}

function sayComplaints(errors: (typeof limitList)['errors'], value: unknown): Sentence[] {
  return explain(complaintsOf(errors, value), { source: value, wording: yamlWording, isHidden: () => true });
}

/** Whether a rule for a provider of this name is valid in a file. */
export function isProviderName(name: string): boolean {
  return providerName.test(name);
}
