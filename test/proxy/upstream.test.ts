// How bytes leave and come back: failures named, deadlines kept, calls sent and cancelled.
import { createServer } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { type Test, test } from 'tap';
import type { Dispatcher } from 'undici';
import { errors } from '../../proxy/error-table.ts';
import { createDeadlines } from '../../proxy/upstream/deadlines.ts';
import { failureOf, type UpstreamFailure } from '../../proxy/upstream/failure.ts';
import type { Patience } from '../../proxy/upstream/patience.ts';
import { createPools } from '../../proxy/upstream/pools.ts';
import { send } from '../../proxy/upstream/send.ts';
import type { UpstreamAnswer } from '../../proxy/upstream/upstream-answer.ts';
import { certificate } from '../support/certificate.ts';
import { type Behaviour, createGate, fin, startFakeUpstream } from '../support/fake-upstream.ts';
import { freePort, listen } from '../support/ports.ts';
import { Pool } from '../support/undici.ts';
import { waitFor } from '../support/wait-for.ts';
import { patience } from './short-patience.ts';

const nowMs = (): number => performance.now();

// --- failures

await test('each code stands for one failure, and its words name no address', async (t) => {
  const codes: Record<string, string> = {
    upstream_dns: 'ENOTFOUND EAI_AGAIN',
    upstream_unavailable:
      'ECONNREFUSED EHOSTUNREACH ENETUNREACH EADDRNOTAVAIL EMFILE ENFILE UND_ERR_CONNECT_TIMEOUT ETIMEDOUT',
    upstream_disconnected: 'ECONNRESET EPIPE UND_ERR_SOCKET UND_ERR_CLOSED UND_ERR_DESTROYED',
    upstream_invalid_response:
      'UND_ERR_RES_CONTENT_LENGTH_MISMATCH UND_ERR_HEADERS_OVERFLOW UND_ERR_RES_EXCEEDED_MAX_SIZE ERR_ASSERTION HPE_INVALID_CONSTANT HPE_NEW ODD',
    upstream_tls:
      'CERT_HAS_EXPIRED DEPTH_ZERO_SELF_SIGNED_CERT SELF_SIGNED_CERT_IN_CHAIN UNABLE_TO_VERIFY_LEAF_SIGNATURE UNABLE_TO_GET_ISSUER_CERT_LOCALLY ERR_TLS_CERT_ALTNAME_INVALID ERR_SSL_WRONG_VERSION_NUMBER ERR_TLS_NEW CERT_NOT_YET_VALID CERT_REVOKED CERT_UNTRUSTED UNABLE_TO_GET_ISSUER_CERT HOSTNAME_MISMATCH INVALID_CA EPROTO',
  };
  for (const [code, causes] of Object.entries(codes)) {
    for (const cause of causes.split(' ')) {
      const failure = failureOf(Object.assign(new Error('connect to 10.1.2.3:443 with sk-secret'), { code: cause }));
      t.equal(failure.code, code, cause);
      t.notMatch(failure.reason, /10\.1|sk-secret/);
      t.equal(
        failure.reason !== '',
        errors[failure.code].message.includes('{reason}'),
        `${cause} says why where there is room`,
      );
    }
  }
});

await test('several addresses failing at once fail like the first', async (t) => {
  const each = ['ECONNREFUSED', 'ETIMEDOUT'].map((code) => Object.assign(new Error(code), { code }));
  t.match(failureOf(new AggregateError(each)), { code: 'upstream_unavailable', reason: 'connection refused' });
  t.match(failureOf(new AggregateError([])), { code: 'upstream_invalid_response' });
  for (const odd of [undefined, 'ECONNRESET', { code: 'ECONNRESET' }, Object.assign(new Error('x'), { code: 7 })]) {
    t.match(failureOf(odd), { code: 'upstream_invalid_response' });
  }
});

