// A rule or a drain of an operator that ends by itself has a line, once; that of a rule says what is in force instead.
import { test } from 'tap';
import { readManualRule } from '../../domain/rules/manual-rule.ts';
import { compileRules } from '../../domain/rules/rule.ts';
import { timestamp } from '../../domain/timestamp.ts';
import { createExpiryLines } from '../../plane/expired-rules.ts';
import { rulePrerequisites } from '../support/rule-prerequisites.ts';

const start = Date.UTC(2026, 5, 1);

function manual(path: string, endsMs: number | undefined) {
  const body = {
    scope: 'user_path',
    subject: path,
    per_child: false,
    period_seconds: 60,
    max_requests: 2,
    mode: 'enforce',
    reason: 'runaway batch job',
    ...(endsMs === undefined ? {} : { expires_at: timestamp(endsMs) }),
    created_at: timestamp(start),
    updated_at: timestamp(start),
    updated_by: 'key-9',
  };
  const rule = readManualRule(`user_path 60 ${path}`, body);
  if (rule === undefined) throw new Error(`no rule: ${path}`);
  return rule;
}

function drain(endsMs: number) {
  const written = { createdAt: timestamp(start), updatedAt: timestamp(start), updatedBy: 'key-9' };
  const target = { key: 'p/a/m', provider: 'p', model: 'a/m' };
  return { ...target, reason: 'maintenance', expiresAt: timestamp(endsMs), ...written };
}

await test('each end is told once, at the first look after it, with what is in force instead', async (t) => {
  const limits = [{ period: 'minute' as const, max_requests: 10, mode: 'enforce' as const, name: 'team A' }];
  const config = compileRules({
    enabled: true,
    user_paths: [{ path: '/a', per_child: false, limits }],
    providers: [],
    models: [],
  });
  const said: object[] = [];
  const tell = createExpiryLines({ info: (fields, text) => void said.push({ ...fields, text }) });
  const rules = {
    manual: [manual('/a', start + 10), manual('/b', start + 20), manual('/c', undefined)],
    config,
    prerequisites: rulePrerequisites(),
    drains: [drain(start + 6_000)],
  };
  const at = (ms: number): object[] => {
    tell(rules, start + ms);
    return said.splice(0);
  };
  t.same(at(9), []);
  const rule = { per_child: false, mode: 'enforce' };
  const author = { reason: 'runaway batch job', expires_at: timestamp(start + 10), updated_by: 'key-9' };
  t.strictSame(at(10), [
    {
      about: 'rule user_path /a minute',
      before: { source: 'manual', name: 'team A', ...rule, max_requests: 2, ...author },
      after: { source: 'config', name: 'team A', ...rule, max_requests: 10 },
      ...author,
      text: 'override expired',
    },
  ]);
  t.same(at(11), []);
  t.match(at(5_000), [{ about: 'rule user_path /b minute', after: null }]);
  t.strictSame(at(50_000), [
    {
      about: 'target p/a/m',
      reason: 'maintenance',
      expires_at: timestamp(start + 6_000),
      updated_by: 'key-9',
      text: 'drain ended',
    },
  ]);
  t.same(at(50_001), []);
});
