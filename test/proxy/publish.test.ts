// What is put in force: config and managed documents together, whichever comes first and whatever is wrong with single documents.
import { test } from 'tap';
import { manualAliasKind } from '../../domain/aliases/manual-alias.ts';
import { inOrder } from '../../domain/documents/order.ts';
import { authKeyKind } from '../../domain/keys/auth-key.ts';
import { identify } from '../../domain/keys/credentials.ts';
import { digestOf } from '../../domain/keys/secret.ts';
import { manualRuleKind } from '../../domain/rules/manual-rule.ts';
import { everyRule, resetEpochBody, resetEpochKind } from '../../domain/rules/reset-epochs.ts';
import { targetDrainKind } from '../../domain/targets/target-drain.ts';
import { timestamp } from '../../domain/timestamp.ts';
import { createExpiryLines } from '../../plane/expired-rules.ts';
import { createPublisher, type Publication } from '../../proxy/snapshot/publish.ts';
import type { Config, Limit } from '../../schemas/types.ts';
import { waitFor } from '../support/wait-for.ts';
import { sampleConfig } from './sample-config.ts';

const start = Date.UTC(2026, 0, 1);
const written = { created_at: timestamp(start), updated_at: timestamp(start) };

function startPublisher({ hasTemplates = true, usageEnabled = true, nowMs = () => start } = {}) {
  const put: Publication[] = [];
  const said: (readonly string[])[] = [];
  const ended: object[] = [];
  const publishing = createPublisher({
    masterKey: 'sk-master',
    hasTemplates,
    usageEnabled,
    put: (next) => void put.push(next),
    warn: (problems) => void said.push(problems.map(({ level, text }) => `${level}: ${text}`)),
    tellExpired: createExpiryLines({ info: (fields, text) => void ended.push({ ...fields, text }) }),
    nowMs,
  });
  type Documents = typeof publishing.documents;
  const publisher = {
    config: (config: Config, revision: string) => publishing.config(config, revision),
    documents: (state: Parameters<Documents>[0], origin: Partial<Parameters<Documents>[1]> = {}) =>
      publishing.documents({ ...state, documents: state.documents.toSorted(inOrder) }, { source: 'store', ...origin }),
  };
  const latest = () => {
    const last = put.at(-1);
    if (last === undefined) throw new Error('nothing is in force');
    return last;
  };
  return {
    publisher,
    put,
    said,
    ended,
    isEnforced: () => latest().enforcement.isEnforced,
    /** `path cap` of each rule that has counters. */
    caps: () => latest().rules.map((rule) => `${rule.matchSubject} ${rule.maxRequests}`),
    /** The id of the key that this secret opens. */
    keyOf: (secret: string) => identify(secret, latest().snapshot.credentials, start)?.key?.id,
    snapshot: () => latest().snapshot,
  };
}

function configOf(limits: Record<string, Partial<Limit>>, { enabled = true, perChild = false } = {}): Config {
  const config = sampleConfig({ providers: { p: {} } });
  const userPaths = Object.entries(limits).map(([path, limit]) => ({
    path,
    per_child: perChild,
    limits: [{ mode: 'enforce' as const, period: 'minute' as const, ...limit }],
  }));
  return { ...config, rate_limits: { ...config.rate_limits, enabled, user_paths: userPaths } };
}

const ruleDocument = (path: string, cap: number, more: object = {}) => ({
  kind: manualRuleKind,
  id: `user_path 60 ${path}`,
  revision: 1,
  body: {
    scope: 'user_path',
    subject: path,
    per_child: false,
    period_seconds: 60,
    max_requests: cap,
    mode: 'enforce',
    ...written,
    updated_by: 'master_key',
    ...more,
  },
});

const keyDocument = (id: string, secret: string, more: object = {}) => ({
  kind: authKeyKind,
  id,
  revision: 1,
  body: {
    name: id,
    dashboard_access: false,
    digest: digestOf(secret),
    redacted_value: 'sk-gw-...',
    enabled: true,
    ...written,
    created_by: 'master_key',
    ...more,
  },
});

