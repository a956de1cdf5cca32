// The documents and epochs that writes change, with rules of the configuration, expired and unreadable ones; and the listing.
import { test } from 'tap';
import {
  deleteRule,
  knownRules,
  putRule,
  removeExpiredRules,
  resetEveryRule,
  resetRule,
} from '../../control-plane/admin/rate-limits/changes.ts';
import { type ListingParts, listing } from '../../control-plane/admin/rate-limits/listing.ts';
import { readWrite } from '../../control-plane/admin/rate-limits/read-write.ts';
import { Refusal } from '../../control-plane/errors.ts';
import { dateRules } from '../../control-plane/managed/declared-dates.ts';
import { mergeRules } from '../../domain/rules/merge.ts';
import { resetEpochs } from '../../domain/rules/reset-epochs.ts';
import { compileRules, type Rule } from '../../domain/rules/rule.ts';
import { rulePrerequisites } from '../support/rule-prerequisites.ts';
import { config, key, start, world } from './rate-limits-world.ts';

const named = { key, scope: 'user_path', subject: '/team', matchSubject: '/team', periodSeconds: 60 } as const;

function codeOf(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return `${error.status} ${error.code}`;
    throw error;
  }
}

await test('a PUT creates, then changes: created_at and the epoch are kept', async (t) => {
  const it = world();
  it.put({ max_tokens: 7, reason: 'noisy', expires_at: '2026-06-02T02:00:00+02:00' });
  t.match(it.rules(), [
    {
      key,
      source: 'manual',
      epoch: 0,
      maxTokens: 7,
      manual: { createdAt: '2026-06-01T00:00:00.000Z', expiresAt: '2026-06-02T00:00:00.000Z', updatedBy: 'master_key' },
    },
  ]);
  it.at.nowMs += 60_000;
  it.put({ max_requests: 9, mode: 'shadow' }, 'key-7');
  const [rule] = it.rules();
  t.match(rule, { epoch: 0, maxRequests: 9, mode: 'shadow' });
  t.match(rule?.manual, {
    createdAt: '2026-06-01T00:00:00.000Z',
    updatedAt: '2026-06-01T00:01:00.000Z',
    updatedBy: 'key-7',
  });
  for (const gone of ['maxTokens', 'reason', 'expiresAt'] as const)
    t.equal(rule?.manual?.[gone], undefined, `${gone} was not said again`);
  t.equal(it.documents().length, 1);
});

await test('counters start anew when the template flag is toggled, over the configuration too', async (t) => {
  const it = world(config());
  it.put();
  t.match(it.rules(), [{ epoch: 0, overridesConfig: true }], 'an override keeps the counters');
  it.put({ per_child: true });
  t.match(it.rules(), [{ epoch: 1, perChild: true }]);
  it.put({ per_child: true, max_requests: 1 });
  t.match(it.rules(), [{ epoch: 1 }]);
  it.put();
  t.match(it.rules(), [{ epoch: 2, perChild: false }]);
  const over = world(config());
  over.put({ per_child: true });
  t.match(over.rules(), [{ epoch: 1, overridesConfig: true }]);
});

await test('members that a PUT leaves out are taken from the configuration', async (t) => {
  const declared = (per_child: boolean): Rule[] =>
    compileRules({
      enabled: true,
      user_paths: [
        { path: '/team', per_child, limits: [{ period: 'minute', max_requests: 10, max_tokens: 100, mode: 'shadow' }] },
      ],
      providers: [],
      models: [],
    });
  const it = world(declared(false));
  it.put({ max_requests: 3 });
  t.match(it.rules(), [{ maxRequests: 3, maxTokens: 100, mode: 'enforce', overridesConfig: true, epoch: 0 }]);
  it.put({ max_requests: 3, max_tokens: 7 });
  t.match(it.rules(), [{ maxRequests: 3, maxTokens: 7 }]);
  it.put({ max_requests: 4 });
  t.match(it.rules(), [{ maxRequests: 4, maxTokens: 100 }], 'a PUT over an override removes what that one named');
  it.put({ max_requests: 4, max_tokens: null });
  t.match(it.rules(), [{ maxRequests: 4, maxTokens: undefined }], 'null removes what the configuration has');
  it.put({ max_requests: null });
  t.match(it.rules(), [{ maxRequests: undefined, maxTokens: 100, epoch: 0 }]);
  const template = world(declared(true));
  template.put({ max_requests: 3 });
  t.match(template.rules(), [{ perChild: true, maxRequests: 3, epoch: 0 }], 'tightening does not share the counters');
  template.put({ max_requests: 3, per_child: false });
  t.match(template.rules(), [{ perChild: false, maxTokens: 100, epoch: 1 }]);
  const alone = world();
  alone.put({ max_requests: 3, max_tokens: 7 });
  alone.put({ max_requests: 3 });
  t.match(
    alone.rules(),
    [{ maxRequests: 3, maxTokens: undefined }],
    'without the configuration an omitted cap is gone',
  );
  for (const [more, param] of [
    [{ max_requests: null, max_tokens: undefined }, 'max_requests'],
    [{ max_requests: undefined, max_tokens: null }, 'max_tokens'],
  ] as const) {
    t.throws(() => alone.put(more), { status: 400, code: 'invalid_member', param }, 'a rule has a cap');
  }
});

