// What an answer of a provider means: which status is which refusal, and how its words are made harmless.
import { test } from 'tap';
import { readError } from '../../proxy/dialects/chat/read/read-error.ts';
import type { Refusal } from '../../proxy/errors.ts';
import { envelope } from '../../proxy/http/error-envelope.ts';
import { failureRefusal, rejectionOf } from '../../proxy/providers/provider-error.ts';
import { noHead } from '../../proxy/upstream/answer-head.ts';
import { answerOf, json, nowMs, refusalOf, said, sse, upstream, wednesdayMs } from './upstream-answer-stand.ts';

await test('a provider’s status keeps its number and gets its type', async (t) => {
  const types: Record<string, number[]> = {
    permission_error: [403],
    not_found_error: [404],
    rate_limit_error: [429],
    invalid_request_error: [400, 402, 405, 408, 409, 413, 415, 418, 422, 451, 499],
    provider_error: [500, 501, 502, 503, 504, 529, 599],
  };
  for (const [type, statuses] of Object.entries(types)) {
    for (const status of statuses) {
      const refused = refusalOf(status, said({ message: 'no', code: 'c', param: 'q' }));
      t.match(refused, { status, type, message: 'no', code: 'c', param: 'q', provider: 'p' }, String(status));
    }
  }
});

await test('a provider that refuses our key is broken for the client, who has another key', async (t) => {
  for (const status of [401, 403]) {
    const refused = refusalOf(status, said({ message: `wrong key ${upstream.secrets[0]}` }));
    t.match(refused, { status: 502, type: 'provider_error', code: 'upstream_unauthorized', provider: 'p' });
    t.match(refused?.message, `with status ${status}: wrong key [redacted]`);
    t.equal(refused?.headers['x-should-retry'], 'false');
  }
});

await test('a 403 is about our key where it says so, and else about the request', async (t) => {
  const rows: Readonly<Record<string, readonly [error: object, status: number]>> = {
    'Anthropic, of a key': [{ message: 'Your API key does not have permission to use the specified resource.' }, 502],
    'AWS, of a signature': [{ message: 'no', code: 'InvalidSignatureException' }, 502],
    'AWS, of a token': [{ message: 'The security token included in the request is invalid.' }, 502],
    'OpenAI, of a place': [{ message: 'Country, region, or territory not supported' }, 403],
    'OpenAI, of a model': [{ message: 'Project `p` does not have access to model `m`', code: 'model_not_found' }, 403],
    'a moderation': [{ message: 'Your input was flagged.', type: 'request_forbidden' }, 403],
    'a keyboard': [{ message: 'Keyboards and tokens are not for sale.' }, 403],
  };
  for (const [name, [error, status]] of Object.entries(rows)) {
    const refused = refusalOf(403, JSON.stringify({ error }));
    const type = status === 403 ? 'permission_error' : 'provider_error';
    t.match(refused, { status, type, provider: 'p' }, name);
  }
});

await test('a status that no client can use is a bad answer', async (t) => {
  for (const status of [204, 300, 301, 302, 304, 307, 399, 600, 999]) {
    const refused = refusalOf(status, '{"a":1}', { ...json, location: 'http://elsewhere/' });
    t.match(
      refused,
      { status: 502, type: 'provider_error', code: 'upstream_invalid_response', provider: 'p' },
      String(status),
    );
    t.match(refused?.message, String(status));
  }
});

await test('a success is what the client can read', async (t) => {
  const usable: [headers: Record<string, string>, body: string][] = [
    [json, '{"choices":[]}'],
    [{ 'CONTENT-TYPE': 'Application/JSON; charset=utf-8' }, ' {"a":1}\n'],
    [{ 'content-type': 'application/vnd.api+json' }, '{"a":1}'],
    [sse, 'data: {"choices":[]}\n\n'],
  ];
  for (const [headers, body] of usable) t.equal(refusalOf(200, body, headers), undefined, body);
  t.equal(refusalOf(201, '{"a":1}'), undefined);
  const useless: [headers: Record<string, string>, body: string][] = [
    [{ 'content-type': 'text/html' }, '<html>'],
    [{}, '{"a":1}'],
    [{ 'content-type': 'text/jsonish' }, '{"a":1}'],
    [json, ''],
    [json, 'null'],
    [json, '[]'],
    [json, '{'],
    [{ 'content-type': 'application/json' }, '{"a":1'],
    [{ 'content-type': 'application/json' }, '{"a":1}}'],
    [sse, ''],
    [sse, ': hello\n\n'],
    [sse, 'data: {"choi'],
  ];
  for (const [headers, body] of useless) {
    t.match(
      refusalOf(200, body, headers),
      { status: 502, code: 'upstream_invalid_response' },
      `${JSON.stringify(headers)} ${body}`,
    );
  }
});