/** The error a POST meets, or its status. */
async function fateOf(t: Test, origin: string, connect: object = {}): Promise<unknown> {
  const pool = new Pool(origin, { connect: { timeout: 300, ...connect } });
  t.teardown(() => pool.destroy());
  return new Promise((done) => {
    const handler: Dispatcher.DispatchHandler = {
      onConnect: () => undefined,
      onHeaders: (status) => {
        done(status);
        return true;
      },
      onData: () => true,
      onComplete: () => undefined,
      onError: done,
    };
    pool.dispatch({ method: 'POST', path: '/', headers: [], body: '{}' }, handler);
  });
}

await test('a certificate that proves nothing is a TLS failure that says what is wrong with it', async (t) => {
  const start = async (from: number, to: number): Promise<{ origin: string; cert: string }> => {
    const { key, cert } = certificate(from, to);
    const server = createTlsServer({ key, cert }, (socket) => socket.end('HTTP/1.1 204 No Content\r\n\r\n'));
    server.on('tlsClientError', () => undefined);
    t.teardown(() => server.close());
    return { origin: `https://localhost:${await listen(server)}`, cert };
  };
  const valid = await start(2000, 2100);
  const old = await start(2000, 2001);
  const trusted = { ca: valid.cert, servername: 'provider.test' };
  t.equal(await fateOf(t, valid.origin, trusted), 204, 'the certificate itself is sound');
  const fates: [fate: Promise<unknown>, reason: string][] = [
    [fateOf(t, valid.origin), 'self-signed'],
    [fateOf(t, valid.origin, { ca: valid.cert }), 'for another host'],
    [fateOf(t, old.origin, { ca: old.cert, servername: 'provider.test' }), 'has expired'],
  ];
  for (const [fate, reason] of fates) t.match(failureOf(await fate), { code: 'upstream_tls', reason });
});

await test('a port without TLS, without HTTP or without a server has its own failure', async (t) => {
  const speak = async (words: string | undefined): Promise<number> => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      if (words === undefined) socket.resetAndDestroy();
      else socket.end(Buffer.from(words, 'latin1'));
    });
    t.teardown(() => server.close());
    return listen(server);
  };
  const fates: [origin: string, code: string][] = [
    [`https://localhost:${await speak('HTTP/1.1 400 Bad Request\r\n\r\n')}`, 'upstream_tls'],
    [`https://localhost:${await speak('\x15\x03\x03\x00\x02\x02\x28')}`, 'upstream_tls'],
    [`https://localhost:${await speak('')}`, 'upstream_tls'],
    [`http://127.0.0.1:${await speak('SSH-2.0-odd\r\n')}`, 'upstream_invalid_response'],
    [`http://127.0.0.1:${await speak('')}`, 'upstream_disconnected'],
    [`http://127.0.0.1:${await speak(undefined)}`, 'upstream_disconnected'],
    [`http://localhost:${await freePort()}`, 'upstream_unavailable'],
    ['http://no-such-host.invalid', 'upstream_dns'],
  ];
  for (const [origin, code] of fates) t.equal(failureOf(await fateOf(t, origin)).code, code, `${origin} ${code}`);
});

// --- deadlines and pools

await test('a deadline fires when the clock has passed it, and not before', async (t) => {
  let clockMs = 1_000;
  const deadlines = createDeadlines(() => clockMs);
  t.equal(deadlines.coarseNowMs, 1_000);
  const expired: string[] = [];
  const timed = (name: string, deadlineMs: number) => {
    const each = {
      deadlineMs,
      expire() {
        expired.push(name);
        deadlines.remove(each);
      },
    };
    deadlines.add(each);
    return each;
  };
  const ticked = (toMs: number): Promise<unknown> => {
    clockMs = toMs;
    return waitFor(`the tick at ${toMs}`, () => deadlines.coarseNowMs === toMs);
  };
  timed('at 1300', 1_300);
  const moved = timed('moved', 1_300);
  const removed = timed('removed', 1_300);
  timed('later', 9_000);
  await ticked(1_299);
  t.same(expired, []);
  moved.deadlineMs = 1_500;
  deadlines.remove(removed);
  await ticked(1_300);
  t.same(expired, ['at 1300']);
  await ticked(1_499);
  t.same(expired, ['at 1300']);
  await ticked(1_600);
  t.same(expired, ['at 1300', 'moved']);
});

