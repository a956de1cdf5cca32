// An explanation says what would become of a request, and changes nothing of it.

import { Ajv2020 } from 'ajv/dist/2020.js';
import { test } from 'tap';
import { onlyPath } from '../../domain/conditions/facts.ts';
import { targetDrains } from '../../domain/documents/kinds.ts';
import { credentialsOf } from '../../domain/keys/credentials.ts';
import { timestamp } from '../../domain/timestamp.ts';
import { namingEndpoints } from '../../proxy/endpoints/naming-endpoints.ts';
import { Refusal } from '../../proxy/errors.ts';
import { readQuestion } from '../../proxy/explain/read-question.ts';
import { Fleet } from '../../proxy/limits/fleet/fleet.ts';
import { resolve } from '../../proxy/stages/resolve.ts';
import schema from '../../schemas/admin/explanation.schema.json' with { type: 'json' };
import type { RateLimits } from '../../schemas/types.ts';
import { nearness } from '../../schemas/validation/nearness.ts';
import { explainCases } from './explain-cases.ts';
import { explainEndpointCases } from './explain-endpoint-cases.ts';
import { type ExplainStand, explainStand, keyDocument, limit, start } from './explain-stand.ts';
import { named, refusedBy } from './stage-parts.ts';

const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);

for (const { says, stand, asked, expected, gives } of [...explainCases, ...explainEndpointCases]) {
  await test(says, async (t) => {
    const explanation = stand().explain(asked);
    t.strictSame(expected(explanation), gives);
    // What the whole process adds.
    t.ok(validate({ ...explanation, state_revision: 1, instance: 'p' }), JSON.stringify(validate.errors));
  });
}

await test('there are at least thirty cases', async (t) => {
  t.ok(explainCases.length >= 30, String(explainCases.length));
});

await test('a hedge is told with the moment at which it begins', async (t) => {
  const targets = [{ model: 'a/m' }, { model: 'b/m' }];
  const aliases = [{ source: 'both', hedge: true, rescue: 'restart' as const, targets }];
  const stand = explainStand({ providers: { a: {}, b: {} }, aliases });
  const { latency } = stand.targets.of(stand.target('a'));
  for (let answer = 0; answer < 20; answer += 1) latency.observe(256, start, true);
  const told = stand.explain({ model: 'both', stream: true });
  t.ok(validate({ ...told, state_revision: 1, instance: 'p' }), JSON.stringify(validate.errors));
  t.equal(told.resolution.rescue, 'restart');
  t.strictSame([told.resolution.hedge, ...told.targets.map((step) => step.hedge_after_ms)], [true, 256, undefined]);
});

await test('a mirror is told with its share, and with what stands in its way', async (t) => {
  const mirror = { target: 'b/m', share: 0.25 };
  const aliases = [{ source: 'chat', targets: [{ model: 'a/m' }], mirror }];
  const documents = [keyDocument('k', { allowed_models: ['chat'] })];
  const stand = explainStand({ providers: { a: {}, b: {} }, aliases }, documents);
  const told = stand.explain({ model: 'chat' });
  t.ok(validate({ ...told, state_revision: 1, instance: 'p' }), JSON.stringify(validate.errors));
  t.strictSame(told.mirror, { ...mirror, would: 'copy', says: '25 % of such requests are copied to it' });
  const endpoint = namingEndpoints.get('/v1/embeddings');
  t.equal(stand.explain({ model: 'chat', endpoint }).mirror, undefined);
  t.match(stand.explain({ model: 'chat', keyId: 'k' }).mirror, { would: 'skip', says: /key may not use it/ });
  stand.targets.of(stand.target('b')).rest(start + 9_000, start);
  t.match(stand.explain({ model: 'chat' }).mirror, { would: 'skip', says: /left alone/ });
});

await test('a target that is taken out is skipped, and says who did it, why and until when to those who may know', async (t) => {
  const aliases = [{ source: 'both', targets: [{ model: 'a/m' }, { model: 'b/m' }] }];
  const until = timestamp(start + 90_000);
  const drained = (provider: string) => ({
    kind: targetDrains.kind,
    id: provider,
    body: {
      provider,
      reason: 'maintenance',
      expires_at: until,
      created_at: until,
      updated_at: until,
      updated_by: 'ops',
    },
  });
  const stand = explainStand({ providers: { a: {}, b: {} }, aliases }, [drained('a')]);
  const told = stand.explain({ model: 'both' });
  t.ok(validate({ ...told, state_revision: 1, instance: 'p' }), JSON.stringify(validate.errors));
  t.match(told, {
    outcome: 'It would be sent to b/m.',
    targets: [
      { target: 'b/m', would: 'ask' },
      { target: 'a/m', would: 'skip', reason: 'drained', until, says: `drained by ops until ${until}: maintenance` },
    ],
  });
  const scoped = stand.explain({ model: 'a/m', userPath: '/team', scope: '/team' });
  t.notMatch(JSON.stringify(scoped), /maintenance|ops/);
  t.match(scoped.refusal, { status: 503, code: 'target_drained', retry_after_seconds: 90 });
});

