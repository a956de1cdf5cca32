// The lines of the access log: their members, how long they may be, and that clients cannot forge one.
import { test } from 'tap';
import { identityOf } from '../../plane/identity.ts';
import { refusal, upstreamRefusal } from '../../proxy/errors.ts';
import { AccessLines } from '../../proxy/records/access-line.ts';
import { createAccessLog } from '../../proxy/records/access-log.ts';
import type { LoggedTrip } from '../../proxy/records/logged-trip.ts';
import { waitFor } from '../support/wait-for.ts';

const lines = new AccessLines(identityOf('proxy', '1.2.3', 'a:8080'));
const wallMs = Date.UTC(2026, 0, 5, 12, 0, 7, 45) + 0.5;
const target = (name: string, model = 'm') => ({ upstream: { name }, model });

/** A request that nothing is known of but that it was there. */
const least: LoggedTrip = {
  path: '/v1/chat/completions',
  exchange: { id: 'req_1', startedAtMs: 1_000, clientAddress: '192.0.2.7', caller: undefined },
  snapshot: { revision: '9f86d081884c' },
  principal: undefined,
  call: undefined,
  route: undefined,
  failed: [],
  accepted: undefined,
  ending: { refused: undefined },
};
const begin = {
  level: 'info',
  time: '2026-01-05T12:00:07.045Z',
  service: 'model-gateway',
  plane: 'proxy',
  instance: 'a:8080',
  version: '1.2.3',
  msg: 'request',
  request_id: 'req_1',
  client_address: '192.0.2.7',
};
const post = { method: 'POST', endpoint: '/v1/chat/completions' };

function lineOf(trip: Partial<LoggedTrip>, status = 200): string {
  return lines.ofTrip({ ...least, ...trip }, { status, usage: undefined, nowMs: 1_034.04, wallMs });
}

await test('a line has everything that is known of a request, in one order', async (t) => {
  const failed = {
    target: target('first', 'big'),
    startedAtMs: 1_001,
    endedAtMs: 1_011.26,
    refused: upstreamRefusal(429, 'rate_limit_error', { message: 'x', code: null, param: null }, { provider: 'first' }),
    answer: { status: 429 },
  };
  const unreachable = {
    ...failed,
    refused: refusal('upstream_unavailable', { provider: 'second' }),
    answer: { status: 0 },
  };
  const accepted = {
    target: target('third', 'small'),
    startedAtMs: 1_012,
    endedAtMs: 1_020,
    refused: undefined,
    answer: { status: 200 },
  };
  const trip: LoggedTrip = {
    ...least,
    principal: { kind: 'managed_key', keyId: 'k-1', userPath: '/team/ann' },
    call: { model: 'chat', stream: true },
    failed: [failed, unreachable],
    accepted,
    ending: { refused: refusal('stream_incomplete', { provider: 'third' }) },
  };
  const usage = { inputTokens: 3, outputTokens: 4, totalTokens: 7, source: 'reported' } as const;
  const line = lines.ofTrip(trip, { status: 502, usage, nowMs: 1_034.04, wallMs });
  t.match(line, /^\{.*\}\n$/);
  t.equal(
    JSON.stringify(JSON.parse(line)),
    JSON.stringify({
      ...begin,
      key_id: 'k-1',
      user_path: '/team/ann',
      ...post,
      requested_model: 'chat',
      stream: true,
      resolved_model: 'third/small',
      status: 502,
      error_code: 'stream_incomplete',
      attempts: [
        { provider: 'first', model: 'big', status: 429, ms: 10.3 },
        { provider: 'first', model: 'big', ms: 10.3, error_code: 'upstream_unavailable' },
        { provider: 'third', model: 'small', status: 200, ms: 8, error_code: 'stream_incomplete' },
      ],
      prompt_tokens: 3,
      completion_tokens: 4,
      total_tokens: 7,
      tokens_source: 'reported',
      first_byte_ms: 20,
      duration_ms: 34,
      config_revision: '9f86d081884c',
    }),
  );
});