await test('an error inside a success is an error', async (t) => {
  const overload = said({ message: 'slow down', code: 429, param: null });
  const errorsInside: [headers: Record<string, string>, body: string, status: number, type: string, message: string][] =
    [
      [json, overload, 429, 'rate_limit_error', 'slow down'],
      [json, said({ message: 'no', code: 'server_error' }), 500, 'provider_error', 'no'],
      [json, said({ message: 'no', code: 'rate_limit_exceeded' }), 429, 'rate_limit_error', 'no'],
      [sse, `data: ${said({ message: 'no', type: 'billing_error' })}\n\n`, 402, 'invalid_request_error', 'no'],
      [json, said({ message: 'no', code: 200 }), 502, 'provider_error', 'no'],
      [json, said({ message: 'no' }), 502, 'provider_error', 'no'],
      [sse, `data: ${overload}\n\n`, 429, 'rate_limit_error', 'slow down'],
      [sse, `data:${overload}\r\n\r\n`, 429, 'rate_limit_error', 'slow down'],
      [sse, `: hi\nevent: error\ndata: ${said({ message: 'no', code: 404 })}\n\n`, 404, 'not_found_error', 'no'],
      [sse, `data: ${overload}\n\ndata: [DONE]\n\n`, 429, 'rate_limit_error', 'slow down'],
      [sse, `data: ${said({ message: 'no' })}\n\n`, 502, 'provider_error', 'no'],
      [json, '{"object":"error","message":"no","code":400}', 400, 'invalid_request_error', 'no'],
      [sse, 'data: {"object":"error","message":"no"}\n\n', 502, 'provider_error', 'no'],
      [sse, `data: [${said({ message: 'no', code: 503 })}]\n\n`, 503, 'provider_error', 'no'],
    ];
  for (const [headers, body, status, type, message] of errorsInside) {
    t.match(refusalOf(200, body, headers), { status, type, message, provider: 'p' }, body);
  }
  for (const body of [
    '{"choices":[{"text":"\\"error\\""}]}',
    '{"error":null,"choices":[]}',
    '{"error":{},"data":[]}',
  ]) {
    t.equal(refusalOf(200, body), undefined, body);
    t.equal(refusalOf(200, `data: ${body}\n\n`, sse), undefined, body);
  }
  t.equal(refusalOf(200, 'data: null\n\ndata: {"error":{"code":429}}\n\n', sse), undefined, 'an event of nothing');
  t.equal(
    refusalOf(200, 'data: {"choices":[]}\n\ndata: {"error":{"code":429}}\n\n', sse),
    undefined,
    'only the first event',
  );
});

await test('a provider’s words lose every secret and every excess', async (t) => {
  const message = (words: string): string | undefined => refusalOf(400, said({ message: words }))?.message;
  t.equal(message('key canary+key/1234 of canary-org'), 'key [redacted] of [redacted]');
  t.equal(message('canary+key/1234canary+key/1234'), '[redacted][redacted]');
  t.equal(message('Incorrect API key: sk-proj-abc_DEF*1234.'), 'Incorrect API key: [redacted].');
  t.equal(
    message('a task-1234 is no key, nor is risk-free or sk-1'),
    'a task-1234 is no key, nor is risk-free or sk-1',
  );
  t.equal(message('x'.repeat(3_000))?.length, 2_000);
  t.equal(message('  '), 'The provider answered with status 400.');
  const coded = refusalOf(
    400,
    said({ message: 'no', code: 'canary+key/1234', param: `sk-abcd1234${'x'.repeat(3_000)}` }),
  );
  t.match(coded, { code: '[redacted]', param: '[redacted]' });
  t.equal(refusalOf(500, 'plain canary-org words', {})?.message, 'plain [redacted] words');
  t.equal(refusalOf(500, '', {})?.message, 'The provider answered with status 500.');
});

await test('a page for browsers becomes a sentence', async (t) => {
  const message = (body: string, headers: Record<string, string> = { 'content-type': 'text/html' }) =>
    refusalOf(502, body, headers)?.message;
  const plain = 'The provider answered with an HTML page, status 502.';
  t.equal(
    message('<html><head><title>502  Bad\nGateway</title></head><body><h1>canary</h1></body></html>'),
    `${plain.slice(0, -1)}: 502 Bad Gateway`,
  );
  t.equal(message('<h1>Bad Gateway</h1>'), plain);
  t.equal(message(`<title>key canary-org</title>`), `${plain.slice(0, -1)}: key [redacted]`);
  for (const page of [
    '\n<!DOCTYPE html><p>x',
    '<HTML>x',
    '<?xml version="1.0"?><Error/>',
    said('<html><body>x</html>'),
  ]) {
    t.equal(message(page, {}), plain, page);
  }
  t.equal(message('a < b', {}), 'a < b');
  t.equal(message('<eos> is no token of this model', {}), '<eos> is no token of this model');
});

