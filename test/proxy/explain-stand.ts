// A gateway that sends nothing: config and documents as they are published, a limiter, and what is remembered of targets.

import { aliasKey, manualAliasBody, manualAliasKind } from '../../domain/aliases/manual-alias.ts';
import { inOrder } from '../../domain/documents/order.ts';
import { authKeyKind } from '../../domain/keys/auth-key.ts';
import { digestOf } from '../../domain/keys/secret.ts';
import { manualRuleKind } from '../../domain/rules/manual-rule.ts';
import { timestamp } from '../../domain/timestamp.ts';
import { BudgetsInForce } from '../../proxy/budgets/budgets-in-force.ts';
import { explainRequest } from '../../proxy/explain/explain.ts';
import type { Explanation } from '../../proxy/explain/explanation.ts';
import type { Question } from '../../proxy/explain/question.ts';
import type { Fleet } from '../../proxy/limits/fleet/fleet.ts';
import { createLimiter, type Limiter } from '../../proxy/limits/limiter.ts';
import { type Balance, createBalance } from '../../proxy/routing/balance/balance.ts';
import { Turns } from '../../proxy/routing/balance/turns.ts';
import { createPublisher } from '../../proxy/snapshot/publish.ts';
import type { Route, Snapshot, Target } from '../../proxy/snapshot/snapshot.ts';
import { TargetStates } from '../../proxy/targets/target-states.ts';
import type { Alias, Limit, RateLimits } from '../../schemas/types.ts';
import { type SampleConfig, sampleConfig } from './sample-config.ts';

export const start = Date.UTC(2026, 0, 1);
const written = { created_at: timestamp(start), updated_at: timestamp(start), updated_by: 'ops' };

export const limit = (max: Partial<Limit>): Limit => ({ period: 'minute', mode: 'enforce', ...max });

export interface StandOptions extends SampleConfig {
  readonly rules?: Partial<RateLimits>;
  readonly more?: object;
  readonly usageEnabled?: boolean;
  /** Rules are shared through it. */
  readonly fleet?: Fleet;
}

export interface ExplainStand {
  readonly limiter: Limiter;
  readonly targets: TargetStates;
  readonly balance: Balance;
  readonly snapshot: () => Snapshot;
  readonly route: (name: string) => Route;
  readonly target: (provider: string) => Target;
  readonly explain: (question: Partial<Omit<Question, 'key'>> & { keyId?: string }) => Explanation;
}

const documentOf = (kind: string, id: string, body: object) => ({ kind, id, body });

/** A key as it is stored. */
export function keyDocument(id: string, more: object = {}) {
  return documentOf(authKeyKind, id, {
    name: 'Ann',
    digest: digestOf(`sk-gw-${id}`),
    redacted_value: 'sk-gw-...abcd',
    enabled: true,
    dashboard_access: false,
    created_by: 'master_key',
    created_at: timestamp(start),
    updated_at: timestamp(start),
    ...more,
  });
}

/** A rule of an operator, with one request a minute. */
export function ruleDocument(subject: string, more: object = {}) {
  const body = { scope: 'user_path', subject, per_child: false, period_seconds: 60, max_requests: 1, mode: 'enforce' };
  return documentOf(manualRuleKind, `user_path 60 ${subject}`, { ...body, ...written, ...more });
}

export function aliasDocument(alias: Alias) {
  const { created_at: createdAt, updated_at: updatedAt, updated_by: updatedBy } = written;
  return documentOf(
    manualAliasKind,
    aliasKey(alias.source),
    manualAliasBody({ key: alias.source, value: alias, createdAt, updatedAt, updatedBy }),
  );
}

export function explainStand(
  options: StandOptions,
  documents: readonly ReturnType<typeof documentOf>[] = [],
): ExplainStand {
  const { rules = {}, more = {}, usageEnabled = true } = options;
  const sample = sampleConfig(options);
  const config = { ...sample, ...more, rate_limits: { ...sample.rate_limits, ...rules } };
  const limiter = createLimiter({ tokensEnforced: usageEnabled });
  if (options.fleet !== undefined) limiter.share(options.fleet);
  const targets = new TargetStates();
  const turns = new Turns();
  let snapshot: Snapshot | undefined;
  const publisher = createPublisher({
    masterKey: 'sk-master',
    hasTemplates: true,
    usageEnabled,
    put(next) {
      ({ snapshot } = next);
      limiter.reconcile(next.rules, next.enforcement);
      targets.keep(next.snapshot.routes.targets, next.drains);
    },
    warn: () => undefined,
    tellExpired: () => undefined,
    nowMs: () => start,
  });
  const stored = documents.map((each) => ({ ...each, revision: 1 })).sort(inOrder);
  publisher.documents({ documents: stored }, { source: 'store' });
  publisher.config(config, 'c0ffee');
  const current = (): Snapshot => {
    if (snapshot === undefined) throw new Error('nothing is in force');
    return snapshot;
  };
  const route = (name: string): Route => {
    const found = current().routes.get(name);
    if (found === undefined) throw new Error(`there is no ${name}`);
    return found;
  };
  return {
    limiter,
    targets,
    balance: createBalance(targets, turns),
    snapshot: current,
    route,
    target: (provider) => route(`${provider}/m`).targets[0] as Target,
    explain({ keyId, ...question }) {
      const key = [...current().credentials.keys.values()].find(({ id }) => id === keyId);
      const foretell = createBalance(targets, { of: (of) => turns.copyOf(of) });
      const asked = { userPath: '/', model: 'm', stream: false, thread: undefined, scope: '/' };
      return explainRequest(
        { ...asked, key, nowMs: start, authorityMs: start, ...question },
        {
          snapshot: current(),
          inForce: publisher.inForce(),
          limiter,
          budgets: new BudgetsInForce(),
          targets,
          foretell,
        },
      );
    },
  };
}

/** Counts requests of a consumer. */
export function used(stand: ExplainStand, userPath: string, times = 1): ExplainStand {
  for (let count = 0; count < times; count += 1) stand.limiter.admit(stand.limiter.forUserPath(userPath), start);
  return stand;
}
/** Uses up the one request of a provider's rule. */
export function usedTarget(stand: ExplainStand, provider: string): ExplainStand {
  stand.limiter.admit(stand.limiter.forTarget(provider, 'm'), start);
  return stand;
}
/** Opens the breaker of a provider's target. */
export function broken(stand: ExplainStand, provider: string, atMs = start): ExplainStand {
  const { breaker } = stand.targets.of(stand.target(provider));
  for (let failure = 0; failure < 5; failure += 1) breaker.failed(atMs);
  return stand;
}
