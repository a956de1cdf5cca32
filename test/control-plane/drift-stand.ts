// A control plane's view of a configuration and of what operators have set, without a server: for tests of export, drift and patches.

import { shownBudgets } from '../../control-plane/admin/budgets/parts.ts';
import { keyOverrides, type OverrideParts, overridesOf } from '../../control-plane/admin/drift/overrides.ts';
import { shownRules } from '../../control-plane/admin/rate-limits/resource.ts';
import { knownAliases, merged } from '../../control-plane/admin/virtual-models/known.ts';
import { ConfigInForce } from '../../control-plane/config-in-force.ts';
import { storedKind } from '../../control-plane/managed/stored-kind.ts';
import { budgetKey } from '../../domain/budgets/budget.ts';
import { managedKeys, manualGuardrails } from '../../domain/documents/kinds.ts';
import { inOrder } from '../../domain/documents/order.ts';
import { mergeGuardrails } from '../../domain/guardrails/merge-guardrails.ts';
import { authKeyBody, isActive } from '../../domain/keys/auth-key.ts';
import { configKeys } from '../../domain/keys/config-key.ts';
import { credentialsOf } from '../../domain/keys/credentials.ts';
import { ruleKey } from '../../domain/rules/rule.ts';
import { foldUserPath } from '../../domain/user-path.ts';
import { loadFiles } from '../../gitops/assemble/load.ts';
import type { Override } from '../../gitops/drift/override.ts';
import { formatProblem } from '../../gitops/read/problem.ts';
import type { SourceFile } from '../../gitops/read/read.ts';
import { loadExpressionParser } from '../../schemas/validation/parse-expression.ts';
import type { Document } from '../../store/state/state-store.ts';
import { sampleKey } from '../support/managed-state.ts';

// `loadFiles` reads conditions.
await loadExpressionParser();

export const nowMs = Date.UTC(2026, 5, 1, 12);
const entitlements = new Set(['quota_templates']);

/** A document of an operator, as a store would give it. */
export interface Stored {
  readonly kind: string;
  readonly id: string;
  readonly body: object;
}

export const authored = {
  created_at: '2026-05-20T08:00:00.000Z',
  updated_at: '2026-05-21T08:00:00.000Z',
  updated_by: 'ann',
  reason: 'launch day',
};

export const rule = (subject: string, more: Record<string, unknown> = {}): Stored => {
  const body = {
    scope: 'user_path',
    subject,
    per_child: false,
    period_seconds: 60,
    max_requests: 5,
    mode: 'enforce',
    ...authored,
    ...more,
  };
  const [scope, seconds] = [body.scope as 'user_path', body.period_seconds];
  return { kind: 'rate_limit', id: ruleKey(scope, foldUserPath(subject), seconds), body };
};
export const budget = (scope: 'user_path' | 'label', subject: string, more: Record<string, unknown> = {}): Stored => {
  const body = {
    scope,
    subject,
    per_child: false,
    period_seconds: 86_400,
    amount_nano_dollars: 2_500_000_001,
    mode: 'enforce',
    ...authored,
    ...more,
  };
  const compared = scope === 'label' ? subject : foldUserPath(subject);
  return { kind: 'budget', id: budgetKey(scope, compared, body.period_seconds), body };
};
export const alias = (source: string, more: Record<string, unknown> = {}): Stored => {
  const value = {
    source,
    targets: [{ model: 'demo/small', weight: 1 }],
    strategy: 'round_robin',
    enabled: true,
    hedge: false,
    ...more,
  };
  return { kind: 'virtual_model', id: source.toLowerCase(), body: { alias: value, ...authored } };
};
export const guardrail = (name: string, more: Record<string, unknown>): Stored => {
  return {
    kind: 'guardrail',
    id: name,
    body: { guardrail: { name, mode: 'enforce', order: 0, ...more }, ...authored },
  };
};
export const issued = (name: string, more: object = {}): Stored => {
  const id = crypto.randomUUID();
  return {
    kind: 'auth_key',
    id,
    body: authKeyBody(sampleKey(`secret-${id}`, { id, name, createdAtMs: nowMs - 1_000, ...more })),
  };
};