await test('what else an error of OpenAI’s shape holds survives', async (t) => {
  const error = { message: 'no', code: 'c', param: 'p', type: 'insufficient_quota' };
  const further = { innererror: { code: 'ContentFilter', list: [1, null, true] }, metadata: { raw: 'x' } };
  const sent = (members: object): object => {
    const refused = refusalOf(429, said(members));
    return refused === undefined ? {} : JSON.parse(envelope(refused)).error;
  };
  t.same(sent({ ...error, ...further }), {
    ...further,
    ...error,
    type: 'rate_limit_error',
    provider_type: 'insufficient_quota',
    provider: 'p',
  });
  t.same(sent({ ...error, type: 'rate_limit_error' }), { ...error, type: 'rate_limit_error', provider: 'p' });
  t.match(refusalOf(402, said({ message: 'no', type: 'rate_limit_error' })), { type: 'rate_limit_error', further: {} });
  t.match(refusalOf(404, said({ message: 'no', type: 'invalid_request_error' })), {
    type: 'not_found_error',
    further: { provider_type: 'invalid_request_error' },
  });
  t.match(sent({ message: 'no', provider: 'them', provider_type: 'x' }), { provider: 'p', provider_type: undefined });
  const big = { small: 1, big: 'x'.repeat(9_000), after: 2 };
  t.same(sent({ ...error, ...big }), { ...sent(error), small: 1, after: 2 }, 'what is too long is left out');
  const deep = `{"error":{"message":"no","deep":${'['.repeat(30_000)}${']'.repeat(30_000)}}}`;
  t.equal(refusalOf(400, deep)?.message, 'no');
  t.notMatch(envelope(refusalOf(400, '{"error":{"message":"no","a":{"__proto__":{"b":1}}}}') as Refusal), '__proto__');
});

await test('no shape of an error, no place in it and no spelling carries a secret to the client', async (t) => {
  const key = 'canary+key/1234';
  const escapeEach = (write: (code: number) => string): string =>
    key
      .split('')
      .map((character) => write(character.charCodeAt(0)))
      .join('');
  const hex = (code: number): string => code.toString(16);
  const spellings: Record<string, string> = {
    plain: key,
    'in capitals': key.toUpperCase(),
    'percent-encoded': encodeURIComponent(key),
    'percent-encoded throughout': escapeEach((code) => `%${hex(code).toUpperCase()}`),
    'percent-encoded twice': encodeURIComponent(encodeURIComponent(key)),
    'escaped as in JSON': escapeEach((code) => `\\u00${hex(code)}`),
    'with one escape': key.replace('c', '\\u0063'),
    'with an escaped slash': key.replace('/', '\\/'),
    'escaped twice': escapeEach((code) => `\\\\u00${hex(code)}`),
    'escaped as in HTML': escapeEach((code) => (code % 2 ? `&#${code};` : `&#x${hex(code)};`)),
    'in base64': Buffer.from(key).toString('base64'),
    'in base64, behind others': Buffer.from(`user:${key}`).toString('base64'),
    'in base64, between others': Buffer.from(`user1:${key}@host`).toString('base64url'),
    'masked in the middle': 'sk-canary****1234',
  };
  const leak = /canary|1234|key%|y2FuYXJ5|NhbmFye|YW5hcn|63\W*61/i;
  const shapes = (word: string): [status: number, body: string | Buffer, headers?: Record<string, string>][] => {
    const quoted = JSON.stringify(`x ${word} y`);
    // Where a body is JSON, escapes of the spelling are also those of the text itself.
    const raw = `"x ${word} y"`;
    const each = [quoted, ...(isJsonText(raw) ? [raw] : [])].flatMap((value) => [
      `{"error":{"message":${value},"code":${value},"param":${value},"type":${value}}}`,
      `{"error":{"message":"no","a":{"b":[{"c":${value}}]},"d":${value},${value}:{${value}:1}}}`,
      `{"error":${value},"code":${value}}`,
      `{"error":{"metadata":{"raw":${JSON.stringify(`{"error":${value}}`)}}}}`,
      `{"object":"error","message":${value},"more":${value}}`,
      `[{"error":{"message":${value},"details":[${value}]}}]`,
      `{"detail":${value}}`,
      `{"detail":[{"loc":["body",${value}],"msg":${value},"type":${value}}]}`,
      `{"message":${value}}`,
      `{"errors":[${value}]}`,
      `{"unknown":${value}}`,
      `{"error":{"unknown":${value}}}`,
    ]);
    return [
      ...each.flatMap((body): [number, string][] => [
        [401, body],
        [500, body],
        [200, `{"error":${body}}`],
      ]),
      [200, `{"padding":"${'x'.repeat(500)}","error":{"message":${quoted}}}`],
      [200, `{"error":{"message":${quoted},"padding":"${'x'.repeat(70_000)}`],
      [200, `data: {"error":{"message":${quoted}}}\n\n`, sse],
      [429, `data: {"error":{"message":${quoted}}}\n\n`, sse],
      [500, `x ${word} y`, {}],
      [500, `{"error":{"message":${quoted}`, {}],
      [502, `<html><title>x ${word} y</title><p>x ${word} y</p>`, { 'content-type': 'text/html' }],
      [302, `x ${word} y`],
    ];
  };
  for (const [spelling, word] of Object.entries(spellings)) {
    for (const [status, body, headers] of shapes(word)) {
      const isOpen = body.length > 60_000;
      const answer = answerOf(status, headers ?? json, body, !isOpen);
      const refused = rejectionOf(answer, { ...upstream, readError }, () => wednesdayMs);
      const sent = refused === undefined ? `not refused: ${body.toString()}` : envelope(refused);
      if (leak.test(sent) || refused === undefined)
        t.fail(`${spelling}: ${status} ${body.toString().slice(0, 200)} became ${sent}`);
    }
  }
});

