// An answer is a value: one made of constants is relayed like a provider's, through the same taps.
import { createServer } from 'node:http';
import { type Test, test } from 'tap';
import { credentialsOf } from '../../../domain/keys/credentials.ts';
import { type Answer, type Failure, type Sink, type Tap, wholeAnswer } from '../../../proxy/answer.ts';
import { closeExchange, openExchange } from '../../../proxy/http/exchange.ts';
import { createKeyStreams } from '../../../proxy/kept/key-streams.ts';
import { compile } from '../../../proxy/snapshot/compile.ts';
import { type Ending, relay } from '../../../proxy/stages/relay.ts';
import { listen } from '../../support/ports.ts';
import { rawRequest } from '../../support/raw-http.ts';
import { sampleConfig } from '../sample-config.ts';

const event = (data: string): string => `data: ${data}\n\n`;

/** A complete answer, as a cache would keep it; `failure` ends it behind its bytes. */
function stored(contentType: string, text: string, failure?: Failure): Answer {
  const bytes = Buffer.from(text);
  return {
    status: 200,
    contentType,
    contentLength: undefined,
    stream: contentType === 'text/event-stream',
    framed: true,
    complete: true,
    body: () => bytes,
    attach(sink) {
      sink.write(bytes);
      sink.end(failure);
    },
    resume: () => undefined,
    finishSoon: () => undefined,
    cancel: () => undefined,
  };
}

/** Puts a letter behind whatever passes. */
function marking(letter: string): Tap {
  const marked = (bytes: Buffer): Buffer => Buffer.concat([bytes, Buffer.from(letter)]);
  return {
    whole: marked,
    open: (next: Sink): Sink => ({ write: (chunk) => next.write(marked(chunk)), end: (failure) => next.end(failure) }),
    awaitsMore: () => false,
  };
}

/** What a client gets of an answer, and how its trip ended. */
async function relayed(t: Test, answer: Answer, taps: readonly Tap[]) {
  const credentials = credentialsOf(undefined, []);
  const snapshot = compile(sampleConfig({}), '', credentials);
  const reported: unknown[] = [];
  const parts = {
    reportFailure: (error: unknown) => void reported.push(error),
    keyStreams: createKeyStreams(
      () => snapshot,
      () => 0,
    ),
  };
  const ended = Promise.withResolvers<Ending>();
  const server = createServer((request, response) => {
    const exchange = openExchange(
      request,
      response,
      { userPathHeader: 'x-path', gatewayKeyHeader: 'x-gateway-key', trustedProxies: undefined },
      0,
    );
    response.on('close', () => closeExchange(exchange));
    const delivery = { answer, provider: undefined, taps, headers: ['x-kept', 'yes'], holder: undefined };
    ended.resolve(relay(delivery, exchange, parts));
  });
  t.teardown(() => server.close());
  const { responses } = await rawRequest(
    await listen(server),
    'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n',
  );
  const [response] = responses;
  if (response === undefined) throw new Error('no answer');
  return { response, ending: await ended.promise, reported };
}

await test('a stored body is relayed whole, with its length', async (t) => {
  const { response, ending } = await relayed(t, stored('application/json', '{"a":1}'), []);
  t.equal(response.text(), '{"a":1}');
  t.equal(response.header('content-length'), '7');
  t.equal(response.header('content-type'), 'application/json');
  t.equal(response.header('x-kept'), 'yes');
  t.match(ending, { status: 200, refused: undefined });
  t.ok(ending.headers.includes('x-kept'), 'the headers that were sent are known');
});

await test('a stored stream is relayed as a stream', async (t) => {
  const { response, ending } = await relayed(t, stored('text/event-stream', event('1') + event('[DONE]')), []);
  t.equal(response.text(), event('1') + event('[DONE]'));
  t.equal(response.header('transfer-encoding'), 'chunked');
  t.equal(response.header('cache-control'), 'no-cache');
  t.match(ending, { status: 200, refused: undefined });
});

await test('a stored stream that is known to be whole is sent at once, with its length', async (t) => {
  const text = event('1') + event('[DONE]');
  const answer = wholeAnswer(Buffer.from(text), { contentType: 'text/event-stream', stream: true });
  const { response, ending } = await relayed(t, answer, []);
  t.equal(response.text(), text);
  t.equal(response.header('content-length'), String(text.length));
  t.equal(response.header('cache-control'), 'no-cache');
  t.match(ending, { status: 200, refused: undefined });
  const tapped = await relayed(t, answer, [marking('a')]);
  t.equal(tapped.response.header('transfer-encoding'), 'chunked', 'a tap sees it as a stream');
});

await test('every tap sees what the one before it passed on', async (t) => {
  const taps = [marking('a'), marking('b')];
  const whole = await relayed(t, stored('application/json', '{}'), taps);
  t.equal(whole.response.text(), '{}ab');
  t.equal(whole.response.header('content-length'), '4', 'the length is that of what is passed on');
  const flowing = await relayed(t, stored('text/event-stream', event('1')), taps);
  t.equal(flowing.response.text(), `${event('1')}ab`);
});

await test('a tap that fails ends the stream with an error of the gateway, and is reported', async (t) => {
  const failing: Tap = {
    ...marking(''),
    open: (next) => ({
      write: () => {
        throw new Error('tap');
      },
      end: (failure) => next.end(failure),
    }),
  };
  const { response, ending, reported } = await relayed(t, stored('text/event-stream', event('1')), [failing]);
  t.match(response.text(), /^data: \{"error":\{"code":"internal_error"/);
  t.match(ending, { status: 500, refused: { code: 'internal_error' } });
  t.match(reported, [{ message: 'tap' }]);
});

await test('what broke a stream off is part of how it ended', async (t) => {
  const broken = stored('text/event-stream', event('1'), { code: 'upstream_timeout', reason: 'it was silent' });
  const { response, ending } = await relayed(t, broken, []);
  t.match(response.text(), /^data: 1\n\ndata: \{"error":\{"code":"upstream_timeout".*it was silent/);
  t.match(ending, { status: 504, refused: { code: 'upstream_timeout', type: 'provider_error' } });
});
