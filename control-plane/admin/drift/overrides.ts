// What operators have set and holds now, of every kind, each with the entry of the configuration that would say the same.
import { isDeepStrictEqual } from 'node:util';
import { type Budget, budgetTitle } from '../../../domain/budgets/budget.ts';
import { anchorNames } from '../../../domain/budgets/budget-settings.ts';
import {
  budgetSettings,
  configPins,
  managedKeys,
  manualGuardrails,
  targetDrains,
} from '../../../domain/documents/kinds.ts';
import { mergeGuardrails } from '../../../domain/guardrails/merge-guardrails.ts';
import { type AuthKey, isActive } from '../../../domain/keys/auth-key.ts';
import { type Authorship, expiryMs } from '../../../domain/rules/authorship.ts';
import type { MergedRule } from '../../../domain/rules/merge.ts';
import { type Rule, ruleTitle } from '../../../domain/rules/rule.ts';
import { standingDrains, targetName } from '../../../domain/targets/target-drain.ts';
import { timestamp } from '../../../domain/timestamp.ts';
import {
  aliasEntrance,
  budgetEntrance,
  type Entrance,
  guardrailEntrance,
  ruleEntrance,
} from '../../../gitops/drift/entries.ts';
import { keyEntries } from '../../../gitops/drift/key-entries.ts';
import type { Override, OverrideKind } from '../../../gitops/drift/override.ts';
import type { ConfigInForce } from '../../config-in-force.ts';
import type { KnownState } from '../../managed/commit.ts';
import { storedKind } from '../../managed/stored-kind.ts';
import type { DeclaredKeys } from '../auth-keys/changes.ts';
import { type BudgetParts, shownBudgets } from '../budgets/parts.ts';
import { type RateLimitParts, shownRules } from '../rate-limits/resource.ts';
import { knownAliases, merged, type VirtualModelParts } from '../virtual-models/known.ts';

/** The parts of the process that this listing uses. */
export interface OverrideParts {
  readonly rules: RateLimitParts;
  readonly budgets: BudgetParts;
  readonly aliases: VirtualModelParts;
  readonly config: Pick<ConfigInForce, 'declared' | 'places'>;
  readonly keys: () => DeclaredKeys;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
}

/** Everything but issued keys. In no order. */
export function overridesOf(parts: OverrideParts, state: KnownState): Override[] {
  return [
    ...ofRules(parts, state),
    ...ofBudgets(parts, state),
    ...ofEntries(parts, state),
    ...ofDrains(parts, state),
    ...ofPins(parts, state),
  ];
}

/** The issued keys that are let in and that the configuration does not declare. */
export function keyOverrides({ keys, nowMs }: Pick<OverrideParts, 'keys' | 'nowMs'>, state: KnownState): Override[] {
  const now = nowMs();
  const { keys: declared } = keys();
  const digests = new Set(declared.map(({ digest }) => digest));
  const issued = storedKind(managedKeys, state)
    .values()
    .filter((key) => isActive(key, now) && !digests.has(key.digest));
  const entries = keyEntries(issued, new Set(declared.map(({ name }) => name)));
  return issued.map((key, index) => ({
    kind: 'key',
    id: key.id,
    name: key.name,
    ...datesOfKey(key),
    ...(entries[index] === undefined ? {} : { entry: { section: 'keys', entry: entries[index] } }),
  }));
}

function datesOfKey({ createdBy, createdAtMs, updatedAtMs, expiresAtMs }: AuthKey): Partial<Override> {
  return {
    updated_by: createdBy,
    created_at: timestamp(createdAtMs),
    updated_at: timestamp(updatedAtMs),
    ...(expiresAtMs === Number.POSITIVE_INFINITY ? {} : { expires_at: timestamp(expiresAtMs) }),
  };
}

function ofRules({ rules: parts }: OverrideParts, state: KnownState): Override[] {
  const { rules, prerequisites, places } = shownRules(parts, state);
  const declared = new Map(parts.configRules().rules.map((rule) => [rule.key, rule]));
  return rules.flatMap((rule) => {
    const { key, manual } = rule;
    if (manual === undefined) return [];
    const own = declared.get(key);
    return override('rule', [key, ruleTitle(rule)], {
      manual,
      declaredAt: places.get(key),
      isSame: own !== undefined && isSameRule(rule, own),
      entrance: ruleEntrance(rule, own !== undefined, prerequisites),
    });
  });
}

function isSameRule(rule: MergedRule, { perChild, maxRequests, maxTokens, mode, name, onStoreLoss }: Rule): boolean {
  const own = [rule.perChild, rule.maxRequests, rule.maxTokens, rule.mode, rule.name, rule.onStoreLoss];
  return isDeepStrictEqual(own, [perChild, maxRequests, maxTokens, mode, name, onStoreLoss]);
}

