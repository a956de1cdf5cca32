// Bodies of rate-limit requests: the rule of each, the member that each refusal names, and the same result from the schemas.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { test } from 'tap';
import {
  checkConfirmation,
  readDelete,
  readResetOne,
  readWrite,
} from '../../control-plane/admin/rate-limits/read-write.ts';
import { Refusal } from '../../control-plane/errors.ts';
import { parseMoment } from '../../schemas/formats/moment.ts';

const nowMs = Date.UTC(2026, 5, 1);
const minute = { limit_key: { period: 'minute' } };
const cap = { max_requests: 5 };
const named = { user_path: '/team', ...minute };
const whole = { ...named, ...cap };
const blocked = { ...named, max_requests: 0, expires_at: '2026-06-02T00:00:00Z' };
const provider = { scope: 'provider', subject: 'OpenAI', ...minute };

function schema(name: string): (body: unknown) => boolean {
  const file = join(import.meta.dirname, `../../schemas/admin/${name}.schema.json`);
  const ajv = new Ajv2020({
    strict: false,
    formats: { 'date-time': (text: string) => parseMoment(text) !== undefined },
  });
  const validate = ajv.compile(JSON.parse(readFileSync(file, 'utf8')));
  return (body) => validate(body);
}

function refusalOf(work: () => unknown): Refusal | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
}

type Accepted = readonly [why: string, body: object, meaning: object];
/** `beyond`: no schema can say it. */
type Refused = readonly [why: string, body: unknown, param: string | undefined, message: RegExp, beyond?: true];