await test('time in which the process stood still is not counted as waiting', async (t) => {
  let clockMs = 0;
  const deadlines = createDeadlines(() => clockMs);
  const expired: number[] = [];
  const timed = { deadlineMs: 300, expire: () => expired.push(clockMs) && deadlines.remove(timed) };
  deadlines.add(timed);
  clockMs = 60_000;
  await waitFor('the tick after the pause', () => deadlines.coarseNowMs === 60_000);
  t.same(expired, []);
  clockMs = 60_200;
  await waitFor('the next tick', () => deadlines.coarseNowMs === 60_200);
  clockMs = 60_400;
  await waitFor('the deadline', () => expired.length > 0);
  t.same(expired, [60_400]);
});

await test('deadlines tick only while one is open: then the clock is as old as a tick', async (t) => {
  let clockMs = 0;
  const deadlines = createDeadlines(() => clockMs);
  const timed = { deadlineMs: 1_000, expire: () => undefined };
  const isExact = (): boolean => {
    clockMs += 1;
    return deadlines.coarseNowMs === clockMs;
  };
  t.ok(isExact());
  deadlines.add(timed);
  t.notOk(isExact());
  deadlines.remove(timed);
  await waitFor('the last tick', isExact);
});

await test('providers of one origin and connect timeout share a pool, which a reload keeps while one uses it', async (t) => {
  const pools = createPools(100);
  const origin = 'http://127.0.0.1:9';
  const pool = pools.get({ origin, connectTimeoutMs: 300 });
  t.equal(pools.get({ origin, connectTimeoutMs: 300 }), pool);
  t.not(pools.get({ origin, connectTimeoutMs: 200 }), pool);
  t.not(pools.get({ origin: 'http://127.0.0.1:10', connectTimeoutMs: 300 }), pool);
  pools.prepare([{ origin, connectTimeoutMs: 300 }])();
  t.equal(pools.get({ origin, connectTimeoutMs: 300 }), pool);
  pools.prepare([])();
  t.not(pools.get({ origin, connectTimeoutMs: 300 }), pool);
});

// --- sending

interface Sent {
  answer?: UpstreamAnswer;
  failure?: UpstreamFailure;
}

/** A provider and a way to call it; `changes` shorten the patience. */
async function startProvider(t: Test) {
  const provider = await startFakeUpstream({ t, models: ['m'] });
  const deadlines = createDeadlines(nowMs);
  const pool = createPools(100).get({ origin: new URL(provider.url).origin, connectTimeoutMs: 300 });
  t.teardown(() => pool.closeFree());
  const call = (
    stream: boolean,
    changes: Partial<Patience> = {},
    started: (answer: UpstreamAnswer) => void = () => undefined,
  ) => {
    const body = Buffer.from(JSON.stringify({ model: 'm', stream, messages: [] }));
    const headers = ['content-type', 'application/json'];
    const facts = {
      latestMs: Number.POSITIVE_INFINITY,
      needsEvent: false,
      isFresh: false,
      isStream: stream,
      mostHeldBytes: 65_536,
    };
    const outgoing = { path: '/v1/chat/completions', headers, body, facts };
    const answer = send(pool, outgoing, { ...patience, ...changes }, deadlines);
    started(answer);
    return new Promise<Sent>((resolve) => {
      answer.whenReady((failure) => resolve(failure === undefined ? { answer } : { failure }));
    });
  };
  return { provider, call };
}