function ofBudgets({ budgets: parts }: OverrideParts, state: KnownState): Override[] {
  const { budgets, places } = shownBudgets(parts, state);
  const { budgets: config, anchors: declaredAnchors } = parts.configBudgets();
  const declared = new Map(config.map((budget) => [budget.key, budget]));
  const isSame = (one: Budget, other: Budget | undefined): boolean =>
    other !== undefined &&
    isDeepStrictEqual([one.amount, one.mode, one.perChild], [other.amount, other.mode, other.perChild]);
  const [windows] = storedKind(budgetSettings, state).values();
  const settings = Object.fromEntries(
    anchorNames.flatMap((name) => {
      const value = windows?.anchors[name];
      return value === undefined || value === declaredAnchors[name] ? [] : [[name, value] as const];
    }),
  );
  const ofWindows: Override[] =
    Object.keys(settings).length === 0
      ? []
      : [
          {
            kind: 'budget_windows',
            id: 'settings',
            name: sayAnchors(settings),
            entry: { section: 'budgets', settings },
          },
        ];
  const own = budgets.flatMap((budget) => {
    const { key, manual } = budget;
    if (manual === undefined) return [];
    return override('budget', [key, budgetTitle(budget)], {
      manual,
      declaredAt: places.get(key),
      isSame: isSame(budget, declared.get(key)),
      entrance: budgetEntrance(budget),
    });
  });
  return [...own, ...ofWindows];
}

function sayAnchors(settings: Readonly<Record<string, number>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ');
}

function ofEntries({ aliases, config: { declared, places } }: OverrideParts, state: KnownState): Override[] {
  const known = knownAliases(aliases, state, aliases.nowMs());
  const ofAliases = merged(known).flatMap((row) => {
    const { key, alias, manual } = row;
    if (manual === undefined) return [];
    return override('alias', [key, alias.source], {
      manual,
      declaredAt: known.places.get(key),
      isSame: isDeepStrictEqual(known.config.get(key), alias),
      entrance: aliasEntrance(row),
    });
  });
  const guardrails = mergeGuardrails(declared.guardrails, storedKind(manualGuardrails, state).values());
  const ofGuardrails = guardrails.flatMap(({ value, manual }) => {
    if (manual === undefined) return [];
    const { name } = value;
    return override('guardrail', [name, name], {
      manual,
      declaredAt: places.guardrails.get(name),
      isSame: declared.guardrails.some((each) => isDeepStrictEqual(each, value)),
      entrance: guardrailEntrance(value),
    });
  });
  return [...ofAliases, ...ofGuardrails];
}

function ofDrains({ nowMs }: OverrideParts, state: KnownState): Override[] {
  const { inForce } = standingDrains(storedKind(targetDrains, state).values(), nowMs());
  return [...inForce.values()].flatMap((drain) =>
    override('drain', [drain.key, targetName(drain)], {
      manual: drain,
      declaredAt: undefined,
      isSame: false,
      entrance: { kept_out: 'a drain has an end; the configuration has none' },
    }),
  );
}

function ofPins({ nowMs }: OverrideParts, state: KnownState): Override[] {
  const now = nowMs();
  const pins = storedKind(configPins, state)
    .values()
    .filter((pin) => expiryMs(pin) > now);
  return pins.flatMap((pin) =>
    override('pin', [pin.key, pin.revision], {
      manual: pin,
      declaredAt: undefined,
      isSame: false,
      entrance: { kept_out: 'a pin has an end; revert the change in git, and unpin' },
    }),
  );
}

interface Found {
  readonly manual: Pick<Authorship, 'createdAt' | 'updatedAt' | 'updatedBy' | 'reason' | 'expiresAt'>;
  readonly declaredAt: string | undefined;
  readonly isSame: boolean;
  readonly entrance: Entrance;
}

function override(
  kind: OverrideKind,
  [id, name]: readonly [string, string],
  { manual, declaredAt, isSame, entrance }: Found,
): Override[] {
  const { createdAt, updatedAt, updatedBy, reason, expiresAt } = manual;
  return [
    {
      kind,
      id,
      name,
      updated_by: updatedBy,
      created_at: createdAt,
      updated_at: updatedAt,
      ...(reason === undefined ? {} : { reason }),
      ...(expiresAt === undefined ? {} : { expires_at: expiresAt }),
      ...(declaredAt === undefined ? {} : { declared_at: declaredAt }),
      ...(isSame ? { in_git: true } : {}),
      ...entrance,
    },
  ];
}