const accepted: Accepted[] = [
  ['a user path', whole, { key: 'user_path 60 /team', maxRequests: 5, perChild: undefined, mode: 'enforce' }],
  [
    'scope and subject',
    { scope: 'user_path', subject: 'team//', ...minute, ...cap },
    { matchSubject: '/team', subject: '/team' },
  ],
  ['a subject alone is a path', { subject: '/team', ...minute, ...cap }, { key: 'user_path 60 /team' }],
  ['both, saying the same', { ...whole, subject: 'team/' }, { key: 'user_path 60 /team' }],
  ['a blank subject beside a path', { ...whole, subject: ' ' }, { key: 'user_path 60 /team' }],
  ['a blank path beside a subject', { user_path: '', subject: '/a', ...minute, ...cap }, { key: 'user_path 60 /a' }],
  ['the root by its scope', { scope: 'user_path', ...minute, ...cap }, { key: 'user_path 60 /', subject: '/' }],
  ['the root by a blank subject', { scope: 'user_path', subject: '', ...minute, ...cap }, { key: 'user_path 60 /' }],
  ['the root by a blank path', { user_path: '', ...minute, ...cap }, { key: 'user_path 60 /' }],
  ['a path folds it', { ...whole, user_path: '/Team' }, { key: 'user_path 60 /team', subject: '/Team' }],
  ['a provider folds it', { ...provider, ...cap }, { key: 'provider 60 openai', subject: 'OpenAI' }],
  ['a provider that is not configured', { ...provider, subject: 'later', ...cap }, { key: 'provider 60 later' }],
  ['a qualified model', { scope: 'model', subject: 'a/b/c', ...minute, ...cap }, { key: 'model 60 a/b/c' }],
  [
    'a bare model',
    { scope: 'model', subject: 'GPT-4o', ...minute, ...cap },
    { key: 'model 60 gpt-4o', subject: 'GPT-4o' },
  ],
  ['60 seconds are a minute', { ...whole, limit_key: { period_seconds: 60 } }, { key: 'user_path 60 /team' }],
  ['one second', { ...whole, limit_key: { period_seconds: 1 } }, { periodSeconds: 1 }],
  ['the longest period', { ...whole, limit_key: { period_seconds: 2_147_483_647 } }, { periodSeconds: 2_147_483_647 }],
  ['an hour', { ...whole, limit_key: { period: 'hour' } }, { periodSeconds: 3_600 }],
  ['a day', { ...whole, limit_key: { period: 'day' } }, { periodSeconds: 86_400 }],
  ['concurrent', { ...whole, limit_key: { period: 'concurrent' } }, { key: 'user_path 0 /team', maxRequests: 5 }],
  ['the smallest cap', { ...whole, max_requests: 1 }, { maxRequests: 1 }],
  ['the largest cap', { ...whole, max_requests: 2 ** 53 - 1 }, { maxRequests: 2 ** 53 - 1 }],
  ['tokens alone', { ...whole, max_requests: undefined, max_tokens: 9 }, { maxTokens: 9, maxRequests: undefined }],
  ['a cap that is removed', { ...whole, max_requests: null, max_tokens: 9 }, { maxTokens: 9, maxRequests: null }],
  ['a cap that is removed, and no more', { ...named, max_tokens: null }, { maxTokens: null, maxRequests: undefined }],
  ['a block with an end', { ...whole, max_requests: 0, expires_at: '2026-06-02T00:00:00Z' }, { maxRequests: 0 }],
  ['a block in flight', { ...blocked, limit_key: { period: 'concurrent' } }, { maxRequests: 0, periodSeconds: 0 }],
  ['a block with an end from now', { ...whole, max_requests: 0, expires_in: '1m' }, { maxRequests: 0 }],
  ['a template', { ...whole, per_child: true }, { perChild: true }],
  ['a template in flight', { ...whole, per_child: true, limit_key: { period: 'concurrent' } }, { perChild: true }],
  ['no template of a provider', { ...provider, ...cap, per_child: false }, { perChild: false }],
  ['shadow', { ...whole, mode: 'shadow' }, { mode: 'shadow' }],
  ['closed without the store', { ...whole, on_store_loss: 'closed' }, { onStoreLoss: 'closed' }],
  ['nothing of a lost store', whole, { onStoreLoss: undefined }],
  ['a name', { ...whole, name: 'Team A at night' }, { name: 'Team A at night' }],
  ['a name that is null', { ...whole, name: null }, { name: undefined }],
  ['a reason', { ...whole, reason: 'x'.repeat(500) }, { reason: 'x'.repeat(500) }],
  ['a reason in long characters', { ...whole, reason: '\u{1f600}'.repeat(500) }, { mode: 'enforce' }],
  ['an empty reason is none', { ...whole, reason: '' }, { reason: undefined }],
  ['null is none', { ...whole, reason: null, expires_at: null, max_tokens: null }, { expiresAtMs: undefined }],
  ['an end', { ...whole, expires_at: '2026-06-01T02:00:01+02:00' }, { expiresAtMs: nowMs + 1_000 }],
  ['an end in minutes', { ...whole, expires_in: '30m' }, { expiresAtMs: nowMs + 30 * 60_000 }],
  ['an end in hours', { ...whole, expires_in: '8h', expires_at: null }, { expiresAtMs: nowMs + 8 * 3_600_000 }],
  ['an end in days', { ...whole, expires_in: '999999d' }, { expiresAtMs: nowMs + 999_999 * 86_400_000 }],
  ['no end', { ...whole, expires_in: null }, { expiresAtMs: undefined }],
  ['a flat period', { user_path: '/team', period: 'hour', ...cap }, { key: 'user_path 3600 /team' }],
  ['a flat period in seconds', { user_path: '/team', period_seconds: 300, ...cap }, { key: 'user_path 300 /team' }],
  ['flat and in flight', { user_path: '/team', period: 'concurrent', ...cap }, { key: 'user_path 0 /team' }],
];