/** All bytes of an open answer, and how it ended. */
function drain(answer: UpstreamAnswer): Promise<{ body: string; failure: unknown }> {
  return new Promise((done) => {
    let body = '';
    answer.attach({
      write(chunk) {
        body += chunk.toString('latin1');
        return true;
      },
      end: (failure) => done({ body, failure }),
    });
  });
}

await test('a short answer is whole when it is handed over, a long one or a stream still open', async (t) => {
  const { provider, call } = await startProvider(t);
  const gate = createGate();
  await provider.behave([
    { kind: 'json', body: '{"a":1}' },
    { kind: 'json', body: `{"a":"${'x'.repeat(65_528)}"}` },
    { kind: 'json', body: `{"a":"${'x'.repeat(300_000)}"}` },
    { kind: 'sse', chunks: ['data: 1\n\n', gate, 'data: [DONE]\n\n'] },
  ]);
  const short = await call(false);
  t.match(short.answer, { status: 200, complete: true, stream: false, framed: true });
  t.equal(short.answer?.body().toString(), '{"a":1}');
  t.match((await call(false)).answer, { complete: true }, '64 KiB are still held');
  const long = (await call(false)).answer as UpstreamAnswer;
  t.equal(long.complete, false);
  t.match(await drain(long), { body: /^\{"a":"x{300000}"\}$/, failure: undefined });
  const stream = (await call(true)).answer as UpstreamAnswer;
  t.match(stream, { complete: false, stream: true, framed: true });
  t.equal(stream.body().toString(), 'data: 1\n\n', 'handed over with its first bytes');
  const rest = drain(stream);
  gate.release();
  t.match(await rest, { body: 'data: 1\n\ndata: [DONE]\n\n', failure: undefined });
});

await test('a call that fails before its answer says whether the provider may have seen it', async (t) => {
  const { provider, call } = await startProvider(t);
  const faults: [behaviour: Behaviour, code: string, sent: boolean][] = [
    [{ kind: 'reset' }, 'upstream_disconnected', true],
    [{ kind: 'fin' }, 'upstream_disconnected', true],
    [{ kind: 'not-http' }, 'upstream_invalid_response', true],
    [{ kind: 'header-bomb' }, 'upstream_invalid_response', true],
    [{ kind: 'odd-status', status: '101' }, 'upstream_invalid_response', true],
    [{ kind: 'informational-flood' }, 'upstream_invalid_response', true],
    [{ kind: 'short-body' }, 'upstream_disconnected', true],
    [{ kind: 'cut-chunk', after: 0 }, 'upstream_disconnected', true],
    [{ kind: 'bad-chunk-size', after: 0 }, 'upstream_invalid_response', true],
    [{ kind: 'refused' }, 'upstream_unavailable', false],
  ];
  for (const [behaviour, code, sent] of faults) {
    await provider.behave(behaviour);
    const { failure } = await call(false);
    t.match(failure, { failure: { code }, sent }, JSON.stringify(behaviour));
  }
});

await test('patience ends when it says: first byte, first event, silence, all of it', async (t) => {
  const { provider, call } = await startProvider(t);
  const short = { firstByteMs: 100, firstEventMs: 100, streamIdleMs: 100, totalMs: 3_000, usageDrainMs: 300 };
  const timedOut = (reason: RegExp) => ({ code: 'upstream_timeout', reason });
  await provider.behave({ kind: 'hang' });
  t.match((await call(false, short)).failure, { failure: timedOut(/first_byte/), sent: true });
  const patient = { ...short, firstByteMs: 5_000 };
  t.match((await call(true, patient)).failure, { failure: timedOut(/first_event/), sent: true });
  await provider.behave({ kind: 'stall', after: 1 });
  const stalled = (await call(true, short)).answer as UpstreamAnswer;
  t.match((await drain(stalled)).failure, timedOut(/stream_idle/));
  await provider.behave({ kind: 'sse', chunks: Array.from({ length: 400 }, () => [': still here\n\n', 20]).flat() });
  const endless = (await call(true, { ...short, streamIdleMs: 5_000, totalMs: 250 })).answer as UpstreamAnswer;
  t.match((await drain(endless)).failure, timedOut(/total/));
  await provider.waitFor((ledger) => ledger.every(({ clientClosedAtMs }) => clientClosedAtMs !== undefined));
});