export function filesOf(texts: Readonly<Record<string, string>>): SourceFile[] {
  return Object.entries(texts)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, text]) => ({ name, path: name, bytes: Buffer.from(text) }));
}

/** The problems of these files, as a plane says them. `variables`: as the proxy (`error`) or the control plane reads them. */
export function problemsOf(files: readonly SourceFile[], variables: 'error' | 'keep' = 'keep'): string[] {
  return loadFiles(files, { environment: {}, variables, entitlements }).problems.map(formatProblem);
}

/** Throws when the files hold a mistake. */
export function standOf(files: readonly SourceFile[], sets: readonly Stored[], variables: 'error' | 'keep' = 'keep') {
  const { config: declared, problems } = loadFiles(files, { environment: {}, variables, entitlements });
  if (declared === undefined) throw new Error(problems.map(formatProblem).join('\n'));
  const config = new ConfigInForce({ hasTemplates: true, usageEnabled: true });
  config.prepare(declared)();
  const documents: Document[] = sets.map((each) => ({ ...each, revision: 1 })).sort(inOrder);
  const state = { documents, kinds: new Map(), skipped: [] };
  const admin = { store: undefined as never, nowMs: () => nowMs, quotas: () => declared.admin };
  const parts = {
    rules: {
      ...admin,
      configRules: () => ({ rules: config.rules, declared: new Map(), places: config.places.rules }),
      prerequisites: () => config.prerequisites(),
    },
    budgets: {
      ...admin,
      configBudgets: () => ({
        budgets: config.budgets,
        anchors: config.anchors,
        declared: new Map(),
        places: config.places.budgets,
        unpriced: undefined,
      }),
      prerequisites: () => config.budgetPrerequisites(),
    },
    aliases: {
      ...admin,
      configAliases: () => ({
        aliases: declared.aliases,
        places: config.places.aliases,
        models: config.models,
      }),
    },
    config,
    keys: () => ({ keys: configKeys(declared.keys), places: config.places.keys }),
    nowMs: () => nowMs,
  } as unknown as OverrideParts;
  return {
    parts,
    state,
    overrides: (): Override[] => [...overridesOf(parts, state), ...keyOverrides(parts, state)],
    inForce: () => inForce(parts, state, declared.keys),
  };
}

/** What holds for callers, whoever set it, in an order of its own. */
function inForce(
  parts: OverrideParts,
  state: Parameters<typeof overridesOf>[1],
  declared: Parameters<typeof configKeys>[0],
): object {
  const rules = shownRules(parts.rules, state).rules.map((each) => {
    const { scope, subject, perChild, periodSeconds, maxRequests, maxTokens, mode, name, onStoreLoss } = each;
    // As it is spelled does not matter.
    const folded = subject.toLowerCase();
    return { scope, subject: folded, perChild, periodSeconds, maxRequests, maxTokens, mode, name, onStoreLoss };
  });
  const { budgets, anchors } = shownBudgets(parts.budgets, state);
  const aliases = merged(knownAliases(parts.aliases, state, nowMs)).filter(({ enforced }) => enforced);
  const manual = storedKind(manualGuardrails, state).values();
  const credentials = credentialsOf(undefined, [
    ...configKeys(declared),
    ...storedKind(managedKeys, state)
      .values()
      .filter((key) => isActive(key, nowMs)),
  ]);
  return {
    rules,
    anchors,
    budgets: budgets.map(({ scope, subject, perChild, periodSeconds, amount, mode }) => {
      return { scope, subject, perChild, periodSeconds, amount, mode };
    }),
    aliases: aliases.map((each) => each.alias).sort((one, other) => (one.source < other.source ? -1 : 1)),
    guardrails: mergeGuardrails(parts.config.declared.guardrails, manual)
      .map(({ value }) => value)
      .sort((one, other) => one.order - other.order || (one.name < other.name ? -1 : 1)),
    keys: [...credentials.keys.values()]
      .map(({ digest, userPath, anyUserPath, labels, allowedModels, role, expiresAtMs }) => {
        return { digest, userPath, anyUserPath, labels, allowedModels, role, expiresAtMs };
      })
      .sort((one, other) => (one.digest < other.digest ? -1 : 1)),
  };
}