await test('nothing is in force before there is a config; then everything known is', async (t) => {
  const { publisher, put, caps, keyOf } = startPublisher();
  publisher.documents({
    documents: [ruleDocument('/a', 5), keyDocument('k', 'sk-1')],
  });
  t.equal(put.length, 0);
  publisher.config(configOf({ '/a': { max_requests: 1 }, '/b': { max_requests: 2 } }), 'r1');
  t.same(caps(), ['/a 5', '/b 2']);
  t.equal(keyOf('sk-1'), 'k');
  t.equal(keyOf('sk-2'), undefined);
});

await test('keys that did not change stay the same credentials, so that connections go on knowing theirs', async (t) => {
  const { publisher, snapshot } = startPublisher();
  publisher.config(configOf({}), 'r1');
  const documents = [keyDocument('k', 'sk-1')];
  publisher.documents({ documents });
  const { credentials } = snapshot();
  publisher.documents({ documents: [...documents, ruleDocument('/a', 5)] });
  publisher.config(configOf({ '/a': { max_requests: 1 } }), 'r2');
  t.equal(snapshot().credentials, credentials);
  t.equal(snapshot().revision, 'r2');
  publisher.documents({ documents: [...documents, keyDocument('l', 'sk-2')] });
  t.not(snapshot().credentials, credentials);
});

await test('limits that a change does not touch are the same objects, so that no part takes them in again', async (t) => {
  const { publisher, put } = startPublisher();
  publisher.config(configOf({ '/a': { max_requests: 1 } }), 'r1');
  const documents = [ruleDocument('/a', 5), ruleDocument('/b', 5), keyDocument('k', 'sk-1')];
  publisher.documents({ documents });
  publisher.documents({ documents: [...documents, keyDocument('l', 'sk-2')] });
  const [before, after] = put.slice(-2);
  for (const part of ['rules', 'budgets', 'enforcement'] as const) t.equal(after?.[part], before?.[part], part);
  publisher.documents({ documents: documents.with(1, ruleDocument('/b', 6)) });
  const { rules, budgets, enforcement } = put.at(-1) ?? {};
  t.same(
    rules?.filter((rule) => !after?.rules.includes(rule)).map(({ maxRequests }) => maxRequests),
    [6],
  );
  t.same([budgets, enforcement], [after?.budgets, after?.enforcement]);
});

await test('keys of other bodies count, at whatever revision they are', async (t) => {
  const { publisher, keyOf } = startPublisher();
  publisher.config(configOf({}), 'r1');
  publisher.documents({ documents: [keyDocument('old', 'sk-old')] });
  t.same([keyOf('sk-old'), keyOf('sk-new')], ['old', undefined]);
  publisher.documents({ documents: [keyDocument('new', 'sk-new')] });
  t.same([keyOf('sk-old'), keyOf('sk-new')], [undefined, 'new']);
  const revoked = { enabled: false, deactivated_at: timestamp(start) };
  publisher.documents({ documents: [keyDocument('new', 'sk-new', revoked)] });
  t.equal(keyOf('sk-new'), undefined);
});

await test('keys are not complete until the store, or a copy of it, could be read', async (t) => {
  const { publisher, snapshot, keyOf } = startPublisher();
  const unread = { documents: [] };
  publisher.documents(unread, { source: 'nothing' });
  publisher.config(configOf({}), 'r1');
  t.equal(snapshot().credentials.isComplete, false);
  publisher.documents(unread);
  t.equal(snapshot().credentials.isComplete, true, 'a store without keys says that there are none');
  publisher.documents(unread, { source: 'nothing' });
  const copied = { documents: [keyDocument('k', 'sk-1')] };
  publisher.documents(copied, { source: 'copy' });
  t.equal(snapshot().credentials.isComplete, true);
  t.equal(keyOf('sk-1'), 'k');
});

