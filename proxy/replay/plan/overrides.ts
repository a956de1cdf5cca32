// What operators have set, as a plan tells it: how much of it stands, and which changes of the configuration have no effect behind it.
import { aliasKey } from '../../../domain/aliases/manual-alias.ts';
import { type Budget, budgetTitle, compileBudgets } from '../../../domain/budgets/budget.ts';
import { targetDrains } from '../../../domain/documents/kinds.ts';
import type { LiveSettings } from '../../../domain/replays/traffic-head.ts';
import type { Authorship } from '../../../domain/rules/authorship.ts';
import { compileRules, type Rule, ruleTitle } from '../../../domain/rules/rule.ts';
import type { Alias } from '../../../schemas/types.ts';
import type { World } from '../world.ts';

export interface Overrides {
  /** When they were read. RFC 3339. */
  readonly at: string;
  /** How many are in force. */
  readonly rules: number;
  readonly budgets: number;
  readonly aliases: number;
  readonly drains: number;
  /** Sentences about changes that have no effect, because something of an operator stands in front of them. */
  readonly hidden: readonly string[];
}

interface Entry {
  readonly title: string;
  /** Equal texts decide alike. */
  readonly says: string;
  /** An operator has set it. */
  readonly manual?: Partial<Authorship> | undefined;
}

/** By the identity of a rule, a budget or an alias. */
type Entries = ReadonlyMap<string, Entry>;

const kinds = { rules: rulesOf, budgets: budgetsOf, aliases: aliasesOf } as const;

export function overridesOf({ at, documents }: LiveSettings, before: World, after: World): Overrides {
  const standing = (entries: Entries): number =>
    [...entries.values()].filter(({ manual }) => manual !== undefined).length;
  return {
    at,
    rules: standing(rulesOf(after).inForce),
    budgets: standing(budgetsOf(after).inForce),
    aliases: standing(aliasesOf(after).inForce),
    drains: documents.filter(({ kind }) => kind === targetDrains.kind).length,
    hidden: Object.values(kinds).flatMap((entriesOf) => hiddenChanges(entriesOf(before), entriesOf(after))),
  };
}

/** As the configuration declares them, and as they are in force. */
interface Sides {
  readonly declared: Entries;
  readonly inForce: Entries;
}

/** What is declared otherwise than before, and in force as before. */
function hiddenChanges(before: Sides, after: Sides): string[] {
  return [...after.inForce].flatMap(([key, { title, says, manual }]) => {
    const isChanged = before.declared.get(key)?.says !== after.declared.get(key)?.says;
    if (manual === undefined || !isChanged || before.inForce.get(key)?.says !== says) return [];
    const { reason, expiresAt, updatedBy } = manual;
    const end = expiresAt === undefined ? 'while an override stands in front of it' : `until ${expiresAt}`;
    return [`your change of ${title} has no effect ${end}: set by ${updatedBy}${reason ? `, because: ${reason}` : ''}`];
  });
}

function rulesOf({ inForce: { config, rules } }: World): Sides {
  const entry = (rule: Rule & Pick<Entry, 'manual'>): [string, Entry] => {
    const { perChild, maxRequests, maxTokens, mode, blockedUntilMs, onStoreLoss } = rule;
    const says = JSON.stringify([perChild, maxRequests, maxTokens, mode, blockedUntilMs, onStoreLoss]);
    return [rule.key, { title: `rule ${ruleTitle(rule)}`, says, manual: rule.manual }];
  };
  return {
    declared: new Map(compileRules(config.rate_limits).map(entry)),
    inForce: new Map(rules.filter(({ enforced }) => enforced).map(entry)),
  };
}

function budgetsOf({ inForce: { config }, toKeep }: World): Sides {
  const entry = (budget: Budget & Pick<Entry, 'manual'>): [string, Entry] => {
    const { perChild, amount, mode } = budget;
    return [
      budget.key,
      { title: `budget ${budgetTitle(budget)}`, says: JSON.stringify([perChild, amount, mode]), manual: budget.manual },
    ];
  };
  return {
    declared: new Map(compileBudgets(config.budgets).map(entry)),
    inForce: new Map(toKeep.budgets.filter(({ enforced }) => enforced).map(entry)),
  };
}

function aliasesOf({ inForce: { config, aliases } }: World): Sides {
  const entry = (alias: Alias, manual?: Entry['manual']): [string, Entry] => [
    aliasKey(alias.source),
    { title: `alias ${alias.source}`, says: JSON.stringify(alias), manual },
  ];
  return {
    declared: new Map(config.aliases.map((alias) => entry(alias))),
    inForce: new Map(aliases.filter(({ enforced }) => enforced).map(({ alias, manual }) => entry(alias, manual))),
  };
}
