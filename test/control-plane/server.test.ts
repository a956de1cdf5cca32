// The HTTP server of the control plane on a real socket: its routes, and the flat error for every failure.
import { Agent, METHODS, type OutgoingHttpHeaders, request as openRequest } from 'node:http';
import type { Socket } from 'node:net';
import { type Test, test } from 'tap';
import { refusal } from '../../control-plane/errors.ts';
import { createBodyReader } from '../../control-plane/managed/read-body.ts';
import { createMetrics } from '../../control-plane/metrics.ts';
import { createServer } from '../../control-plane/server.ts';
import { credentialsOf } from '../../domain/keys/credentials.ts';
import { digestOf } from '../../domain/keys/secret.ts';
import { createFailedLogins } from '../../plane/access/failed-logins.ts';
import { compileBody } from '../../schemas/validation/compile.ts';
import { extent } from '../support/extent.ts';
import { openRaw, rawRequest } from '../support/raw-http.ts';
import { json, refusals, send, sendBytes } from './server-requests.ts';

const readThing = createBodyReader(
  compileBody<object>({ type: 'object', additionalProperties: false, properties: { a: {}, b: {} } }),
);

/** With a master key, when one is given. */
async function startServer(t: Test, masterKey?: string) {
  const logged: unknown[] = [];
  const logger = { error: (...parts: unknown[]) => void logged.push(parts), info: () => undefined };
  const failedLogins = createFailedLogins();
  const credentials = credentialsOf(masterKey === undefined ? undefined : digestOf(masterKey), []);
  const app = createServer({
    logger,
    metrics: createMetrics({
      budgets: { standings: () => [] },
      version: '1.2.3',
      rollout: () => undefined,
      config: () => undefined,
      pin: () => undefined,
      state: () => undefined,
      secretProblems: () => [],
      handshakes: () => undefined,
      fleet: { proxies: () => [], lagSeconds: () => 0 },
      revisions: () => ({ kept: 0, lost: 0 }),
      records: () => ({ storedRecords: 0, lostRecords: 0, trouble: undefined }),
      room: () => undefined,
      areRecordsBegunAnew: false,
      diskRoom: () => 1,
      failedLogins,
      output: { droppedEvents: 0 },
    }),
    access: {
      credentials: () => credentials,
      failedLogins,
      masterKey: undefined,
      nowMs: () => 0,
    },
    readiness: () => ({ status: 'ready', reasons: [] }),
  });
  const config = { access: 'public' } as const;
  app.post('/things/:id', { config }, (request) => readThing(request.body));
  app.delete('/things/:id', { config }, () => ({ done: true }));
  app.post('/admin/things', { config: { access: { role: 'viewer', reach: 'subtree' } } }, (request) =>
    readThing(request.body),
  );
  app.get('/slow', { config }, () => new Promise(() => undefined));
  app.get('/refused', { config }, () => {
    throw refusal('invalid_json', { param: 'limit_key.period' });
  });
  app.get('/broken', { config }, () => {
    throw new Error('canary: the password is swordfish');
  });
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(() => app.close());
  return { app, logged, port: Number(new URL(address).port) };
}

await test('every refusal is the flat admin error', async (t) => {
  const { port } = await startServer(t);
  const found: object[] = [];
  for (const [claim, bytes] of refusals) {
    const { responses } = await rawRequest(port, bytes);
    const [response] = responses;
    const { message, param: _, ...body } = Object(response?.json());
    const isSentence = /^[A-Z].*\.$/.test(message);
    const isJson = response?.header('content-type')?.startsWith('application/json') === true;
    found.push({ claim, answers: responses.length, status: response?.status, isJson, isSentence, body });
  }
  t.strictSame(
    found,
    refusals.map(([claim, , status, code, type]) => {
      const body = { code, status_code: status, type };
      return { claim, answers: 1, status, isJson: true, isSentence: true, body };
    }),
  );
});

await test('a refusal names the member at fault', async (t) => {
  const { port } = await startServer(t);
  const { responses } = await rawRequest(port, send('GET /refused'));
  t.match(responses[0]?.json(), { param: 'limit_key.period' });
});

