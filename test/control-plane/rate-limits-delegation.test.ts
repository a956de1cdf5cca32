// The writes of a dashboard key of /team: only tightening at /team, any rule below, up to the quota.
import { test } from 'tap';
import { deleteRule, knownRules, putRule, resetRule } from '../../control-plane/admin/rate-limits/changes.ts';
import { delegatedRemoval, delegatedReset, delegatedWrite } from '../../control-plane/admin/rate-limits/delegation.ts';
import { readDelete, readWrite } from '../../control-plane/admin/rate-limits/read-write.ts';
import type { Operator } from '../../control-plane/authenticate.ts';
import { Refusal } from '../../control-plane/errors.ts';
import { managedKeys, manualRules, resets } from '../../domain/documents/kinds.ts';
import { readKind, written } from '../../domain/documents/managed-kind.ts';
import { changedList } from '../../domain/documents/order.ts';
import { type AuthKeyFields, authKey } from '../../domain/keys/auth-key.ts';
import { mergeRules } from '../../domain/rules/merge.ts';
import { resetEpochs } from '../../domain/rules/reset-epochs.ts';
import { compileRules } from '../../domain/rules/rule.ts';
import type { RateLimits } from '../../schemas/types.ts';
import type { Change, Document } from '../../store/state/state-store.ts';
import { rulePrerequisites } from '../support/rule-prerequisites.ts';

const nowMs = Date.parse('2026-06-01T12:00:00Z');
const team: Operator = { kind: 'managed_key', keyId: 'key-team', role: 'admin', userPath: '/team', key: undefined };
const master: Operator = { kind: 'master_key', keyId: undefined, role: 'admin', userPath: '/', key: undefined };
type UserPath = RateLimits['user_paths'][number];

/** Rules at /team: requests and tokens a minute, and requests in flight as a trial. */
const declared: UserPath[] = [
  {
    path: '/team',
    per_child: false,
    limits: [
      { period: 'minute', max_requests: 100, max_tokens: 1_000, mode: 'enforce' },
      { period: 'concurrent', max_requests: 10, mode: 'shadow' },
    ],
  },
];

const dashboardKey: Omit<AuthKeyFields, 'id' | 'userPath'> = {
  name: 'a key',
  description: undefined,
  anyUserPath: false,
  labels: [],
  allowedModels: [],
  role: 'admin',
  digest: '0'.repeat(64),
  redactedValue: 'sk-gw-…abcd',
  enabled: true,
  expiresAtMs: Number.POSITIVE_INFINITY,
  deactivatedAtMs: undefined,
  createdAtMs: nowMs,
  updatedAtMs: nowMs,
  createdBy: 'master_key',
};

/** A gateway in miniature: what git declares, and what operators have stored. */
function stand(user_paths: UserPath[] = declared) {
  let documents: readonly Document[] = [];
  let config = compileRules({ enabled: true, user_paths, providers: [], models: [] });
  const known = () => knownRules({ documents, skipped: [] }, config, nowMs);
  const commit = (changes: readonly Change[]): string => {
    for (const { kind, id, body } of changes) {
      const come = body === undefined ? [] : [{ kind, id, body: JSON.parse(JSON.stringify(body)), revision: 1 }];
      documents = changedList(documents, [{ kind, id }], come);
    }
    return 'done';
  };
  const attempt = (decide: () => readonly Change[]): string => {
    try {
      return commit(decide());
    } catch (error) {
      if (error instanceof Refusal) return `${error.code} ${error.param ?? ''}`.trim();
      throw error;
    }
  };
  return {
    /** A key with dashboard access. */
    issue(userPath: string) {
      const key = { ...dashboardKey, id: `key-of-${userPath}`, userPath };
      commit([written(managedKeys, key.id, authKey(key))]);
    },
    declare(paths: UserPath[]) {
      config = compileRules({ enabled: true, user_paths: paths, providers: [], models: [] });
    },
    put: (operator: Operator, more: object, mostRules = 1_000) =>
      attempt(() => {
        const body = { user_path: '/team', limit_key: { period: 'minute' }, ...more };
        return putRule(known(), delegatedWrite(known(), readWrite(body, nowMs), operator, mostRules), 'somebody', true);
      }),
    remove: (operator: Operator, user_path = '/team') =>
      attempt(() => {
        const name = readDelete({ user_path, limit_key: { period: 'minute' } });
        return deleteRule(known(), delegatedRemoval(known(), name, operator));
      }),
    reset: (operator: Operator, user_path = '/team') =>
      attempt(() => {
        const name = readDelete({ user_path, limit_key: { period: 'minute' } });
        return resetRule(known(), delegatedReset(name, operator));
      }),
    /** What is enforced for /team in a minute. */
    inForce() {
      const { values: manual } = readKind(manualRules, documents);
      const epochs = resetEpochs(readKind(resets, documents).values);
      const rules = mergeRules({ config, manual, epochs, nowMs, prerequisites: rulePrerequisites() });
      const rule = rules.find(({ matchSubject, periodSeconds }) => matchSubject === '/team' && periodSeconds === 60);
      return [rule?.maxRequests, rule?.maxTokens, rule?.mode, rule?.perChild];
    },
  };
}

const denied = 'admin_scope_denied';