/** Of both doors; without caps, which a DELETE does not know. */
const refusedAnywhere: Refused[] = [
  ['a list', [named], undefined, /JSON object/],
  ['nothing', undefined, undefined, /JSON object/],
  ['null', null, undefined, /JSON object/],
  ['a text', 'rule', undefined, /JSON object/],
  ['an unknown scope', { ...named, scope: 'key' }, 'scope', /one of user_path, provider, model/],
  ['a scope in other letters', { ...provider, scope: 'Provider' }, 'scope', /perhaps "provider"/],
  ['an empty scope', { ...named, scope: '' }, 'scope', /one of/],
  ['a scope that is null', { ...named, scope: null }, 'scope', /one of/],
  ['no subject at all', { ...minute }, 'subject', /missing/],
  ['a blank subject without a scope', { subject: ' ', ...minute }, 'subject', /missing/],
  ['a provider without subject', { scope: 'provider', ...minute }, 'subject', /missing/],
  ['a provider with a blank subject', { ...provider, subject: ' ' }, 'subject', /missing/],
  ['a model without subject', { scope: 'model', ...minute }, 'subject', /missing/],
  ['a subject of 10 KB', { scope: 'user_path', subject: 'x'.repeat(10_240), ...minute }, 'subject', /1024 bytes/],
  ['a path of 10 KB', { user_path: 'x'.repeat(10_240), ...minute }, 'user_path', /1024 bytes/],
  ['a model of 10 KB', { scope: 'model', subject: 'x'.repeat(10_240), ...minute }, 'subject', /320/],
  ['a subject that is a number', { scope: 'provider', subject: 5, ...minute }, 'subject', /string/],
  ['a path that is null', { user_path: null, ...minute }, 'user_path', /string/],
  ['a path with ..', { user_path: '/a/../b', ...minute }, 'user_path', /segment/, true],
  ['a subject with a colon', { subject: '/a:b', ...minute }, 'subject', /colon/, true],
  [
    'subject and path that disagree',
    { user_path: '/a', subject: '/b', ...minute },
    'user_path',
    /differs from subject/,
    true,
  ],
  ['a path beside a provider', { ...provider, user_path: '/a' }, 'user_path', /scope provider/],
  ['a path beside a model', { ...provider, scope: 'model', user_path: '' }, 'user_path', /scope model/],
  ['a provider with a slash', { ...provider, subject: 'a/b' }, 'subject', /name of a provider/],
  ['a model that ends in a slash', { ...provider, scope: 'model', subject: 'a/' }, 'subject', /neither/],
  ['a model that begins with a blank', { ...provider, scope: 'model', subject: ' a' }, 'subject', /blanks/],
  ['a model with half a character', { ...provider, scope: 'model', subject: 'a\ud800b' }, 'subject', /control/, true],
  ['an unknown member', { ...named, colour: 1 }, 'colour', /unknown\.$/],
];

const refusedLimitKeys: Refused[] = [
  ['no limit_key', { user_path: '/a' }, 'limit_key', /missing/],
  ['a limit_key that is text', { user_path: '/a', limit_key: 'minute' }, 'limit_key', /object/],
  ['a limit_key that is null', { user_path: '/a', limit_key: null }, 'limit_key', /object/],
  ['a limit_key that is a list', { user_path: '/a', limit_key: ['minute'] }, 'limit_key', /object/],
  ['neither period', { user_path: '/a', limit_key: {} }, 'limit_key', /missing/],
  ['both periods', { user_path: '/a', limit_key: { period: 'minute', period_seconds: 60 } }, 'limit_key', /not both/],
  [
    'an unknown member of limit_key',
    { user_path: '/a', limit_key: { periods: 'hour' } },
    'limit_key.periods',
    /"period"/,
  ],
  ['a period beside it', { user_path: '/a', ...minute, period: 'minute' }, 'period', /one of the two forms/],
  ['seconds beside it', { user_path: '/a', ...minute, period_seconds: 60 }, 'period_seconds', /one of the two forms/],
  ['both flat periods', { user_path: '/a', period: 'minute', period_seconds: 60 }, 'period', /not both/],
  ['an unknown flat period', { user_path: '/a', period: 'month' }, 'period', /one of minute, hour/],
  ...['month', 'Minute', 'minutes', '', '300', 'constructor', null, 60].map(
    (period): Refused => [
      `the period ${JSON.stringify(period)}`,
      { user_path: '/a', limit_key: { period } },
      'limit_key.period',
      /one of minute, hour, day, concurrent/,
    ],
  ),
  ...[0, -5, 0.5, 2 ** 31, '60', null, true].map(
    (seconds): Refused => [
      `${JSON.stringify(seconds)} seconds`,
      { user_path: '/a', limit_key: { period_seconds: seconds } },
      'limit_key.period_seconds',
      /1 to 2147483647/,
    ],
  ),
];