await test('a hostile text is searched for secrets in bounded time', async (t) => {
  const startedMs = nowMs();
  for (const part of ['\\', '%', '%25', '&#0', '&amp;', 'canary+key/123', '\\\\\\\\u0063', 'sk-']) {
    refusalOf(500, part.repeat(60_000 / part.length), {});
  }
  t.ok(nowMs() - startedMs < 1_000, `${Math.round(nowMs() - startedMs)} ms`);
});

await test('what a provider says about trying again is passed on when it is sane', async (t) => {
  const header = (value: string, status = 429, name = 'Retry-After'): unknown =>
    refusalOf(status, said('no'), { ...json, [name]: value })?.headers[name.toLowerCase()];
  t.equal(header('7'), '7');
  t.equal(header('7', 503), '7');
  t.equal(header('7', 500), undefined);
  t.equal(header('0'), '1');
  t.equal(header('007'), '7');
  t.equal(header('1.5'), '2', 'a fraction is rounded up');
  t.equal(header('0.2'), '1');
  t.equal(header('999999999'), '86400');
  t.equal(header('Wed, 21 Oct 2026 07:28:30 GMT'), '30', 'a date counts from now');
  t.equal(header('Wed, 21 Oct 2015 07:28:00 GMT'), '1', 'one that has passed');
  t.equal(header('Fri, 21 Oct 2095 07:28:00 GMT'), '86400');
  for (const odd of ['', '-1', 'soon', '1e3', '7, 8', '1.', '.5', 'Wed, 21 Foo 2026 07:28:00 GMT', '9'.repeat(16)]) {
    t.equal(header(odd), undefined, odd);
  }
  const inMs = (value: string, status = 429): unknown => header(value, status, 'Retry-After-Ms');
  t.equal(inMs('1500'), '1500');
  t.equal(inMs('0.5'), '1');
  t.equal(inMs('999999999999'), '86400000');
  for (const odd of ['', 'soon', '-1']) t.equal(inMs(odd), undefined, odd);
  t.equal(inMs('1500', 500), undefined);
  for (const status of [400, 429, 500]) {
    t.equal(header('false', status, 'X-Should-Retry'), 'false');
    t.equal(header('true', status, 'X-Should-Retry'), 'true');
  }
  t.equal(header('perhaps', 429, 'X-Should-Retry'), undefined);
});

await test('a failed call is refused by the table, naming the provider', async (t) => {
  const failure = { failure: { code: 'upstream_timeout', reason: 'too slow' }, sent: true } as const;
  t.match(failureRefusal(failure, upstream, noHead), {
    status: 504,
    code: 'upstream_timeout',
    provider: 'p',
    message: /too slow/,
  });
});

function isJsonText(candidate: string): boolean {
  try {
    JSON.parse(candidate);
    return true;
  } catch {
    return false;
  }
}
