// Reads the budgets of environment variables: SET_BUDGET_<PATH> and a switch. Problems name variables, never their values.
import { type BudgetPeriod, budgetPeriodSeconds, budgetPeriods } from '../../domain/budgets/period.ts';
import type { BudgetLimit } from '../../schemas/types.ts';
import { quote } from '../../schemas/validation/path.ts';
import { isTree } from '../../schemas/validation/value-at.ts';
import type { Variables } from '../../schemas/variables.ts';
import { templateProblem } from '../check/check-rate-limits.ts';
import { type Problem, problemOfFile } from '../read/problem.ts';
import { readJson } from '../read/read-json.ts';
import { validateBudgetList } from '../read/validate.ts';
import { readPathSuffix } from './environment-paths.ts';
import { type Misreading, problemsOfValue, readJsonList, readPairs, readSwitch } from './environment-values.ts';

/** A budget of a variable. A template gives every direct child of the path one of its own. */
export interface GivenBudget {
  readonly limit: BudgetLimit;
  readonly perChild: boolean;
}

/** The budgets one variable gives to one user path. */
export interface GivenBudgets {
  readonly variable: string;
  /** A user path, normalised. */
  readonly subject: string;
  readonly budgets: readonly GivenBudget[];
}

export interface EnvironmentBudgets {
  /** BUDGETS_ENABLED; undefined when it is unset, so that the files decide. */
  readonly enabled: boolean | undefined;
  /** By name of the variable; no two have the same path. */
  readonly given: readonly GivenBudgets[];
  /** Every problem is fatal. */
  readonly problems: readonly Problem[];
  readonly warnings: readonly Problem[];
}

const prefix = 'SET_BUDGET_';
const example = 'write pairs such as daily=10,monthly=200';
const notRead = 'is not read: SET_BUDGET_<PATH> is, in upper case; budgets for labels stand in the YAML files';

/**
 * Reads `SET_BUDGET_<PATH>` and `BUDGETS_ENABLED` (reference: Budgets). An empty variable counts as unset. Budgets are read also while they are
 * off. In a problem, `file` is the variable; line and column count within its value.
 */
export function readEnvironmentBudgets(variables: Variables, entitlements: ReadonlySet<string>): EnvironmentBudgets {
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  const given: GivenBudgets[] = [];
  const owners = new Map<string, string>();
  const enabled = readSwitch(variables, 'BUDGETS_ENABLED', problems);
  const templates = entitlements.has('quota_templates') ? undefined : templateProblem;
  for (const variable of Object.keys(variables).sort()) {
    const text = variables[variable] || undefined;
    if (text === undefined) continue;
    if (!variable.startsWith(prefix)) {
      if (/^SET_.*BUDGET/i.test(variable)) warnings.push(problemOfFile(variable, notRead));
      continue;
    }
    const { subject, problem } = readPathSuffix(prefix, variable.slice(prefix.length));
    if (problem !== undefined) report(variable, problem);
    else {
      const owner = owners.get(subject);
      owners.set(subject, owner ?? variable);
      if (owner !== undefined)
        report(variable, `means the user path ${quote(subject)}, and so does ${owner}; keep one of the two`);
    }
    const { budgets, problems: found } = readBudgets(text, templates);
    problems.push(...problemsOfValue(variable, text, found));
    if (subject !== undefined) given.push({ variable, subject, budgets });
  }
  return { enabled, given, problems, warnings };

  function report(variable: string, message: string): void {
    problems.push({ ...problemOfFile(variable, message), fatal: true });
  }
}

interface BudgetsReading {
  readonly budgets: readonly GivenBudget[];
  readonly problems: readonly Misreading[];
}

function readBudgets(text: string, templates: string | undefined): BudgetsReading {
  const first = text.trimStart().charAt(0);
  if (first === '{') return readObject(text);
  if (first !== '[') return readCompact(text);
  const { entries, problems } = readJsonList(text, {
    validate: validateBudgetList,
    secondsOf: budgetPeriodSeconds,
    notAList: 'must be a list of budgets: [{"period":"daily","amount":10}]',
    templateProblem: templates,
  });
  return { budgets: entries.map(({ per_child: perChild, ...limit }) => ({ limit, perChild })), problems };
}

/** `{"daily": 10, "monthly": 200}` */
function readObject(text: string): BudgetsReading {
  const json = readJson(text);
  if ('problem' in json) return { budgets: [], problems: [{ offset: json.offset, path: '', message: json.problem }] };
  const { value, offsetOf } = json;
  const budgets: GivenBudget[] = [];
  const problems: Misreading[] = [];
  for (const [name, amount] of isTree(value) ? Object.entries(value) : []) {
    const message = take(name, amount, budgets);
    // The name of an unknown member is part of the value, so it is not shown.
    if (message !== undefined) problems.push({ offset: offsetOf([name], 'key') ?? 0, path: '', message });
  }
  if (budgets.length === 0 && problems.length === 0)
    problems.push({ offset: 0, path: '', message: `is empty; ${example}` });
  return { budgets, problems };
}

function readCompact(text: string): BudgetsReading {
  const budgets: GivenBudget[] = [];
  const problems = readPairs(text, example, (name, written) => {
    const isNumber = /^[0-9]{1,7}(\.[0-9]{1,9})?$/.test(written);
    const message = take(name.toLowerCase(), isNumber ? Number(written) : Number.NaN, budgets);
    return message === undefined ? undefined : { message };
  });
  return { budgets, problems };
}

/** Adds a budget; gives what is wrong with it. */
function take(name: string, amount: unknown, to: GivenBudget[]): string | undefined {
  const names = Object.keys(budgetPeriods);
  if (!names.includes(name)) {
    const flaw = name === '' ? 'lacks a' : 'has an unknown';
    return `${flaw} period; known are ${names.join(', ')}`;
  }
  const period = name as BudgetPeriod;
  if (to.some(({ limit }) => limit.period === period)) return `gives ${name} a second time`;
  const { limits: [limit] = [] } = validateBudgetList([{ period, amount }]);
  if (limit === undefined) return `needs US dollars from 0.000000001 to 9000000 for ${name}`;
  to.push({ limit: { period, amount: limit.amount, mode: limit.mode }, perChild: false });
  return undefined;
}
