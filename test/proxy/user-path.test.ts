// The user path header on the wire: which bytes name which consumer, and which name none.
import { t as suite, test } from 'tap';
import { readUserPath } from '../../proxy/call/user-path.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { masterKey } from '../support/gateway.ts';
import { openRaw, rawRequest } from '../support/raw-http.ts';
import { shareGateway } from '../support/shared.ts';

/** How the bytes of a text arrive from node. */
const onTheWire = (text: string) => Buffer.from(text).toString('latin1');

/** Header value as text, sent as UTF-8 → the path it means. */
const accepted: readonly (readonly [name: string, value: string, path: string])[] = [
  ['nothing', '', '/'],
  ['blanks', '   ', '/'],
  ['the root', '/', '/'],
  ['many slashes', '///', '/'],
  ['a path', '/team/app', '/team/app'],
  ['without its first slash', 'team/app', '/team/app'],
  ['with a last slash', '/team/', '/team'],
  ['with doubled slashes', '//team///app', '/team/app'],
  ['blanks around segments', '/ team / app ', '/team/app'],
  ['blanks inside a segment', '/my team', '/my team'],
  ['upper case', '/Team', '/Team'],
  ['an escaped dot-dot', '/team/%2e%2e/app', '/team/%2e%2e/app'],
  ['an escaped slash', '/team%2fapp', '/team%2fapp'],
  ['an escaped NUL', '/a%00', '/a%00'],
  ['three dots', '/...', '/...'],
  ['dots inside a segment', '/a..b/.c', '/a..b/.c'],
  ['a comma, as a joined list would have', '/a, /b', '/a,/b'],
  ['a composed é', '/caf\u00e9', '/caf\u00e9'],
  ['a decomposed é', '/cafe\u0301', '/caf\u00e9'],
  ['other scripts', '/日本/команда', '/日本/команда'],
  ['beyond the basic plane', '/🚀', '/🚀'],
  ['a compatibility form is not the letter', '/ﬁ', '/ﬁ'],
  ['a prototype key', '/customers/__proto__', '/customers/__proto__'],
  ['64 segments', '/s'.repeat(64), '/s'.repeat(64)],
  ['1024 bytes', `/${'a'.repeat(1_023)}`, `/${'a'.repeat(1_023)}`],
  ['1024 bytes of other letters', `/a${'é'.repeat(511)}`, `/a${'é'.repeat(511)}`],
];

/** Header bytes → a word of the reason. */
const refused: readonly (readonly [name: string, bytes: string | Buffer, reason: string])[] = [
  ['a dot', '/team/./app', '"." or ".."'],
  ['dot-dot', '/team/../admin', '"." or ".."'],
  ['dot-dot alone', '..', '"." or ".."'],
  ['dot-dot between blanks', '/team/ .. /app', '"." or ".."'],
  ['a colon', '/team:app', 'colon'],
  ['a tab', '/te\tam', 'control'],
  ['a C1 control', '/te\u0085am', 'control'],
  ['a zero-width space', '/te\u200bam', 'zero-width'],
  ['a zero-width joiner', '/te\u200dam', 'zero-width'],
  ['a soft hyphen', '/te\u00adam', 'zero-width'],
  ['a byte order mark', '/\ufeffteam', 'zero-width'],
  ['right-to-left', '/te\u202eam', 'right-to-left'],
  ['a line separator', '/te\u2028am', 'control'],
  ['65 segments', '/s'.repeat(65), '64 segments'],
  ['1025 bytes', `/${'a'.repeat(1_024)}`, '1024 bytes'],
  ['1025 bytes, fewer letters', `/${'é'.repeat(512)}`, '1024 bytes'],
  ['4 KB', `/${'a'.repeat(4_095)}`, '1024 bytes'],
  ['latin1', Buffer.from('/caf\u00e9', 'latin1'), 'UTF-8'],
  ['an overlong slash', Buffer.from([0x2f, 0x61, 0xc0, 0xaf, 0x62]), 'UTF-8'],
  ['a surrogate', Buffer.from([0x2f, 0xed, 0xa0, 0x80]), 'UTF-8'],
  ['a cut sequence', Buffer.from([0x2f, 0xe2, 0x80]), 'UTF-8'],
];

const upstream = await startFakeUpstream({ t: suite });
const gateway = await shareGateway({
  upstream,
  config: {
    rate_limits: {
      user_paths: [
        { path: '/café', limits: [{ period: 'minute', max_requests: 100 }] },
        { path: '/team', limits: [{ period: 'minute', max_requests: 100 }] },
      ],
    },
  },
});
const chat = JSON.stringify({ model: 'fake/fake-small', messages: [{ role: 'user', content: 'x' }] });

/** A request whose user path header, if any, has exactly these bytes. */
function requestOf(
  target: string,
  headers: readonly (readonly [name: string, value: string | Buffer])[],
  key = masterKey,
) {
  const isChat = target.startsWith('POST');
  const length = isChat ? `Content-Type: application/json\r\nContent-Length: ${chat.length}\r\n` : '';
  return Buffer.concat([
    Buffer.from(`${target} HTTP/1.1\r\nHost: gateway\r\nAuthorization: Bearer ${key}\r\n${length}`),
    ...headers.map(([name, value]) =>
      Buffer.concat([Buffer.from(`${name}: `), Buffer.from(value), Buffer.from('\r\n')]),
    ),
    Buffer.from(`\r\n${isChat ? chat : ''}`),
  ]);
}