await test('at its own path a scoped operator tightens and never loosens what git declares', async (t) => {
  const rows: [write: object, outcome: string][] = [
    [{ max_requests: 100 }, 'done'],
    [{ max_requests: 1, max_tokens: 1 }, 'done'],
    [{ max_requests: 100, per_child: false, reason: 'quiet' }, 'done'],
    [{ max_requests: 101 }, `${denied} max_requests`],
    [{ max_requests: 50, max_tokens: 1_001 }, `${denied} max_tokens`],
    [{ max_requests: 50, max_tokens: null }, `${denied} max_tokens`],
    [{ max_requests: null, max_tokens: 1 }, `${denied} max_requests`],
    [{ max_requests: 50, mode: 'shadow' }, `${denied} mode`],
    [{ max_requests: 50, per_child: true }, `${denied} per_child`],
    [{ max_requests: 50, on_store_loss: 'open' }, `${denied} on_store_loss`],
    [{ max_requests: 50, on_store_loss: 'share' }, `${denied} on_store_loss`],
    [{ max_requests: 50, on_store_loss: 'closed' }, 'done'],
    [{ limit_key: { period: 'hour' }, max_requests: 5, on_store_loss: 'open' }, 'done'],
    [{ max_requests: 50, expires_at: '2030-01-01T00:00:00Z' }, `${denied} expires_at`],
    [{ max_requests: 0, expires_at: '2030-01-01T00:00:00Z' }, `${denied} expires_at`],
    [{ limit_key: { period: 'concurrent' }, max_requests: 10, mode: 'shadow' }, 'done'],
    [{ limit_key: { period: 'concurrent' }, max_requests: 10, mode: 'enforce' }, 'done'],
    [{ limit_key: { period: 'hour' }, max_requests: 1_000_000 }, 'done'],
    [{ user_path: '/team/app', max_requests: 1_000_000 }, 'done'],
  ];
  for (const [write, outcome] of rows) t.equal(stand().put(team, write), outcome, JSON.stringify(write));
  for (const [write] of rows) t.equal(stand().put(master, write), 'done', `${JSON.stringify(write)} by the master key`);
});

await test('it takes back neither its own tightening, nor the counters, of a rule that git has', async (t) => {
  const own = stand();
  own.put(team, { max_requests: 50 });
  t.equal(own.put(team, { max_requests: 80 }), 'done', 'it loosens its own, as far as git allows');
  t.equal(own.remove(team), denied);
  t.equal(own.reset(team), denied);
  t.same([own.reset(master), own.remove(master)], ['done', 'done']);
  own.declare([]);
  own.put(team, { max_requests: 5 });
  t.equal(own.remove(team), 'done', 'a rule that git does not have is its own');
});

await test('it touches nothing that an operator with more rights has set for its own path', async (t) => {
  for (const paths of [declared, []]) {
    const set = stand(paths);
    set.put(master, { max_requests: 5 });
    t.equal(set.put(team, { max_requests: 4 }), denied);
    t.equal(set.remove(team), denied);
    t.same(set.inForce()[0], 5);
  }
});

await test('a rule it set before git had one does not loosen the one of git either', async (t) => {
  const early = stand([]);
  early.put(team, { max_requests: 1_000_000, mode: 'shadow', per_child: true });
  t.same(early.inForce(), [1_000_000, undefined, 'shadow', true]);
  early.declare(declared);
  t.same(early.inForce(), [100, 1_000, 'enforce', false]);
});

await test('below its own path it may make any change', async (t) => {
  const below = stand([{ ...declared[0], path: '/team/app' } as UserPath]);
  t.equal(below.put(team, { user_path: '/team/app', max_requests: 1_000, mode: 'shadow' }), 'done');
  t.same([below.reset(team, '/team/app'), below.remove(team, '/team/app')], ['done', 'done']);
});

await test('a scope holds so many manual rules, and one that is there may be changed', async (t) => {
  const full = stand([]);
  full.put(master, { user_path: '/other', max_requests: 1 });
  for (const user_path of ['/team', '/team/a']) t.equal(full.put(team, { user_path, max_requests: 1 }, 2), 'done');
  t.equal(full.put(team, { user_path: '/team/b', max_requests: 1 }, 2), 'too_many_rate_limits');
  t.equal(full.put(team, { user_path: '/team/a', max_requests: 2 }, 2), 'done');
  t.equal(
    full.put(master, { user_path: '/team/b', max_requests: 1 }, 2),
    'done',
    'the whole gateway has a separate limit',
  );
});

await test('dashboard keys for paths below share the room of the scope above them', async (t) => {
  const full = stand([]);
  const below: Operator = { ...team, keyId: 'key-below', userPath: '/team/a' };
  const put = (user_path: string) => full.put(below, { user_path, max_requests: 1 }, 2);
  full.issue('/team');
  full.put(team, { user_path: '/team/b', max_requests: 1 }, 2);
  t.same([put('/team/a/1'), put('/team/a/2')], ['done', 'too_many_rate_limits']);
});

await test('the remains of deleted rules are bounded, too', async (t) => {
  const own = stand([]);
  const outcomes: string[] = [];
  for (let count = 0; count < 12; count += 1) {
    outcomes.push(own.put(team, { user_path: `/team/${count}`, max_requests: 1 }, 1));
    if (outcomes.at(-1) === 'done') own.remove(team, `/team/${count}`);
  }
  t.same(outcomes, [...Array.from({ length: 10 }, () => 'done'), 'too_many_rate_limits', 'too_many_rate_limits']);
  t.equal(own.put(master, { user_path: '/team/11', max_requests: 1 }, 1), 'done');
});
