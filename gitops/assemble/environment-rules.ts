// Reads the rate limits of environment variables: SET_* rules and two switches. Problems name variables, never their values.
import { foldCase } from '../../domain/selector.ts';
import { quote } from '../../schemas/validation/path.ts';
import type { Variables } from '../../schemas/variables.ts';
import { templateProblem } from '../check/check-rate-limits.ts';
import { type Problem, problemOfFile } from '../read/problem.ts';
import { isProviderName } from '../read/validate.ts';
import { type GivenLimit, readLimits } from './environment-limits.ts';
import { readPathSuffix, type SubjectReading } from './environment-paths.ts';
import { problemsOfValue, readSwitch } from './environment-values.ts';

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

const families = [
  {
    prefix: 'SET_RATE_LIMIT_',
    scope: 'user_path',
    readSubject: (suffix: string) => readPathSuffix('SET_RATE_LIMIT_', suffix),
  },
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
  const enabled = readSwitch(variables, 'RATE_LIMITS_ENABLED', problems);
  const usageEnabled = readSwitch(variables, 'USAGE_ENABLED', problems) ?? true;
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
    problems.push(...problemsOfValue(variable, text, found));
    if (subject !== undefined) given.push({ variable, scope, subject, limits });
  }
}

const neverTemplate = 'cannot be true here: limits of a provider have no children';
const notRead =
  'is not read: SET_RATE_LIMIT_<PATH> and SET_PROVIDER_RATE_LIMIT_<NAME> are, in upper case; rules for models stand in the YAML files';

/** `MY_OPENAI` → `my-openai` (spec: underscores in the name become hyphens). */
function readProvider(suffix: string): SubjectReading {
  const name = foldCase(suffix.trim().replaceAll('_', '-'));
  if (name === '')
    return { problem: 'names no provider; write SET_PROVIDER_RATE_LIMIT_OPENAI for the provider openai' };
  if (isProviderName(name)) return { subject: name };
  return { problem: `names ${quote(name)}, which cannot be the name of a provider` };
}