await test('documents that cannot be read are named, once, and cost only themselves', async (t) => {
  const { publisher, said, caps, keyOf } = startPublisher();
  publisher.config(configOf({ '/c': { max_requests: 3 } }), 'r1');
  const good = [ruleDocument('/a', 5), keyDocument('k', 'sk-1')];
  const epoch = (id: string, body: unknown) => ({ kind: resetEpochKind, id, revision: 1, body });
  const bad = [
    ruleDocument('/b', 0),
    keyDocument('broken', 'sk-2', { enabled: 'yes' }),
    epoch('user_path 60 /c', { epoch: 'x' }),
    epoch(everyRule, 7),
  ];
  const state = { documents: [...good, ...bad] };
  publisher.documents(state);
  t.same(caps(), ['/a 5', '/c 3']);
  t.same([keyOf('sk-1'), keyOf('sk-2')], ['k', undefined]);
  const expected = [
    'error: the stored rule "user_path 60 /b" cannot be read and is not enforced',
    'error: the stored reset of every rule cannot be read',
    'error: the stored reset of "user_path 60 /c" cannot be read',
    'error: the stored key "broken" cannot be read and is refused',
  ];
  t.same(said, [expected]);
  publisher.documents(state);
  publisher.config(configOf({ '/c': { max_requests: 4 } }), 'r2');
  t.equal(said.length, 1, 'and not again');
  publisher.documents({ ...state, documents: good });
  t.same(said, [expected, []]);
});

await test('resets raise the epochs of the rules they are about', async (t) => {
  const { publisher, put } = startPublisher();
  publisher.config(configOf({ '/a': { max_requests: 1 }, '/b': { max_requests: 1 } }), 'r1');
  const epoch = (id: string, count: number) => ({
    kind: resetEpochKind,
    id,
    revision: 1,
    body: resetEpochBody(count, timestamp(start)),
  });
  const documents = [epoch('user_path 60 /a', 2), epoch(everyRule, 1)];
  publisher.documents({ documents });
  t.same(
    put.at(-1)?.rules.map((rule) => rule.epoch),
    [3, 1],
  );
});

await test('with limits switched off no rule is enforced, manual ones neither, and all keep their counters', async (t) => {
  const { publisher, caps, isEnforced, keyOf } = startPublisher();
  publisher.config(configOf({ '/a': { max_requests: 1 } }, { enabled: false }), 'r1');
  const documents = [ruleDocument('/b', 5), keyDocument('k', 'sk-1')];
  publisher.documents({ documents });
  t.same([caps(), isEnforced()], [['/a 1', '/b 5'], false]);
  t.equal(keyOf('sk-1'), 'k');
  publisher.config(configOf({ '/a': { max_requests: 1 } }), 'r2');
  t.same([caps(), isEnforced()], [['/a 1', '/b 5'], true]);
});

await test('a template without its entitlement is not in force, and said so', async (t) => {
  const { publisher, caps, said } = startPublisher({ hasTemplates: false });
  publisher.config(configOf({ '/a': { max_requests: 1 } }), 'r1');
  publisher.documents({ documents: [ruleDocument('/b', 5, { per_child: true })] });
  t.same(caps(), ['/a 1']);
  t.match(said, [
    [
      /^error: the manual per-child rule user_path \/\S+ minute is not enforced: per_child needs the entitlement quota_templates$/,
    ],
  ]);
  publisher.documents({ documents: [ruleDocument('/a', 5, { per_child: true })] });
  t.same(caps(), ['/a 1'], 'and hides no rule of the configuration');
});

await test('manual rules without a subject, or with tokens that are not counted, are logged once', async (t) => {
  const { publisher, caps, said } = startPublisher({ usageEnabled: false });
  const model = ruleDocument('/model', 5, { scope: 'model', subject: 'p/gone' });
  const tokens = { max_requests: null, max_tokens: 7 };
  const documents = [
    { ...model, id: 'model 60 p/gone' },
    ...['/a', '/b'].map((path) => ruleDocument(path, 5, tokens)),
    ruleDocument('/c', 5, tokens),
  ];
  publisher.documents({ documents });
  publisher.config(configOf({ '/a': { max_requests: 1 } }), 'r1');
  publisher.config(configOf({ '/a': { max_requests: 1 } }), 'r2');
  t.match(said, [
    [
      /^warn: the manual rule model p\/gone minute is not enforced: no provider lists the model "p\/gone"$/,
      /^warn: manual rules cap tokens, which are not counted: USAGE_ENABLED is false/,
    ],
  ]);
  t.ok(caps().includes('/a 1'), 'a token cap that is not counted hides no rule of the configuration');
});