await test('a provider that refuses the key is named with the first refusal, though it may be asked again', async (t) => {
  const aliases = [{ source: 'both', targets: [{ model: 'a/m' }, { model: 'b/m' }] }];
  const stand = explainStand({ providers: { a: {}, b: {} }, aliases });
  const state = stand.targets.of(stand.target('a'));
  state.rest(start - 1000, start - 20_000, 'key_refused');
  state.rest(start - 500, start - 10_000, 'key_refused');
  const told = stand.explain({ model: 'both' });
  t.ok(validate({ ...told, state_revision: 1, instance: 'p' }), JSON.stringify(validate.errors));
  const since = timestamp(start - 20_000);
  const says = `its provider refuses the key of the gateway, since ${since}`;
  t.match(told.targets, [{ target: 'a/m', would: 'ask', reason: 'key_refused', since, says }, { target: 'b/m' }]);
});

/** What the rules and the balance make of a request: the target that would be asked, or the code of the refusal. */
function fate(stand: ExplainStand, model: string, userPath: string, keyId: string | undefined): string {
  const { limiter } = stand;
  const snapshot = stand.snapshot();
  const key = [...snapshot.credentials.keys.values()].find(({ id }) => id === keyId);
  if (limiter.admit(limiter.forUserPath(userPath), start).lease === undefined) return 'rate_limit_exceeded';
  try {
    const targets = stand.balance(resolve(named(model), snapshot, key?.modelAccess, onlyPath(userPath)), {
      nowMs: start,
      thread: undefined,
    });
    const asked = targets.find(
      ({ upstream, model: id }) => limiter.admit(limiter.forTarget(upstream.name, id), start).lease,
    );
    return asked === undefined ? 'rate_limit_exceeded' : `${asked.upstream.name}/${asked.model}`;
  } catch (error) {
    if (error instanceof Refusal && error.code !== null) return error.code;
    throw error;
  }
}

await test('the request itself meets what was explained', async (t) => {
  /** A key that is refused before anything of the request is read. */
  const atTheDoor = new Set(['invalid_api_key', 'user_path_denied']);
  let met = 0;
  for (const { says, stand: make, asked } of explainCases) {
    const stand = make();
    const { request, refusal, targets } = stand.explain(asked);
    if (atTheDoor.has(refusal?.code ?? '')) continue;
    const target = targets.find(({ would }) => would === 'ask') ?? targets.find(({ would }) => would === 'last_resort');
    t.equal(fate(stand, request.model, request.user_path, asked.keyId), refusal?.code ?? target?.target, says);
    met += 1;
  }
  t.ok(met >= 30, String(met));
});

await test('asking takes no turn, counts nothing and opens no probe', async (t) => {
  const aliases = [{ source: 'both', targets: [{ model: 'a/m' }, { model: 'b/m' }] }];
  const rules = { providers: ['a', 'b'].map((name) => ({ name, limits: [limit({ max_requests: 5 })] })) };
  const stand = explainStand({ providers: { a: {}, b: {} }, aliases, rules });
  const { breaker } = stand.targets.of(stand.target('b'));
  for (let failure = 0; failure < 5; failure += 1) breaker.failed(start - 1500);
  const first = stand.explain({ model: 'both' });
  for (let again = 0; again < 20; again += 1) t.strictSame(stand.explain({ model: 'both' }), first);
  t.equal(stand.limiter.size, 2);
  t.strictSame(stand.limiter.decisions(), []);
  t.strictSame(breaker.transitions, { closed: 0, half_open: 0, open: 1 });
});

/** A store that has not answered for so long that it is lost. */
function lostFleet(): Fleet {
  const fleet = new Fleet({ instance: 'a', boot: 'b', ownUses: () => [], expected: 2 }, start - 1_000);
  fleet.pass(start);
  return fleet;
}

