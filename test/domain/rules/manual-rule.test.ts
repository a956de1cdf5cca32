// Documents of manual rules and epochs: a written document is read back, and an invalid one is never a rule.
import { test } from 'tap';
import { resets } from '../../../domain/documents/kinds.ts';
import { readKind, type StoredDocument } from '../../../domain/documents/managed-kind.ts';
import { expiryMs } from '../../../domain/rules/authorship.ts';
import { manualRuleBody, readManualRule } from '../../../domain/rules/manual-rule.ts';
import { everyRule, resetEpochBody, resetEpochs } from '../../../domain/rules/reset-epochs.ts';

const body = {
  name: 'OpenAI at night',
  scope: 'provider',
  subject: 'OpenAI',
  per_child: false,
  period_seconds: 60,
  max_requests: 5,
  max_tokens: 9_007_199_254_740_991,
  mode: 'shadow',
  on_store_loss: 'closed',
  reason: 'noisy',
  expires_at: '2026-01-31T12:00:00.000Z',
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-02T00:00:00.000Z',
  updated_by: 'master_key',
};
const id = 'provider 60 openai';
const { name: _name, reason: _reason, expires_at: _expiry, max_tokens: _tokens, on_store_loss: _loss, ...least } = body;

await test('a document is a rule and a rule is its document', async (t) => {
  const rule = readManualRule(id, body);
  t.match(rule, { key: id, subject: 'OpenAI', matchSubject: 'openai', maxRequests: 5, reason: 'noisy' });
  t.strictSame(rule && manualRuleBody(rule), body);
  t.equal(rule && expiryMs(rule), Date.UTC(2026, 0, 31, 12));
  const path = { ...least, scope: 'user_path', subject: '  shown//odd/ ' };
  t.match(
    readManualRule('user_path 60 /shown/odd', path),
    { subject: '/shown/odd' },
    'a path is shown as it is matched',
  );
  const bare = readManualRule(id, least);
  t.strictSame(bare && manualRuleBody(bare), least, 'what is not there stays away');
  t.equal(bare && expiryMs(bare), Number.POSITIVE_INFINITY);
});

await test('null is a cap that is removed, 0 a block, and what an older document left out is not named', async (t) => {
  const removed = { ...body, max_requests: null };
  const rule = readManualRule(id, removed);
  t.strictSame([rule?.maxRequests, rule && manualRuleBody(rule)], [null, removed]);
  const blocked = readManualRule(id, { ...body, max_requests: 0 });
  t.equal(blocked?.maxRequests, 0);
  t.equal(readManualRule(id, least)?.maxTokens, undefined);
});

await test('members of a newer version are ignored', async (t) => {
  t.strictSame(readManualRule(id, { ...body, colour: 'red' }), readManualRule(id, body));
});

const garbage: [why: string, body: unknown][] = [
  ['nothing', null],
  ['a list', [body]],
  ['a text', 'rule'],
  ['another scope', { ...body, scope: 'Provider' }],
  ['no subject', { ...body, subject: undefined }],
  ['a subject of another rule', { ...body, subject: 'azure' }],
  ['a subject that cannot be compared', { ...body, scope: 'model', subject: 'a/' }],
  ['another period', { ...body, period_seconds: 61 }],
  ['half a second', { ...body, period_seconds: 0.5 }],
  ['a period as text', { ...body, period_seconds: '60' }],
  ['a template of a provider', { ...body, per_child: true }],
  ['no per_child', { ...body, per_child: undefined }],
  ['no cap', { ...body, max_requests: undefined, max_tokens: undefined }],
  ['a cap of 0 without an end', { ...body, max_requests: 0, expires_at: undefined }],
  ['a cap as text', { ...body, max_requests: '5' }],
  ['a cap beyond integers', { ...body, max_tokens: 2 ** 53 }],
  ['another mode', { ...body, mode: 'off' }],
  ['another word for a lost store', { ...body, on_store_loss: 'ajar' }],
  ['a name that is none', { ...body, name: 5 }],
  ['a name that no header may hold', { ...body, name: 'a\nb' }],
  ['a reason that is none', { ...body, reason: 5 }],
  ['an end that is none', { ...body, expires_at: 'soon' }],
  ['no creation', { ...body, created_at: undefined }],
  ['no update', { ...body, updated_at: '2026-02-30T00:00:00Z' }],
  ['no author', { ...body, updated_by: null }],
];

await test('garbage is no rule', async (t) => {
  for (const [why, stored] of garbage) t.equal(readManualRule(id, stored), undefined, why);
  t.equal(readManualRule('provider 0 openai', { ...body, period_seconds: 0 }), undefined, 'tokens in flight');
  t.equal(readManualRule('provider 0 openai', { ...least, period_seconds: 0 })?.periodSeconds, 0);
  t.equal(readManualRule('provider 61 openai', body), undefined, 'the id of another rule');
});

const epochsOf = (documents: readonly StoredDocument[]) => resetEpochs(readKind(resets, documents).values);

await test('the epoch of a rule is its own plus that of all', async (t) => {
  const epochs = epochsOf([
    { kind: 'reset_epoch', id, body: resetEpochBody(3, '2026-01-01T00:00:00Z') },
    { kind: 'reset_epoch', id: everyRule, body: resetEpochBody(4, '2026-01-01T00:00:00Z') },
    { kind: 'reset_epoch', id: 'a', body: { epoch: '7' } },
    { kind: 'reset_epoch', id: 'b', body: { epoch: -1 } },
    { kind: 'reset_epoch', id: 'c', body: null },
    { kind: 'rate_limit', id: 'd', body: resetEpochBody(9, '2026-01-01T00:00:00Z') },
  ]);
  t.equal(epochs.of(id), 7);
  t.same(
    [...epochs.raisedAtMs],
    [
      [id, Date.UTC(2026, 0, 1)],
      [everyRule, Date.UTC(2026, 0, 1)],
    ],
  );
  const undated = epochsOf([{ kind: 'reset_epoch', id, body: { epoch: 2, raised_at: 'yesterday' } }]);
  t.same(
    [undated.of(id), undated.raisedAtMs.get(id)],
    [2, Number.POSITIVE_INFINITY],
    'a strange date costs only itself',
  );
  t.equal(epochs.stored(id), 3);
  for (const key of ['a', 'b', 'c', 'd', 'unknown']) t.equal(epochs.of(key), 4, `${key}: only that of all`);
  t.equal(resetEpochs([]).of(id), 0);
});