await test('a template needs its entitlement', async (t) => {
  const it = world();
  t.equal(
    codeOf(() => it.put({ per_child: true }, 'master_key', false)),
    '403 quota_templates_not_entitled',
  );
  t.same(it.documents(), []);
  it.put({}, 'master_key', false);
  t.equal(it.rules().length, 1);
});

await test('a DELETE removes the rule and its counters, and brings the configuration back', async (t) => {
  const it = world(config());
  t.equal(
    codeOf(() => deleteRule(it.known(), named)),
    '409 rate_limit_config_owned',
  );
  it.put();
  it.apply(deleteRule(it.known(), named));
  t.match(it.rules(), [{ source: 'config', epoch: 1, maxRequests: 10 }]);
  const bare = world();
  t.equal(
    codeOf(() => deleteRule(bare.known(), named)),
    '404 rate_limit_not_found',
  );
  bare.put();
  bare.apply(deleteRule(bare.known(), named));
  t.same(bare.rules(), []);
  bare.put();
  t.match(bare.rules(), [{ epoch: 1 }], 'made again, it counts from nothing');
});

await test('resets raise epochs and nothing else', async (t) => {
  const it = world(config());
  it.apply(resetRule(it.known(), named));
  t.match(it.rules(), [{ source: 'config', epoch: 1 }]);
  it.put();
  const before = it.documents().find(({ kind }) => kind === 'rate_limit');
  it.apply(resetRule(it.known(), named));
  it.apply(resetEveryRule(it.known()));
  it.apply(resetEveryRule(it.known()));
  t.match(it.rules(), [{ source: 'manual', epoch: 4 }]);
  t.strictSame(
    it.documents().find(({ kind }) => kind === 'rate_limit'),
    before,
  );
  t.equal(
    codeOf(() => resetRule(it.known(), { ...named, key: 'user_path 0 /team' })),
    '404 rate_limit_not_found',
  );
});

await test('an expired rule is gone for every write, and its counters start anew once', async (t) => {
  const expired = (declared: Rule[] = []) => {
    const it = world(declared);
    it.put({ expires_at: '2026-06-01T00:00:01Z' });
    it.at.nowMs += 1_000;
    return it;
  };
  const lying = expired(config());
  t.match(lying.rules(), [{ source: 'config', epoch: 1 }]);
  lying.apply(removeExpiredRules(lying.known()));
  t.match(lying.rules(), [{ source: 'config', epoch: 1 }], 'the removal changes nothing in the listing');
  t.same(removeExpiredRules(lying.known()), [], 'and happens once');
  t.equal(
    codeOf(() => deleteRule(expired().known(), named)),
    '404 rate_limit_not_found',
  );
  t.equal(
    codeOf(() => deleteRule(expired(config()).known(), named)),
    '409 rate_limit_config_owned',
  );
  t.equal(
    codeOf(() => resetRule(expired().known(), named)),
    '404 rate_limit_not_found',
  );
  const reset = expired(config());
  reset.apply(resetRule(reset.known(), named));
  t.match(reset.rules(), [{ epoch: 2 }]);
  reset.apply(removeExpiredRules(reset.known()));
  t.match(reset.rules(), [{ epoch: 2 }]);
  const again = expired(config());
  again.at.nowMs += 1_000;
  again.put();
  t.match(again.rules(), [{ epoch: 1, manual: { createdAt: '2026-06-01T00:00:02.000Z' } }], 'a new rule');
  const toggled = expired(config());
  toggled.put({ per_child: true });
  t.match(toggled.rules(), [{ epoch: 2 }], 'the shared counters of the configuration had epoch 1');
});

await test('a document that cannot be read can be removed and replaced', async (t) => {
  const it = world();
  it.apply([{ kind: 'rate_limit', id: key, body: { scope: 'nonsense' } }]);
  t.same(it.rules(), []);
  it.apply(deleteRule(it.known(), named));
  t.match(it.documents(), [{ kind: 'reset_epoch', id: key, body: { epoch: 1 } }]);
  const skipped = knownRules({ documents: [], skipped: [{ kind: 'rate_limit', id: key }] }, [], start);
  t.equal(deleteRule(skipped, named).length, 2);
  t.equal(
    codeOf(() => deleteRule(knownRules({ documents: [], skipped: [{ kind: 'auth_key', id: key }] }, [], start), named)),
    '404 rate_limit_not_found',
  );
});