await test('a drain is in force until it ends, by itself', async (t) => {
  const beganMs = performance.now();
  const { publisher, put, ended } = startPublisher({ nowMs: () => start + Math.floor(performance.now() - beganMs) });
  const body = { provider: 'P', model: 'a/M', reason: 'maintenance', ...written, updated_by: 'master_key' };
  const document = {
    kind: targetDrainKind,
    id: 'p/a/m',
    body: { ...body, expires_at: timestamp(start + 300) },
    revision: 1,
  };
  publisher.config(configOf({}), 'r1');
  publisher.documents({ documents: [document] });
  const drained = () => put.at(-1)?.drains.of('p', 'A/m')?.reason;
  t.equal(drained(), 'maintenance');
  await waitFor('its end', () => drained() === undefined);
  t.match(ended, [{ about: 'target P/a/M', text: 'drain ended' }]);
});

await test('an override ends when it expires, without a message', async (t) => {
  const beganMs = performance.now();
  const { publisher, caps, ended } = startPublisher({ nowMs: () => start + Math.floor(performance.now() - beganMs) });
  publisher.config(configOf({ '/a': { max_requests: 1 } }), 'r1');
  const override = ruleDocument('/a', 9, { expires_at: timestamp(start + 300) });
  publisher.documents({ documents: [override] });
  t.same(caps(), ['/a 9']);
  await waitFor('the override to end', () => caps()[0] === '/a 1', 2_000);
  t.ok(performance.now() - beganMs >= 300, 'not before');
  t.match(ended, [{ about: 'rule user_path /a minute', text: 'override expired' }], 'the log says so');
});

await test('an override ends when the clock is set beyond its end', async (t) => {
  let aheadMs = 0;
  const { publisher, caps } = startPublisher({ nowMs: () => start + aheadMs });
  publisher.config(configOf({ '/a': { max_requests: 1 } }), 'r1');
  const override = ruleDocument('/a', 9, { expires_at: timestamp(start + 3_600_000) });
  publisher.documents({ documents: [override] });
  t.same(caps(), ['/a 9']);
  aheadMs = 3_600_000;
  await waitFor('the override to end', () => caps()[0] === '/a 1', 2_000);
});

const aliasDocument = (source: string, model: string, more: object = {}) => ({
  kind: manualAliasKind,
  id: source,
  revision: 1,
  body: {
    alias: { source, targets: [{ model, weight: 1 }], strategy: 'round_robin', enabled: true, hedge: false, ...more },
    ...written,
    updated_by: 'master_key',
  },
});

await test('an alias of an operator is in force with any config that has its targets', async (t) => {
  const { publisher, snapshot, said } = startPublisher();
  const withModels = (...models: string[]): Config =>
    sampleConfig({ providers: { p: { models } }, aliases: [{ source: 'chat', targets: [{ model: 'p/m' }] }] });
  const leadsTo = (name: string) => snapshot().routes.get(name)?.targets[0]?.model;
  const documents = [aliasDocument('chat', 'p/n'), aliasDocument('more', 'chat')];
  publisher.documents({ documents });
  publisher.config(withModels('m', 'n'), 'one');
  t.same([leadsTo('chat'), leadsTo('more')], ['n', 'n']);
  t.equal(snapshot().revision, 'one');
  publisher.config(withModels('m'), 'two');
  t.same([leadsTo('chat'), leadsTo('more')], ['m', 'm'], 'the declared one is back');
  t.match(said.at(-1), [
    /^warn: the virtual model "chat" is not in force: the provider "p" does not list the model "n"/,
  ]);
  publisher.config(withModels('m', 'n'), 'three');
  t.equal(leadsTo('chat'), 'n');
  t.same(said.at(-1), []);
  const before = snapshot().routes;
  publisher.documents({ documents: [...documents, keyDocument('k', 'sk-1')] });
  t.equal(snapshot().routes, before, 'nothing is compiled again when no alias has changed');
  publisher.documents({ documents: [] });
  t.same([leadsTo('chat'), leadsTo('more')], ['m', undefined]);
});