await test('a rule says who counts it, and what holds while the state store is lost', async (t) => {
  const silent = 'the state store does not answer: this proxy';
  const cases = {
    share: { says: `${silent} admits its part of the cap, one of 2`, requests_remaining: 3, refused: undefined },
    open: { says: `${silent} admits the whole cap`, requests_remaining: 6, refused: undefined },
    closed: { says: `${silent} admits nothing`, requests_remaining: 0, refused: 'rate_limit_store_unavailable' },
  } as const;
  for (const [mode, { refused, ...expected }] of Object.entries(cases)) {
    const on_store_loss = mode as keyof typeof cases;
    const limits = [limit({ max_requests: 6, on_store_loss })];
    const stands = ['user_paths', 'providers'].map((scope) => {
      const rules = {
        scope: 'fleet',
        user_paths: [],
        providers: [],
        [scope]: [{ path: '/a', per_child: false, name: 'a', limits }],
      };
      return explainStand({ rules: rules as Partial<RateLimits>, fleet: lostFleet(), providers: { a: {} } });
    });
    const [consumer, target] = await Promise.all(
      stands.map(async (stand) => {
        await stand.limiter.refresh([stand.limiter.forUserPath('/a'), stand.limiter.forTarget('a', 'm')], start);
        return stand.explain({ userPath: '/a', model: 'a/m' });
      }),
    );
    const told = { counted: 'fleet', replicas: 2, exactness: mode, on_store_loss, ...expected };
    t.match(consumer?.rules, [told], mode);
    t.match(target?.targets[0]?.rules, [told], mode);
    t.strictSame([consumer?.refusal?.code, target?.refusal?.code], [refused, refused], mode);
    if (refused !== undefined) t.match(target?.targets, [{ would: 'skip', reason: 'store_lost' }]);
    t.ok(validate({ ...target, state_revision: 1, instance: 'p' }), JSON.stringify(validate.errors));
  }
  const alone = explainStand({
    rules: { user_paths: [{ path: '/a', per_child: false, limits: [limit({ max_requests: 6 })] }] },
  });
  t.match(alone.explain({ userPath: '/a' }).rules, [{ counted: 'replica', says: /this proxy counts it alone/ }]);
});

await test('a query that is no question is refused, naming the parameter', async (t) => {
  const credentials = credentialsOf(undefined, []);
  const asker = { scope: '/team', nowMs: start, authorityMs: start, credentials, endpoints: namingEndpoints };
  const cases: [query: string, code: string, param: string | null][] = [
    ['', 'invalid_query', 'model'],
    ['model=', 'invalid_query', 'model'],
    ['model=m&model=n', 'invalid_query', 'model'],
    [`model=${'m'.repeat(1025)}`, 'invalid_query', 'model'],
    ['model=m&path=/a', 'invalid_query', 'path'],
    ['model=m&stream=yes', 'invalid_query', 'stream'],
    ['model=m&endpoint=/v1/models', 'invalid_query', 'endpoint'],
    ['model=m&endpoint=', 'invalid_query', 'endpoint'],
    ['model=m&user_path=/a/../b', 'invalid_query', 'user_path'],
    ['model=m&user_path=/team-alpha', 'admin_scope_denied', null],
    ['model=m&key_id=none', 'auth_key_not_found', null],
  ];
  for (const [query, code, param] of cases) {
    const refused = await refusedBy(() => readQuestion(query, asker));
    t.strictSame([refused.code, refused.param], [code, param], query);
  }
  const unknown = await refusedBy(() => readQuestion('model=m&endpoint=speech', asker));
  for (const path of namingEndpoints.keys()) t.ok(unknown.message.includes(path), `${path} is named as a known value`);
  const { userPath, model, stream, endpoint } = readQuestion('model=a%2Fm&stream=true&endpoint=/v1/messages', asker);
  t.strictSame([userPath, model, stream, endpoint?.path], ['/team', 'a/m', true, '/v1/messages']);
});

await test('names are near in letter case, separators, and one or two characters', async (t) => {
  t.equal(nearness('Team', 'team'), 'letter_case');
  t.equal(nearness('my_team', 'My-Team'), 'separator');
  t.equal(nearness('gpt-4o-mni', 'gpt-4o-mini'), 'spelling');
  for (const [one, other] of [
    ['a', 'b'],
    ['same', 'same'],
    ['fake-small', 'fake-large'],
    ['x'.repeat(300), 'X'.repeat(300)],
  ] as const)
    t.equal(nearness(one, other), undefined, one);
});
