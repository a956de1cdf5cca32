// Tests that are made of requests: of an explanation, and of an entry of the audit log. Run against the same configuration, each passes.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { parse } from 'yaml';
import type { AuditEntry } from '../../../domain/records/audit-entry.ts';
import { checkConfig } from '../../../gitops/cli/check-directory.ts';
import { testOfEntry } from '../../../gitops/config-tests/test-of-entry.ts';
import { testOfExplanation } from '../../../gitops/config-tests/test-of-explanation.ts';
import { compileForTests } from '../../../proxy/config-tests/compiled.ts';
import { decide } from '../../../proxy/config-tests/decide.ts';
import type { ConfigTest, Given } from '../../../schemas/types.ts';
import { temporaryDirectory } from '../../support/teardown.ts';
import { checked, configuration } from './fixture.ts';

const given = (more: Partial<Given>): Given => ({ model: 'chat', stream: false, images: false, ...more });

await test('a test of an explanation passes, with the wait of its rule', async (t) => {
  const directory = temporaryDirectory(t, 'gateway-test-of');
  mkdirSync(join(directory, 'config'));
  writeFileSync(join(directory, 'config/config.yaml'), configuration);
  const { read } = await checkConfig([join(directory, 'config')], {});
  if (read === undefined) throw new Error('the configuration is good');
  const compiled = compileForTests(read.config, read.revision, true);
  const rows: Readonly<Record<string, Partial<Given>>> = {
    'a minute': {
      user_path: '/a/x',
      used_before: [{ requests: 40, over: '47s', ago: '3s' }],
      time: '2026-05-05T05:05:05.678Z',
    },
    'a day of tokens': { user_path: '/a', used_before: [{ rule: 'user_path /a day', tokens: 100_001, ago: '7h' }] },
    slots: { user_path: '/a/jobs', used_before: [{ in_flight: 3 }] },
    budget: { user_path: '/a', used_before: [{ spent: 5.5 }] },
    key: { key: 'ci', model: 'main/n' },
    unknown: { model: 'nothing' },
    'a target is used up': { used_before: [{ rule: 'provider main minute', requests: 100 }] },
    'a target is down': { down: ['main'] },
    admitted: { user_path: '/a', tokens: { input: 10 }, endpoint: '/v1/messages', stream: true },
  };
  for (const [name, row] of Object.entries(rows)) {
    const explanation = (await decide({ name, given: given(row), expect: {} }, compiled)).explain();
    if (explanation === undefined) throw new Error('it is explained');
    const text = testOfExplanation(explanation, { requestId: 'req_1' });
    const { output, code } = await checked(t, text);
    t.equal(code, 0, `${name}: ${text}\n${output}`);
    const { tests } = parse(text) as { tests: [ConfigTest] };
    const { refusal, targets } = explanation;
    const { expect } = tests[0];
    if (refusal === undefined)
      t.same(
        expect.targets,
        targets.filter(({ would }) => would === 'ask').map(({ target }) => target),
      );
    else if (refusal.retry_after_seconds !== undefined)
      t.equal(expect.refused?.retry_after, `${refusal.retry_after_seconds}s`);
  }
});

const entry = (more: Partial<Omit<AuditEntry, 'data'>>, data: Partial<AuditEntry['data']> = {}) =>
  ({
    id: '0190',
    request_id: 'req_1',
    timestamp: '2026-05-05T05:05:05.678Z',
    method: 'POST',
    path: '/v1/chat/completions',
    status_code: 200,
    user_path: '/a/x',
    data: { attempts: [], request_body: { messages: 'secret words' }, ...data },
    ...more,
  }) as unknown as AuditEntry;

await test('a test of an entry of the audit log passes, and holds no words', async (t) => {
  const refused = { status_code: 429 };
  const limited = { error_code: 'rate_limit_exceeded', rule: 'a-minute' };
  const rows: Readonly<Record<string, AuditEntry>> = {
    answered: entry({ requested_model: 'chat', alias_used: true, resolved_model: 'main/m' }),
    'refused before its body was read': entry(refused, {
      ...limited,
      error_message: 'Rate limit exceeded for /a: 40 requests per minute. Retry in 34 s.',
    }),
    'by slots': entry(
      { ...refused, user_path: '/a/jobs' },
      {
        error_code: 'rate_limit_exceeded',
        rule: 'user_path /a/jobs concurrent',
        error_message: 'Rate limit exceeded for /a/jobs: 3 concurrent requests. Retry in 1 s.',
      },
    ),
    'by a budget': entry(
      { ...refused, requested_model: 'chat' },
      {
        error_code: 'budget_exceeded',
        rule: 'user_path /a monthly',
        error_message: 'Budget exceeded for /a: 5.100000 of 5.000000 US dollars are spent (monthly). Retry in 9 s.',
      },
    ),
    'a key of the configuration': entry(
      { status_code: 403, requested_model: 'main/n', auth_key_id: 'config:ci' },
      { error_code: 'model_access_denied' },
    ),
  };
  for (const [name, row] of Object.entries(rows)) {
    const text = testOfEntry(row) ?? '';
    const { output, code } = await checked(t, text);
    t.equal(code, 0, `${name}: ${text}\n${output}`);
    t.notMatch(text, 'secret words');
  }
  t.equal(testOfEntry(entry({ status_code: 400 })), undefined, 'it asks for no model');
  t.equal(
    testOfEntry(entry({ requested_model: 'chat' }, { error_code: 'guardrail_blocked' })),
    undefined,
    'its words have decided',
  );
  t.equal(testOfEntry(entry({}, { event_type: 'admin_write' })), undefined);
});