await test('a member with an endless name that hides is named harmlessly', async (t) => {
  const { port } = await startServer(t);
  const name = '\u202e'.padEnd(900_000, 'x');
  const { responses } = await rawRequest(port, send('POST /things/7', json, JSON.stringify({ [name]: 1 })));
  t.match(responses[0]?.json(), { code: 'invalid_member', param: /^\?x{199}…$/ });
  const nameless = (await rawRequest(port, send('POST /things/7', json, '{"":1}'))).responses[0]?.json();
  t.match(nameless, { code: 'invalid_member' });
  t.notOk('param' in Object(nameless), 'nothing is not named');
});

await test('a body holds 128 levels and 25,000 values, whatever its texts say', async (t) => {
  const { port } = await startServer(t);
  const codeOf = async (body: string): Promise<string> => {
    const { responses } = await rawRequest(port, send('POST /things/7', json, body));
    return /"code":"(body_\w+)"/.exec(responses[0]?.text() ?? '')?.[1] ?? `${responses[0]?.status}`;
  };
  const nested = (levels: number): string => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
  const listed = (entries: number): string => `{"a":[${'1,'.repeat(entries - 1)}1]}`;
  const quoted = JSON.stringify({ a: '"[{\\,'.repeat(30_000) });
  t.equal(await codeOf(nested(129)), 'body_too_deep');
  t.equal(await codeOf(listed(25_000)), 'body_too_many_values');
  for (const taken of [nested(128), listed(24_990), quoted])
    t.notMatch(await codeOf(taken), /^body_/, taken.slice(0, 20));
});

await test('the answer to a wrong method lists the allowed ones', async (t) => {
  const { port } = await startServer(t);
  const { responses } = await rawRequest(port, send('DELETE /health'));
  t.equal(responses[0]?.header('allow'), 'GET, HEAD');
});