const refusedRules: Refused[] = [
  ['a misspelled cap', { ...whole, max_request: 5 }, 'max_request', /perhaps "max_requests"/],
  ...[-1, 0, 1.5, '10', true, [5], '0x10', 2 ** 53, 1e308].flatMap((value) =>
    ['max_requests', 'max_tokens'].map(
      (name): Refused => [
        `${name} of ${JSON.stringify(value)}`,
        { ...whole, [name]: value },
        name,
        /1 to 9007199254740991/,
      ],
    ),
  ),
  ['no cap', { user_path: '/a', ...minute }, 'max_requests', /max_tokens/],
  ['caps that are null', { ...whole, max_requests: null, max_tokens: null }, 'max_requests', /missing/],
  ['tokens in flight', { ...whole, limit_key: { period: 'concurrent' }, max_tokens: 5 }, 'max_tokens', /concurrent/],
  [
    'tokens in flight alone',
    { user_path: '/a', limit_key: { period: 'concurrent' }, max_tokens: 5 },
    'max_tokens',
    /concurrent/,
  ],
  ['null in flight', { ...whole, limit_key: { period: 'concurrent' }, max_requests: null }, 'max_requests', /missing/],
  ['a block without an end', { ...whole, max_requests: 0 }, 'max_requests', /expires_at/],
  ['a block whose end is null', { ...whole, max_tokens: 0, expires_at: null }, 'max_tokens', /expires_at/],
  ['less than a block', { ...blocked, max_requests: -1 }, 'max_requests', /1 to 9007199254740991/],
  ['nothing in flight', { user_path: '/a', limit_key: { period: 'concurrent' } }, 'max_requests', /missing\.$/],
  ['a template of a provider', { ...provider, ...cap, per_child: true }, 'per_child', /scope user_path/],
  ['a template of a model', { ...provider, ...cap, scope: 'model', per_child: true }, 'per_child', /scope user_path/],
  ['per_child as text', { ...whole, per_child: 'true' }, 'per_child', /true or false/],
  ['per_child as null', { ...whole, per_child: null }, 'per_child', /true or false/],
  ['a name that no header may hold', { ...whole, name: 'a\r\nb' }, 'name', /must be 1 to 64 letters/],
  ['a name of 65 characters', { ...whole, name: 'x'.repeat(65) }, 'name', /must be 1 to 64/],
  ['a blank name', { ...whole, name: ' ' }, 'name', /must be 1 to 64/],
  ['another mode', { ...whole, mode: 'shadows' }, 'mode', /perhaps "shadow"/],
  ['a mode that is null', { ...whole, mode: null }, 'mode', /one of/],
  ['another word for a lost store', { ...whole, on_store_loss: 'ajar' }, 'on_store_loss', /one of share, closed, open/],
  ['null for a lost store', { ...whole, on_store_loss: null }, 'on_store_loss', /one of share, closed, open/],
  ['a long reason', { ...whole, reason: 'x'.repeat(501) }, 'reason', /500/],
  ['a reason that is a number', { ...whole, reason: 5 }, 'reason', /string/],
  ['flat tokens in flight', { user_path: '/a', period: 'concurrent', max_tokens: 5 }, 'max_tokens', /concurrent/],
  ['two ends', { ...whole, expires_at: '2026-06-02T00:00:00Z', expires_in: '8h' }, 'expires_in', /one of them/],
  ...['8', '0h', '1.5h', '8 h', '8H', '1w', '-1h', '1000000d', ''].map(
    (length): Refused => [`an end in ${length}`, { ...whole, expires_in: length }, 'expires_in', /30m, 8h or 90d/],
  ),
  ['an end in words', { ...whole, expires_at: 'tomorrow' }, 'expires_at', /RFC 3339/],
  ['an end that is a number', { ...whole, expires_at: 1_900_000_000 }, 'expires_at', /string/],
  ['an end on 30 February', { ...whole, expires_at: '2027-02-30T00:00:00Z' }, 'expires_at', /RFC 3339/],
  ['an end that is now', { ...whole, expires_at: '2026-06-01T00:00:00Z' }, 'expires_at', /future/, true],
  ['an end in the past', { ...whole, expires_at: '2026-05-31T23:59:59.999Z' }, 'expires_at', /future/, true],
  ['an end after the year 9999', { ...whole, expires_at: '9999-12-31T23:59:59-01:00' }, 'expires_at', /RFC 3339/, true],
];

const refusedDeletes: Refused[] = [
  ['a cap', whole, 'max_requests', /unknown/],
  ['per_child', { ...named, per_child: true }, 'per_child', /unknown/],
];

await test('every body of a PUT means one rule', async (t) => {
  const isValid = schema('rate-limit-write');
  for (const [why, body, meaning] of accepted) {
    t.match(readWrite(body, nowMs), meaning, why);
    t.ok(isValid(body), `${why}: the schema agrees`);
  }
});

const doors = [
  {
    door: 'PUT',
    name: 'rate-limit-write',
    read: (body: unknown) => readWrite(body, nowMs),
    more: cap,
    rows: refusedRules,
  },
  { door: 'DELETE', name: 'rate-limit-delete', read: readDelete, more: {}, rows: refusedDeletes },
];