await test('there is a largest number of rules, which updates do not count against', async (t) => {
  const [rule] = config();
  if (rule === undefined) throw new Error('no rule');
  const many = Array.from({ length: 99_999 }, (_, index): Rule => ({ ...rule, key: `user_path 60 /${index}` }));
  const write = (user_path: string) =>
    readWrite({ user_path, limit_key: { period: 'minute' }, max_requests: 5 }, start);
  const last = knownRules({ documents: [], skipped: [] }, many, start);
  t.equal(putRule(last, write('/team'), 'master_key', true).length, 1, 'the 100,000th');
  const full = knownRules({ documents: [], skipped: [] }, [...many, rule], start);
  t.equal(
    codeOf(() => putRule(full, write('/more'), 'master_key', true)),
    '409 too_many_rate_limits',
  );
  t.equal(putRule(full, write('/team'), 'master_key', true).length, 1, 'an override is not one more');
});

interface Listed {
  readonly rate_limits: Record<string, unknown>[];
  readonly server_time: string;
}

function listed(parts: ListingParts): Listed {
  const { open, entries, close } = listing(parts);
  return JSON.parse(open + [...entries].join() + close) as Listed;
}

await test('the listing shows exactly what each kind of rule has', async (t) => {
  const limits = [
    { period: 'minute' as const, max_requests: 10, mode: 'enforce' as const },
    { period: 'concurrent' as const, max_requests: 3, mode: 'enforce' as const },
    { period_seconds: 7, max_tokens: 50, mode: 'shadow' as const },
  ];
  const rules = mergeRules({
    config: compileRules({
      enabled: true,
      user_paths: [
        { path: 'team/', per_child: false, limits },
        { path: '/children', per_child: true, limits },
      ],
      providers: [{ name: 'OpenAI', limits }],
      models: [],
    }),
    manual: [],
    epochs: resetEpochs([]),
    nowMs: start,
    prerequisites: rulePrerequisites(),
  });
  const live = {
    of: () => ({ requestsUsed: 12, tokensUsed: 20, tokensReserved: 7, startMs: start + 1_000, endMs: start + 62_000 }),
    inFlight: () => [1],
    refused: () => 4,
    parts: () => [],
    scopes: [],
  };
  const nowMs = start + 61_234;
  const { rate_limits: items, server_time } = listed({
    rules,
    places: new Map(),
    prerequisites: rulePrerequisites(),
    live,
    declared: dateRules(new Map(), rules, start),
    nowMs,
  });
  t.equal(server_time, '2026-06-01T00:01:01.234Z');
  const shared = {
    source: 'config',
    overrides_config: false,
    enforced: true,
    refused: 4,
    created_at: '2026-06-01T00:00:00.000Z',
    updated_at: '2026-06-01T00:00:00.000Z',
  };
  const item = (subject: string, label: string) => {
    const { id, ...rest } = items.find((one) => one['subject'] === subject && one['period_label'] === label) ?? {};
    t.match(id, /^[a-z2-7]{8}$/);
    return rest;
  };
  t.strictSame(item('/team', 'minute'), {
    ...shared,
    scope: 'user_path',
    subject: '/team',
    effective_subject: '/team',
    user_path: '/team',
    per_child: false,
    mode: 'enforce',
    period_label: 'minute',
    period_seconds: 60,
    max_requests: 10,
    requests_used: 12,
    requests_remaining: 0,
    tokens_used: 0,
    in_flight: 0,
    window_start: '2026-06-01T00:00:01.000Z',
    window_end: '2026-06-01T00:01:02.000Z',
  });
  t.strictSame(item('OpenAI', 'concurrent'), {
    ...shared,
    scope: 'provider',
    subject: 'OpenAI',
    effective_subject: 'openai',
    per_child: false,
    mode: 'enforce',
    period_label: 'concurrent',
    period_seconds: 0,
    max_requests: 3,
    requests_used: 0,
    requests_remaining: 2,
    tokens_used: 0,
    in_flight: 1,
  });
  t.match(item('OpenAI', '7s'), {
    mode: 'shadow',
    requests_used: 0,
    tokens_used: 20,
    tokens_reserved: 7,
    tokens_remaining: 23,
  });
  t.notOk('requests_remaining' in item('OpenAI', '7s'));
  for (const label of ['minute', 'concurrent', '7s']) {
    const template = item('/children', label);
    t.match(template, { per_child: true, requests_used: 0, tokens_used: 0, in_flight: 0 }, label);
    t.same(
      Object.keys(template).filter((name) => /remaining|reserved|window|effective/.test(name)),
      [],
      `${label}: no aggregate`,
    );
  }
  t.same(
    listed({
      rules: [],
      prerequisites: rulePrerequisites(),
      live,
      declared: new Map(),
      places: new Map(),
      nowMs: start,
    }),
    {
      rate_limits: [],
      server_time: '2026-06-01T00:00:00.000Z',
    },
  );
});
