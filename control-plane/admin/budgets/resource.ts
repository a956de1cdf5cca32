// Budgets as operators list and write them, and when their windows begin (reference: Budgets).
import { budgetScopes, budgetTitle, normaliseBudgetSubject } from '../../../domain/budgets/budget.ts';
import { budgetFacts } from '../../../domain/budgets/budget-facts.ts';
import { everyBudget } from '../../../domain/budgets/budget-reset.ts';
import { anchorsInForce, budgetSettingsId, type ManualAnchors } from '../../../domain/budgets/budget-settings.ts';
import type { Anchors } from '../../../domain/budgets/window.ts';
import { budgetResets, budgetSettings, manualBudgets } from '../../../domain/documents/kinds.ts';
import { written } from '../../../domain/documents/managed-kind.ts';
import { authorFacts } from '../../../domain/rules/authorship.ts';
import type { Operator } from '../../authenticate.ts';
import type { BudgetFigures } from '../../budgets/watch.ts';
import { refusal } from '../../errors.ts';
import { denied, isVisible } from '../../managed/own-path.ts';
import type { Quotas } from '../../managed/quotas.ts';
import { readQuery } from '../../managed/read-query.ts';
import type { KnownDocuments, ManagedResource, ManagedWrite, Named } from '../../managed/resource.ts';
import { storedKind } from '../../managed/stored-kind.ts';
import { filterNames, readSubjectFilter, type SubjectFilter } from '../../managed/subject-filter.ts';
import { deleteBudget, type KnownBudgets, knownBudgets, putBudget, resetBudget, resetEveryBudget } from './changes.ts';
import { delegatedRemoval, delegatedReset, delegatedWrite } from './delegation.ts';
import { budgetListing } from './listing.ts';
import { type BudgetParts, shownBudgets } from './parts.ts';
import {
  type BudgetName,
  type BudgetWrite,
  checkConfirmation,
  readDelete,
  readResetOne,
  readSettingsWrite,
  readWrite,
} from './read-write.ts';

/** All budgets at one moment, and what limits the writes. */
interface BudgetsNow extends KnownBudgets {
  readonly hasTemplates: boolean;
  readonly quotas: Quotas;
}

type BudgetWriting<Wanted extends BudgetName = BudgetName> = ManagedWrite<BudgetParts, BudgetsNow, Wanted>;

const put: BudgetWriting<BudgetWrite> = {
  method: 'PUT',
  read: readWrite,
  admit(wanted, operator) {
    if (!isVisible(operator, wanted)) throw denied('change a budget outside of its user path');
  },
  decide(known, wanted, { operator, name }) {
    const write = delegatedWrite(known, wanted, operator, known.quotas.max_rules_per_scope);
    return putBudget(known, write, name, known.hasTemplates);
  },
};

const remove: BudgetWriting = {
  method: 'DELETE',
  read: readDelete,
  admit: admitSeen,
  decide: (known, wanted, { operator }) => deleteBudget(known, delegatedRemoval(known, wanted, operator)),
};

const resetOne: BudgetWriting = {
  method: 'POST',
  suffix: '/reset-one',
  read: readResetOne,
  admit: admitSeen,
  decide: (known, wanted, { operator }) => resetBudget(known, delegatedReset(wanted, operator)),
};

const reset: ManagedWrite<BudgetParts, BudgetsNow> = {
  method: 'POST',
  suffix: '/reset',
  read(body) {
    checkConfirmation(body);
    return { key: everyBudget };
  },
  decide: resetEveryBudget,
  answer: { status: 'ok' },
};

function admitSeen(wanted: BudgetName, operator: Operator): void {
  if (!isVisible(operator, wanted)) throw refusal('budget_not_found');
}

/** A scoped operator sees and changes budgets within its user path only; the listing leaves out other budgets. */
export const budgetResource: ManagedResource<BudgetParts, BudgetsNow, SubjectFilter, BudgetFigures> = {
  path: '/admin/budgets',
  kind: manualBudgets,
  others: [budgetResets],
  figures: { read: (parts) => parts.figures(), isNeeded: false },
  readQuery: (query) =>
    readSubjectFilter(readQuery(query, filterNames), { names: budgetScopes, normalise: normaliseBudgetSubject }),
  known(parts, state, nowMs) {
    const { budgets, places } = parts.configBudgets();
    return {
      ...knownBudgets(state, budgets, nowMs, places),
      hasTemplates: parts.prerequisites().hasTemplates,
      quotas: parts.quotas(),
    };
  },
  list(parts, state, { operator, query, figures, isStale }) {
    const shown = shownBudgets(parts, state);
    const budgets = shown.budgets.filter((budget) => isVisible(operator, budget) && (query?.shows(budget) ?? true));
    return budgetListing({ ...shown, budgets, figures, covered: query?.covered, isStale });
  },
  title: (wanted: BudgetName) => (wanted.key === everyBudget ? 'every budget' : `budget ${budgetTitle(wanted)}`),
  facts(before, after, { key }) {
    const next = after.manual.get(key);
    return {
      before: factsOf(before, key),
      after: factsOf(after, key),
      ...(next === undefined ? {} : authorFacts(next)),
    };
  },
  writes: [put, remove, resetOne, reset],
};

function factsOf({ config, manual }: BudgetsNow, key: string): object | null {
  return budgetFacts({ declared: config.get(key), manual: manual.get(key) });
}

interface KnownAnchors extends KnownDocuments<ManualAnchors> {
  readonly declared: Anchors;
}

interface AnchorsWrite extends Named {
  readonly anchors: Partial<Anchors>;
}

const putSettings: ManagedWrite<BudgetParts, KnownAnchors, AnchorsWrite> = {
  method: 'PUT',
  read: (body) => ({ key: budgetSettingsId, anchors: readSettingsWrite(body) }),
  decide: ({ manual }, { key, anchors }) => [
    written(budgetSettings, key, { anchors: { ...manual.get(key)?.anchors, ...anchors } }),
  ],
};

/** When the windows of budgets begin: of the configuration, and over it what operators have set. */
export const budgetSettingsResource: ManagedResource<BudgetParts, KnownAnchors> = {
  path: '/admin/budgets/settings',
  kind: budgetSettings,
  isUntagged: true,
  known: (parts, state) => ({ declared: parts.configBudgets().anchors, manual: storedKind(budgetSettings, state) }),
  list: (parts, state) => shownBudgets(parts, state).anchors,
  title: () => 'the windows of budgets',
  facts: (before, after) => ({ before: anchorsOf(before), after: anchorsOf(after) }),
  writes: [putSettings],
};

function anchorsOf({ declared, manual }: KnownAnchors): Anchors {
  return anchorsInForce(declared, [...manual.all().values()]);
}