await test('what is not known is not there; a refusal names its rule', async (t) => {
  t.strictSame(JSON.parse(lineOf({}, 500)), {
    ...begin,
    ...post,
    status: 500,
    attempts: [],
    duration_ms: 34,
    config_revision: '9f86d081884c',
  });
  const rule = { label: 'Team A', id: 'zvh24xxb', scope: 'user_path' } as const;
  const route = { targets: [target('only')] };
  const principal = { kind: 'master_key', keyId: undefined, userPath: '/a' };
  const refused = refusal('rate_limit_exceeded', { rule });
  t.match(JSON.parse(lineOf({ principal, route, ending: { refused } }, 429)), {
    key_id: 'master_key',
    resolved_model: 'only/m',
    error_code: 'rate_limit_exceeded',
    rule: 'Team A',
    rule_id: 'zvh24xxb',
    rule_scope: 'user_path',
  });
});

const hostile = '"},\n{"level":"error"\u2028\u202e\u0085\u0000\ud800\\';

await test('clients cannot forge a line: every text of a stranger is one JSON text of visible characters', async (t) => {
  const line = lineOf({
    path: hostile,
    exchange: { ...least.exchange, id: hostile, clientAddress: hostile },
    principal: { kind: 'managed_key', keyId: hostile, userPath: `/${hostile}/äß` },
    call: { model: hostile, stream: false },
    ending: {
      refused: upstreamRefusal(502, 'provider_error', { message: '', code: hostile, param: null }, { provider: 'p' }),
    },
  });
  t.match(line, /^[^\p{C}\p{Zl}\p{Zp}]*\n$/u);
  t.match(JSON.parse(line), {
    request_id: hostile,
    client_address: hostile,
    key_id: hostile,
    user_path: `/${hostile}/äß`,
    endpoint: hostile,
    requested_model: hostile,
    error_code: hostile,
  });
});

await test('names of what a provider was not told have no secret in them, and there are few', async (t) => {
  const attempt = { target: target('p'), startedAtMs: 0, endedAtMs: 1, refused: undefined, answer: { status: 200 } };
  const dropped = ['seed', 'is-a-plain-word', ...Array.from({ length: 50 }, (_, index) => `n${index}`)];
  const line = lineOf({
    exchange: {
      ...least.exchange,
      head: { authorization: 'Bearer a-plain-word', apiKey: undefined, gatewayKey: undefined },
    },
    accepted: { ...attempt, reading: { translated: { dropped } } },
  });
  t.notMatch(line, 'a-plain-word');
  const said = JSON.parse(line) as { dropped: string[] };
  t.equal(said.dropped[0], 'seed');
  t.equal(said.dropped.length, 32);
});

await test('a line is bounded, whatever is in it', async (t) => {
  for (const letter of ['x', 'ä', '\u0000', '\u{1f600}']) {
    const long = letter.repeat(5_000);
    const attempt = { target: target(long, long), startedAtMs: 0, endedAtMs: 1, refused: undefined, answer: undefined };
    const line = lineOf({
      path: long,
      exchange: { id: long, startedAtMs: -1e12, clientAddress: long, caller: undefined },
      principal: { kind: long, keyId: long, userPath: long },
      call: { model: long, stream: false },
      failed: Array.from({ length: 1_000 }, (_, index) => ({ ...attempt, endedAtMs: index })),
      accepted: attempt,
    });
    t.ok(line.length < 64 * 1024, `${line.length} characters`);
    const said = JSON.parse(line) as { user_path: string; attempts: { ms: number }[] };
    t.equal(said.user_path, `${long.slice(0, 256)}…`);
    t.same([said.attempts.length, said.attempts[0]?.ms, said.attempts.at(-1)?.ms], [16, 985, 1], 'the last ones');
  }
});