async function send(bytes: Buffer) {
  const { responses } = await rawRequest(gateway.port, bytes);
  const [response] = responses;
  if (response === undefined) throw new Error('no answer');
  return { status: response.status, body: response.json() as Record<string, unknown> };
}

const header = 'X-Gateway-User-Path';
const door = 'POST /v1/chat/completions';
const usage = 'GET /v1/usage';

await test('a header names a consumer in one normal form', async (t) => {
  t.equal(readUserPath(undefined), '/');
  for (const [name, value, path] of accepted) {
    t.equal(readUserPath(onTheWire(value)), path, name);
    const { status, body } = await send(requestOf(usage, [[header, value]]));
    t.equal(status, 200, name);
    t.equal(body['user_path'], path, name);
  }
});

await test('what cannot name a consumer is refused at every door, before a provider is asked', async (t) => {
  const before = upstream.ledger.length;
  for (const [name, bytes, reason] of refused) {
    t.throws(() => readUserPath(Buffer.from(bytes).toString('latin1')), { code: 'invalid_user_path' }, name);
    for (const target of [usage, door]) {
      const { status, body } = await send(requestOf(target, [[header, bytes]]));
      t.equal(status, 400, name);
      t.match(body, { error: { code: 'invalid_user_path', param: null, type: 'invalid_request_error' } }, name);
      t.match((body['error'] as { message: string }).message, reason, name);
    }
  }
  t.equal(upstream.ledger.length, before);
  t.equal(await gateway.metric('gateway_rate_limit_decisions_total'), 0, 'nothing was counted');
});

await test('control bytes that HTTP forbids do not get that far', async (t) => {
  for (const byte of [0, 1, 0x7f]) {
    const { status, body } = await send(requestOf(usage, [[header, Buffer.from([0x2f, 0x61, byte, 0x62])]]));
    t.equal(status, 400, `byte ${byte}`);
    t.match(body, { error: { type: 'invalid_request_error' } });
  }
});

await test('two headers are one too many, even when they agree', async (t) => {
  const before = upstream.ledger.length;
  const rows = [
    [header, header, '/team', '/other'],
    [header, header, '/team', '/team'],
    [header, header.toLowerCase(), '/team', '/team'],
    [header.toUpperCase(), header, '', '/team'],
  ] as const;
  for (const [first, second, one, other] of rows) {
    for (const target of [usage, door]) {
      const { status, body } = await send(
        requestOf(target, [
          [first, one],
          [second, other],
        ]),
      );
      t.equal(status, 400, `${first}: ${one}, ${second}: ${other}`);
      t.match(body, { error: { type: 'invalid_request_error', code: 'invalid_header' } });
    }
  }
  t.equal(upstream.ledger.length, before);
});

await test('a caller without a key learns nothing from its path', async (t) => {
  for (const target of [usage, door]) {
    const { status, body } = await send(requestOf(target, [[header, '/a/../b']], 'sk-wrong'));
    t.equal(status, 401);
    t.match(body, { error: { code: 'invalid_api_key' } });
  }
});

await test('composed or decomposed, in upper or lower case, it is the same consumer', async (t) => {
  for (const value of ['/café', '/cafe\u0301/below', '/CAFÉ', '/cafe', '/team', '/Team', '/team-alpha', '/team/app']) {
    t.equal((await send(requestOf(door, [[header, value]]))).status, 200);
  }
  const usedBy = async (value: string) => {
    const { body } = await send(requestOf(usage, [[header, value]]));
    return (body['rate_limits'] as { requests_used: number }[]).map(({ requests_used }) => requests_used);
  };
  t.strictSame(await usedBy('/cafe\u0301'), [3]);
  t.strictSame(await usedBy('/CAFÉ'), [3]);
  t.strictSame(await usedBy('/team'), [3]);
  t.strictSame(await usedBy('/TEAM'), [3]);
});

await test('requests on one connection each have their own path', async (t) => {
  const connection = await openRaw(gateway.port, { t });
  const paths: unknown[] = [];
  for (const value of ['/a', '/b', undefined, '/a', '/a/../b', '/b']) {
    await connection.send(requestOf(usage, value === undefined ? [] : [[header, value]]));
    const count = paths.length + 1;
    const response = await connection.waitFor(
      ({ responses }) => responses.length === count && responses.at(-1)?.complete && responses.at(-1),
    );
    const body = response.json() as { user_path?: string; error?: { code: string } };
    paths.push(body.user_path ?? body.error?.code);
  }
  t.strictSame(paths, ['/a', '/b', '/', '/a', 'invalid_user_path', '/b']);
});

await test('the header never reaches the provider', async (t) => {
  for (const name of [header, header.toLowerCase()]) {
    t.equal((await send(requestOf(door, [[name, '/secret/customer']]))).status, 200);
    const entry = upstream.ledger.at(-1);
    t.notMatch(JSON.stringify(entry?.headers), /user-path|secret/i);
    t.notMatch(entry?.body.toString(), 'secret');
  }
});