for (const { door, name, read, more, rows } of doors) {
  await test(`every refusal of a ${door} names the member at fault`, async (t) => {
    const isValid = schema(name);
    const both = [...refusedAnywhere, ...refusedLimitKeys].map(
      ([why, body, ...rest]): Refused => [why, isPlain(body) ? { ...more, ...body } : body, ...rest],
    );
    for (const [why, body, param, message, beyond] of [...both, ...rows]) {
      const refused = refusalOf(() => read(body));
      t.match(refused, { status: 400, type: 'invalid_request_error' }, `${why}: 400`);
      t.equal(refused?.param, param, `${why}: names ${param}`);
      t.match(refused?.message, message, why);
      t.match(refused?.message, /^The .*\.$/, `${why}: a sentence`);
      t.equal(isValid(body), beyond === true, `${why}: the schema ${beyond ? 'cannot tell' : 'refuses it too'}`);
    }
  });
}

function isPlain(body: unknown): body is object {
  return typeof body === 'object' && body !== null && !Array.isArray(body);
}

await test('a DELETE names a rule as a PUT does', async (t) => {
  const isValid = schema('rate-limit-delete');
  for (const [why, body, { key }] of accepted as [string, Record<string, unknown>, { key?: string }][]) {
    const { scope, subject, user_path, limit_key, period, period_seconds } = body;
    const name = Object.fromEntries(
      Object.entries({ scope, subject, user_path, limit_key, period, period_seconds }).filter(
        ([, value]) => value !== undefined,
      ),
    );
    const read = readDelete(name);
    t.equal(read.key, readWrite(body, nowMs).key, why);
    if (key !== undefined) t.equal(read.key, key, why);
    t.ok(isValid(name), `${why}: the schema agrees`);
  }
});

await test('reset-one has its period beside the subject or in a limit_key', async (t) => {
  const isValid = schema('rate-limit-reset-one');
  const right: [object, string][] = [
    [{ scope: 'provider', subject: 'OPENAI', period: 'hour' }, 'provider 3600 openai'],
    [{ scope: 'user_path', subject: '/a', period: 'concurrent' }, 'user_path 0 /a'],
    [{ user_path: '/a', period_seconds: 300 }, 'user_path 300 /a'],
    [{ user_path: '/a', ...minute }, 'user_path 60 /a'],
  ];
  for (const [body, key] of right) {
    t.equal(readResetOne(body).key, key);
    t.ok(isValid(body));
  }
  const wrong: [object, string][] = [
    [{ user_path: '/a' }, 'period'],
    [{ user_path: '/a', period: 'hour', period_seconds: 3_600 }, 'period'],
    [{ user_path: '/a', period: 'month' }, 'period'],
    [{ user_path: '/a', period_seconds: 0 }, 'period_seconds'],
    [{ user_path: '/a', ...minute, period: 'hour' }, 'period'],
    [{ user_path: '/a', limit_key: {} }, 'limit_key'],
    [{ user_path: '/a', period: 'hour', per_child: true }, 'per_child'],
    [{ period: 'hour' }, 'subject'],
  ];
  for (const [body, param] of wrong) {
    t.match(
      refusalOf(() => readResetOne(body)),
      { status: 400, param },
      JSON.stringify(body),
    );
    t.notOk(isValid(body), JSON.stringify(body));
  }
});

await test('a reset of everything needs the exact word', async (t) => {
  const isValid = schema('rate-limit-reset');
  checkConfirmation({ confirmation: 'reset' });
  t.ok(isValid({ confirmation: 'reset' }));
  for (const confirmation of ['Reset', 'reset ', '', true, null, undefined, ['reset']]) {
    t.match(
      refusalOf(() => checkConfirmation({ confirmation })),
      { status: 400, param: 'confirmation', code: 'reset_not_confirmed' },
      JSON.stringify(confirmation),
    );
    t.notOk(isValid(confirmation === undefined ? {} : { confirmation }), JSON.stringify(confirmation));
  }
  t.match(
    refusalOf(() => checkConfirmation({ confirmation: 'reset', confirm: 1 })),
    { status: 400, param: 'confirm' },
  );
  t.match(
    refusalOf(() => checkConfirmation('reset')),
    { status: 400, code: 'invalid_json' },
  );
});

await test('names of the prototype are unknown members like any other', async (t) => {
  for (const name of ['constructor', 'toString', '__proto__']) {
    const body = JSON.parse(`{"user_path":"/a","limit_key":{"period":"minute"},"max_requests":1,"${name}":{}}`);
    t.match(
      refusalOf(() => readWrite(body, nowMs)),
      { status: 400, param: name },
      name,
    );
  }
});