await test('a request that never finishes is answered 408', async (t) => {
  const { app, port } = await startServer(t);
  app.server.once('connection', (socket) => {
    const late = Object.assign(new Error('late'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    app.server.emit('clientError', late, socket);
  });
  const { responses, closedByServer } = await rawRequest(port, 'GET /he', { until: 'close' });
  t.match(responses[0]?.json(), { code: 'request_timeout', status_code: 408 });
  t.ok(closedByServer);
});

await test('a client that resets its connection does not affect others', async (t) => {
  const { port } = await startServer(t);
  const connection = await openRaw(port);
  await connection.send('GET /hea');
  connection.reset();
  const { responses } = await rawRequest(port, send('GET /health'));
  t.equal(responses[0]?.status, 200);
});

await test('the log has the whole of an unexpected failure, the answer its request id alone', async (t) => {
  const { port, logged } = await startServer(t);
  const { responses } = await rawRequest(port, send('GET /broken', 'X-Request-Id: call-7\r\n'));
  t.equal(responses[0]?.header('x-request-id'), 'call-7');
  t.match(responses[0]?.text(), 'call-7');
  t.notMatch(responses[0]?.text(), /canary|swordfish|at /);
  t.match(logged, [[{ err: { message: /canary/ }, request_id: 'call-7' }, 'unexpected failure']]);
});

await test('every answer carries the id of its request', async (t) => {
  const { port } = await startServer(t);
  for (const line of ['GET /health', 'GET /metrics', 'GET /nope', 'POST /health', 'GET /%zz']) {
    const { responses } = await rawRequest(port, send(line, 'X-Request-Id: call-8\r\n'));
    t.equal(responses[0]?.header('x-request-id'), 'call-8', line);
  }
});

await test('a parameter may be as long as a path', async (t) => {
  const { port } = await startServer(t);
  const { responses } = await rawRequest(port, send(`POST /things/${'x'.repeat(8_000)}`, json, '{"a":1}'));
  t.strictSame([responses[0]?.status, responses[0]?.json()], [200, { a: 1 }]);
});

await test('a body that says it is not encoded is taken', async (t) => {
  const { port } = await startServer(t);
  const { responses } = await rawRequest(port, send('POST /things/7', `${json}Content-Encoding: Identity\r\n`, '{}'));
  t.equal(responses[0]?.status, 200);
});

await test('a request id that could forge a line is replaced', async (t) => {
  const { port } = await startServer(t);
  const { responses } = await rawRequest(port, send('GET /nope', 'X-Request-Id: a b\r\n'));
  t.match(responses[0]?.header('x-request-id'), /^[0-9a-f-]{36}$/);
});

await test('control and format characters of a path do not reach the message', async (t) => {
  const { port } = await startServer(t);
  const { responses } = await rawRequest(port, send('GET /\u202e\u0085'));
  t.notMatch(responses[0]?.text() ?? '', /[\u202e\u0085]/);
});

await test('an error about an overlong path shows its beginning', async (t) => {
  const { port } = await startServer(t);
  const { responses } = await rawRequest(port, send(`GET /${'x'.repeat(3_000)}`));
  t.match(responses[0]?.json(), { code: 'route_not_found', message: /^There is no GET \/x{199}… here\.$/ });
});

await test('health says ok', async (t) => {
  const { port } = await startServer(t);
  const { responses } = await rawRequest(port, send('GET /health'));
  t.equal(responses[0]?.status, 200);
  t.strictSame(responses[0]?.json(), { status: 'ok' });
});

await test('health needs no Host from an HTTP/1.0 client', async (t) => {
  const { port } = await startServer(t);
  const { responses } = await rawRequest(port, 'GET /health HTTP/1.0\r\n\r\n');
  t.equal(responses[0]?.status, 200);
});

await test('metrics tell the process and the build', async (t) => {
  const { port } = await startServer(t);
  const { responses } = await rawRequest(port, send('GET /metrics'));
  t.match(responses[0]?.header('content-type'), /^text\/plain; version=0\.0\.4/);
  t.match(
    responses[0]?.text(),
    /^gateway_build_info\{plane="control-plane",version="1\.2\.3",node="\d+\.\d+\.\d+"\} 1$/m,
  );
  t.match(responses[0]?.text(), /^process_resident_memory_bytes \d+$/m);
});

await test('a route that takes no body does not mind the type of none', async (t) => {
  const { port } = await startServer(t);
  const types = ['application/json', 'application/x-www-form-urlencoded', 'json', ''];
  for (const type of types.map((name) => `Content-Type: ${name}\r\n`)) {
    for (const framing of ['', 'Content-Length: 0\r\n']) {
      const { responses } = await rawRequest(port, send('DELETE /things/7', type + framing));
      t.strictSame(responses[0]?.json(), { done: true }, type + framing);
    }
  }
  const chunked = `${send('DELETE /things/7', `${json}Transfer-Encoding: chunked\r\n`)}0\r\n\r\n`;
  t.strictSame((await rawRequest(port, chunked)).responses[0]?.json(), { done: true });
});

await test('UTF-8 is taken by whatever name, with and without its mark', async (t) => {
  const { port } = await startServer(t);
  for (const type of ['application/json; charset=UTF-8', 'application/json;charset="utf-8"', 'Application/JSON; v=1']) {
    for (const mark of ['', '\ufeff']) {
      const { responses } = await rawRequest(port, sendBytes(type, Buffer.from(`${mark}{"a":"é😀"}`)));
      t.strictSame(responses[0]?.json(), { a: 'é😀' }, type);
    }
  }
});

await test('a body of the right type arrives unchanged', async (t) => {
  const { port } = await startServer(t);
  const { responses } = await rawRequest(port, send('POST /things/7', json, '{"a":"5","b":null}'));
  t.strictSame(responses[0]?.json(), { a: '5', b: null });
});

// --- every method, path and type of body

/** Asks with a body of `{}` whatever the method: the status, and `flat` (an answer to HEAD has no shape) or the text. */
function tell(
  { port, agent }: { port: number; agent: Agent },
  method: string,
  path: string,
  headers: OutgoingHttpHeaders,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const asked = openRequest(
      { port, agent, method, path, headers: { ...headers, 'content-length': 2 } },
      (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (part: string) => {
          text += part;
        });
        response.on('end', () => {
          const isFlat = /^\{"code":"[a-z_]+","message":"[^"]/.test(text) && text.includes('"status_code":');
          resolve(`${response.statusCode} ${isFlat || method === 'HEAD' ? 'flat' : text}`);
        });
      },
    );
    asked.on('error', reject);
    asked.end('{}');
  });
}

const oddTypes = ['', ' ', ';', '/', 'json', 'application/', 'a/b/c', 'text/plain', 'x'.repeat(3_000)];
// A tunnel is no request: node ends its connection.
const methods = METHODS.filter((method) => method !== 'CONNECT');

