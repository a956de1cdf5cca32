// Reads the rate limits of environment variables: SET_* rules and two switches. Problems name variables, never their values.
import { foldCase } from '../schemas/selector.ts';
import { normaliseUserPath } from '../schemas/user-path.ts';
import { quote } from '../schemas/validation/path.ts';
import { parseFlag, type Variables } from '../schemas/variables.ts';
import { templateProblem } from './check-rate-limits.ts';
import { type GivenLimit, readLimits } from './environment-limits.ts';
import { type Problem, problemOfFile } from './problem.ts';
import { isProviderName } from './validate.ts';

/** The limits one variable gives to one subject. */
export interface GivenRules {
  variable: string;
  scope: 'user_path' | 'provider';
  /** Normalised: a user path, or a provider name in lower case. */
  subject: string;
  limits: GivenLimit[];
}

export interface EnvironmentRules {
  /** RATE_LIMITS_ENABLED; undefined when it is unset, so that the files decide. */
  enabled: boolean | undefined;
  /** USAGE_ENABLED: whether tokens are counted at all. */
  usageEnabled: boolean;
  /** By name of the variable; no two have the same scope and subject. */
  given: GivenRules[];
  /** Every problem is fatal: an invalid variable always stops a start (design section 4). */
  problems: Problem[];
  warnings: Problem[];
}

type SubjectReading = { subject: string; problem?: undefined } | { subject?: undefined; problem: string };

const families = [
  { prefix: 'SET_RATE_LIMIT_', scope: 'user_path', readSubject: readUserPath },
  { prefix: 'SET_PROVIDER_RATE_LIMIT_', scope: 'provider', readSubject: readProvider },
] as const;

/**
 * Reads `SET_RATE_LIMIT_<PATH>`, `SET_PROVIDER_RATE_LIMIT_<NAME>`, `RATE_LIMITS_ENABLED` and `USAGE_ENABLED` (spec, Configuration
 * shapes). An empty variable counts as unset. Rules are read also while rate limits are off. In a problem, `file` is the variable;
 * line and column count within its value.
 */
export function readEnvironmentRules(variables: Variables, entitlements: ReadonlySet<string>): EnvironmentRules {
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  const given: GivenRules[] = [];
  const enabled = readFlag('RATE_LIMITS_ENABLED');
  const usageEnabled = readFlag('USAGE_ENABLED') ?? true;
  const owners = new Map<string, string>();
  const templates = entitlements.has('quota_templates') ? undefined : templateProblem;

  for (const variable of Object.keys(variables).sort()) {
    const text = variables[variable] || undefined;
    const family = families.find(({ prefix }) => variable.startsWith(prefix));
    if (text === undefined) continue;
    if (family !== undefined) read(variable, text, family);
    else if (/^SET_.*RATE_?LIMIT/i.test(variable)) warnings.push(problemOfFile(variable, notRead));
  }
  return { enabled, usageEnabled, given, problems, warnings };

  function readFlag(variable: string): boolean | undefined {
    const text = variables[variable] || undefined;
    const flag = text === undefined ? undefined : parseFlag(text);
    if (text !== undefined && flag === undefined) report(variable, 'must be true or false');
    return flag;
  }

  function report(variable: string, message: string): void {
    problems.push({ ...problemOfFile(variable, message), fatal: true });
  }

  function read(variable: string, text: string, { prefix, scope, readSubject }: (typeof families)[number]): void {
    const { subject, problem } = readSubject(variable.slice(prefix.length));
    if (problem !== undefined) report(variable, problem);
    else {
      const key = `${scope} ${subject}`;
      const owner = owners.get(key);
      owners.set(key, owner ?? variable);
      const named = `the ${scope.replace('_', ' ')} ${quote(subject)}`;
      if (owner !== undefined) report(variable, `means ${named}, and so does ${owner}; keep one of the two`);
    }
    const { limits, problems: found } = readLimits(text, scope === 'provider' ? neverTemplate : templates);
    for (const { offset, path, message } of found.slice(0, enough)) {
      const lines = text.slice(0, offset).split('\n');
      const column = (lines.at(-1)?.length ?? 0) + 1;
      problems.push({ file: variable, line: lines.length, column, path, message, fatal: true });
    }
    if (subject !== undefined) given.push({ variable, scope, subject, limits });
  }
}

/** The most problems that are reported for one variable. */
const enough = 20;
const neverTemplate = 'cannot be true here: limits of a provider have no children';
const notRead =
  'is not read: SET_RATE_LIMIT_<PATH> and SET_PROVIDER_RATE_LIMIT_<NAME> are, in upper case; rules for models stand in the YAML files';

/** `TEAM__APP` → `/team/app`, an empty text → `/`. One underscore is part of a name; an ambiguous name is a problem. */
function readUserPath(suffix: string): SubjectReading {
  if (/^_|___|_$/.test(suffix)) {
    return {
      problem:
        'has underscores that name no path: write two between segments (SET_RATE_LIMIT_TEAM__APP is /team/app) and none at the ends ' +
        '(SET_RATE_LIMIT_ is /); declare any other path in the YAML files',
    };
  }
  const { path, problem } = normaliseUserPath(suffix.toLowerCase().replaceAll('__', '/'));
  if (problem !== undefined) return { problem: `names a path that ${problem}` };
  if (path === '/' && suffix !== '') return { problem: 'names no path; SET_RATE_LIMIT_ alone is the path /' };
  return { subject: path };
}

/** `MY_OPENAI` → `my-openai` (spec: underscores in the name become hyphens). */
function readProvider(suffix: string): SubjectReading {
  const name = foldCase(suffix.trim().replaceAll('_', '-'));
  if (name === '')
    return { problem: 'names no provider; write SET_PROVIDER_RATE_LIMIT_OPENAI for the provider openai' };
  if (isProviderName(name)) return { subject: name };
  return { problem: `names ${quote(name)}, which cannot be the name of a provider` };
}