await test('no deadline runs for the provider while the client does not read', async (t) => {
  const { provider, call } = await startProvider(t);
  await provider.behave({ kind: 'endless-body', bytes: 4 << 20 });
  const answer = (await call(true, { streamIdleMs: 300 })).answer as UpstreamAnswer;
  let taken = 0;
  let paused = false;
  const over = new Promise<unknown>((done) => {
    answer.attach({
      write(chunk) {
        taken += chunk.length;
        if (paused || taken < 1 << 20) return true;
        paused = true;
        return false;
      },
      end: done,
    });
  });
  await waitFor('the pause', () => paused);
  const pausedAt = nowMs();
  await waitFor('twice the patience', () => nowMs() - pausedAt > 600);
  answer.resume();
  t.equal(await over, undefined, 'the answer goes on where it was');
  t.ok(taken >= 4 << 20);
});

await test('an answer in tiny chunks is a bad answer, one in small events is not', async (t) => {
  const { provider, call } = await startProvider(t);
  const head = (type: string) => `HTTP/1.1 200 OK\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n`;
  const crumbs = '1\r\nx\r\n'.repeat(6_000);
  const crumbled = { code: 'upstream_invalid_response', reason: 'it comes in chunks of a few bytes each' };
  await provider.behave({ kind: 'raw', steps: [head('application/json'), crumbs, '0\r\n\r\n'] });
  t.match((await call(false)).failure, { failure: crumbled, sent: true });
  await provider.behave({ kind: 'raw', steps: [head('text/event-stream'), crumbs, '0\r\n\r\n'] });
  t.match((await drain((await call(true)).answer as UpstreamAnswer)).failure, crumbled);
  const event = 'data: {"a":"b"}\n\n';
  const events = `11\r\n${event}\r\n`.repeat(6_000);
  await provider.behave({ kind: 'raw', steps: [head('text/event-stream'), events, '0\r\n\r\n'] });
  const { failure, body } = await drain((await call(true)).answer as UpstreamAnswer);
  t.same([failure, body.length], [undefined, 6_000 * event.length]);
});

await test('cancelling cuts the call at once, whatever it was doing', async (t) => {
  const { provider, call } = await startProvider(t);
  const gate = createGate();
  await provider.behave([
    { kind: 'hold', gate },
    { kind: 'sse', chunks: ['data: 1\n\n', gate, fin] },
  ]);
  let started: UpstreamAnswer | undefined;
  const waiting = call(false, {}, (answer) => {
    started = answer;
  });
  await waitFor('the provider to hold it', () => gate.waiting === 1);
  started?.cancel();
  t.match((await waiting).failure, { failure: { code: 'upstream_disconnected', reason: 'the client left' } });
  const open = (await call(true)).answer as UpstreamAnswer;
  const rest = drain(open);
  open.cancel();
  t.match((await rest).failure, { code: 'upstream_disconnected' });
  open.cancel();
  open.onComplete();
  open.onError(new Error('late'));
  await provider.waitFor(
    (ledger) => ledger.length === 2 && ledger.every((entry) => entry.clientClosedAtMs !== undefined),
  );
});

await test('a call cancelled before it was connected never leaves', async (t) => {
  const { provider, call } = await startProvider(t);
  const { failure } = await call(false, {}, (answer) => answer.cancel());
  t.match(failure, { sent: false });
  t.match(await call(false), { answer: { status: 200 } });
  t.equal(provider.ledger.length, 1);
});