/** In a short run each method has a third of the types, and each type a third of the methods. */
const step = extent(1, 3);
const pairs = methods.flatMap((method, row) =>
  oddTypes.filter((_, column) => (row + column) % step === 0).map((type) => [method, type] as const),
);

await test('every method with every type of body gets 401, 404, 405 or 415 in the flat shape', async (t) => {
  const { port, logged } = await startServer(t, 'the master key of this test');
  const agent = new Agent({ keepAlive: true, maxSockets: 8 });
  t.teardown(() => agent.destroy());
  const server = { port, agent };
  const key = { authorization: 'Bearer the master key of this test' };
  const cases: [claim: string, path: string, headers: OutgoingHttpHeaders, taken: string[], expected: string][] = [
    ['an unknown path', '/nope', {}, [], '404 flat'],
    ['a public path', '/health', {}, ['GET', 'HEAD'], '405 flat'],
    ['a path with a body', '/things/7', {}, ['POST', 'DELETE'], '405 flat'],
    ['an unknown path of the admin API, without a key', '/admin/nope', {}, [], '401 flat'],
    ['the admin API itself, without a key', '/admin', {}, [], '401 flat'],
    ['a path of the admin API that cannot be decoded, without a key', '/admin/%zz', {}, [], '401 flat'],
    ['a path of the admin API, without a key', '/admin/things', {}, [], '401 flat'],
    ['an unknown path of the admin API, with a key', '/admin/nope', key, [], '404 flat'],
    ['a path of the admin API, with a key', '/admin/things', key, ['POST'], '405 flat'],
  ];
  for (const [claim, path, headers, taken, expected] of cases) {
    const asked = pairs
      .filter(([method]) => !taken.includes(method))
      .map(([method, type]) => tell(server, method, path, { ...headers, 'content-type': type }));
    t.same([...new Set(await Promise.all(asked))], [expected], claim);
  }
  for (const path of ['/things/7', '/admin/things']) {
    const asked = oddTypes.map((type) => tell(server, 'POST', path, { ...key, 'content-type': type }));
    t.same([...new Set(await Promise.all(asked))], ['415 flat'], `a body of another type for ${path}`);
  }
  t.same(logged, [], 'and nothing failed unexpectedly');
});

await test('no browser guesses what an answer is', async (t) => {
  const { port } = await startServer(t);
  for (const line of ['GET /health', 'GET /metrics', 'GET /nope', 'POST /health', 'GET /%zz', 'GET /broken']) {
    const { responses } = await rawRequest(port, send(line));
    t.equal(responses[0]?.header('x-content-type-options'), 'nosniff', line);
  }
});

// --- what one connection may ask

await test('a connection that asks and asks without reading is cut, and others are served', async (t) => {
  const { app, port } = await startServer(t);
  let asked = 0;
  app.server.on('request', () => {
    asked += 1;
  });
  const connection = await openRaw(port, { t });
  await connection.send(send('GET /slow').repeat(10_000));
  await connection.waitFor(({ closedByServer }) => closedByServer);
  t.ok(asked < 10_000, `${asked} were read`);
  const { responses } = await rawRequest(port, send('GET /health'));
  t.equal(responses[0]?.status, 200);
});

await test('an offer of another protocol is ignored, and the last request on its connection', async (t) => {
  const { port } = await startServer(t);
  const offer = send('GET /health', 'Connection: Upgrade\r\nUpgrade: h2c\r\n');
  const { responses, closedByServer } = await rawRequest(port, offer + send('GET /health'), { until: 'close' });
  t.same([responses.map(({ status }) => status), responses[0]?.header('connection')], [[200], 'close']);
  t.ok(closedByServer);
});

await test('of garbage on one connection the first piece is answered, and the rest leaves nothing behind', async (t) => {
  const { app, port } = await startServer(t);
  const accepted = new Promise<Socket>((resolve) => app.server.once('connection', resolve));
  await openRaw(port, { t });
  const socket = await accepted;
  // The answer stays unread and unsent, so that the connection cannot end.
  socket.cork();
  for (let count = 0; count < 100; count += 1) app.server.emit('clientError', new Error('garbage'), socket);
  const listeners = socket.eventNames().map((name) => socket.listenerCount(name));
  t.ok(Math.max(...listeners) < 10, `at most ${Math.max(...listeners)} listeners of one event`);
  t.ok(socket.writableLength < 1_000, `${socket.writableLength} bytes of answers`);
});