await test('the scope decides which requests have a line', async (t) => {
  const written: string[] = [];
  const log = createAccessLog(identityOf('proxy', '1'), { writeSoon: (line) => void written.push(line) }, () => wallMs);
  const count = (): number => written.splice(0).length;
  const finish = (status: number) => ({ status, usage: undefined, nowMs: 1_034 });
  const asked = { exchange: least.exchange, method: 'GET', path: '/v1/models' };
  const rows = { off: [0, 0, 0, 0, 0], failures: [0, 1, 1, 1, 0], all: [1, 1, 1, 1, 1] } as const;
  for (const accessLog of ['off', 'failures', 'all'] as const) {
    const snapshot = { accessLog, revision: 'r' };
    const counted = [200, 400, 499].map((status) => {
      log.trip({ ...least, snapshot }, finish(status));
      return count();
    });
    for (const status of [404, 200]) {
      log.other({ ...asked, status, refused: undefined }, snapshot, 1_034);
      counted.push(count());
    }
    t.same(counted, rows[accessLog], accessLog);
  }
  const refused = refusal('invalid_api_key');
  log.other({ ...asked, status: 401, refused }, { accessLog: 'all', revision: 'r' }, 1_034);
  t.match(JSON.parse(written[0] ?? ''), {
    endpoint: '/v1/models',
    method: 'GET',
    status: 401,
    error_code: 'invalid_api_key',
    duration_ms: 34,
  });
});

await test('a flood of requests that cannot be read has fifty lines a second of each sender, a hundred in all, and one that counts the others', async (t) => {
  const written: string[] = [];
  const log = createAccessLog(identityOf('proxy', '1'), { writeSoon: (line) => void written.push(line) }, () => wallMs);
  const unread = { clientAddress: '192.0.2.7', refused: refusal('request_timeout') };
  const snapshot = { accessLog: 'failures', revision: 'r' } as const;
  const senders = ['192.0.2.7', '192.0.2.8', '192.0.2.9'];
  for (const clientAddress of senders)
    for (let count = 0; count < 80; count += 1) log.unread({ ...unread, clientAddress, id: `req_${count}` }, snapshot);
  log.unread({ ...unread, id: 'off' }, { ...snapshot, accessLog: 'off' });
  t.equal(written.length, 100);
  const last = await waitFor('the end of the second', () => written[100], 2_000);
  const { instance: _, ...known } = begin;
  t.match(JSON.parse(last), {
    ...known,
    version: '1',
    request_id: 'req_50',
    status: 408,
    error_code: 'request_timeout',
    further: 139,
    config_revision: 'r',
  });
  log.unread({ ...unread, id: 'later' }, snapshot);
  t.match(written.at(-1), '"later"', 'a new second begins');
  t.equal(log.omitted, 139);
});

await test('refusals of one consumer leave room for those of others, unless every request is to have a line', async (t) => {
  const written: string[] = [];
  const log = createAccessLog(identityOf('proxy', '1'), { writeSoon: (line) => void written.push(line) }, () => wallMs);
  const of = (userPath: string, accessLog: 'failures' | 'all' = 'failures'): void => {
    const principal = { kind: 'api_key' as const, keyId: 'k', userPath };
    const trip = { ...least, principal, ending: { refused: refusal('model_not_found') } };
    log.trip({ ...trip, snapshot: { accessLog, revision: 'r' } }, { status: 404, usage: undefined, nowMs: 1_000 });
  };
  const linesOf = (userPath: string): number => written.filter((line) => line.includes(`"${userPath}"`)).length;
  for (let count = 0; count < 5_000; count += 1) of('/runaway');
  of('/other');
  t.same([linesOf('/runaway'), linesOf('/other'), log.omitted], [50, 1, 4_949]);
  const last = await waitFor('the end of the second', () => written[51], 2_000);
  t.match(JSON.parse(last), { user_path: '/runaway', error_code: 'model_not_found', further: 4_949 });
  for (let count = 0; count < 200; count += 1) of('/all', 'all');
  t.equal(linesOf('/all'), 200);
  const failed = {
    target: target('a'),
    startedAtMs: 1,
    endedAtMs: 2,
    refused: refusal('upstream_timeout'),
    answer: { status: 0 },
  };
  for (let count = 0; count < 200; count += 1)
    log.trip(
      { ...least, failed: [failed], snapshot: { accessLog: 'failures', revision: 'r' } },
      { status: 504, usage: undefined, nowMs: 1_000 },
    );
  t.equal(written.filter((line) => line.includes('"status":504')).length, 200, 'what a provider did has a line each');
});
