// Names of providers: asked for again in time, shared while they are fresh, and followed when they lead elsewhere.
import type { LookupAddress } from 'node:dns';
import { createServer, type RequestListener } from 'node:http';
import { type Test, test } from 'tap';
import { Names, nameTimes, type Resolve } from '../../proxy/upstream/dial/names.ts';
import { failureOf } from '../../proxy/upstream/failure.ts';
import { createPools } from '../../proxy/upstream/pools.ts';
import { request } from '../../proxy/upstream/undici.ts';
import { listen } from '../support/ports.ts';
import { waitFor } from '../support/wait-for.ts';

type Answer = string[] | { code: string } | undefined;

const found = (addresses: readonly string[]): LookupAddress[] =>
  addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));

/** A resolver that says what `answers` gives (undefined: nothing, ever), and counts how often it was asked. */
function resolver(answers: () => Answer) {
  const asked: string[] = [];
  const resolve: Resolve = (name, done) => {
    asked.push(name);
    const answer = answers();
    if (answer === undefined) return;
    if (Array.isArray(answer)) done(null, found(answer));
    else done(Object.assign(new Error(answer.code), answer), []);
  };
  return { asked, resolve };
}

const lookUp = (names: Names, name = 'a.test'): Promise<string> =>
  new Promise((done) => {
    names.resolve(name, (error, addresses) => done(error?.code ?? addresses.map(({ address }) => address).join(' ')));
  });

await test('a name is asked for once while the answer is fresh, and once for all that wait', async (t) => {
  let answer: Answer = ['192.0.2.1'];
  const { asked, resolve } = resolver(() => answer);
  const names = new Names(resolve, { ...nameTimes, freshMs: 100 });
  t.same(await Promise.all([lookUp(names), lookUp(names), lookUp(names, 'b.test')]), Array(3).fill('192.0.2.1'));
  t.same(asked, ['a.test', 'b.test']);
  answer = ['192.0.2.2'];
  await waitFor('another answer', async () => (await lookUp(names)) === '192.0.2.2', 1_000);
  names.keep(new Set(['b.test']));
  asked.splice(0);
  await lookUp(names);
  t.same(asked, ['a.test'], 'a name that no provider has is forgotten');
});

await test('a failure holds for a moment; while the resolver fails, the last addresses are used', async (t) => {
  let answer: Answer = { code: 'EAI_AGAIN' };
  const { asked, resolve } = resolver(() => answer);
  const names = new Names(resolve, { freshMs: 30, failedMs: 30, staleMs: 300 });
  t.equal(await lookUp(names), 'EAI_AGAIN');
  t.equal(await lookUp(names), 'EAI_AGAIN');
  t.equal(asked.length, 1);
  answer = ['192.0.2.1'];
  await waitFor('the answer', async () => (await lookUp(names)) === '192.0.2.1', 1_000);
  answer = { code: 'EAI_AGAIN' };
  const before = asked.length;
  await waitFor(
    'more questions',
    async () => (await lookUp(names)) === '192.0.2.1' && asked.length > before + 1,
    1_000,
  );
  await waitFor('the end of the last addresses', async () => (await lookUp(names)) === 'EAI_AGAIN', 1_000);
  answer = ['192.0.2.1'];
  await waitFor('the answer', async () => (await lookUp(names)) === '192.0.2.1', 1_000);
  answer = { code: 'ENOTFOUND' };
  await waitFor('that the name is gone', async () => (await lookUp(names)) === 'ENOTFOUND', 1_000);
});

await test('a resolver that hangs gathers no endless crowd, and a connection does not wait longer than it may', async (t) => {
  const { asked, resolve } = resolver(() => undefined);
  const names = new Names(resolve, nameTimes);
  const ends: string[] = [];
  for (let count = 0; count < 2_000; count += 1) names.resolve('a.test', (error) => void ends.push(error?.code ?? ''));
  await waitFor('those beyond the bound', () => ends.length > 0);
  t.same([asked.length, ends.length, new Set(ends)], [1, 2_000 - 1_024, new Set(['EAI_AGAIN'])]);

  // Nothing else keeps the process: the timer of a connection does not.
  const awake = setInterval(() => undefined, 1_000);
  t.teardown(() => clearInterval(awake));
  const pool = createPools(100, { resolve }).get({ origin: 'http://a.test', connectTimeoutMs: 100 });
  const fate = await request(pool, { method: 'GET', path: '/' }).catch(failureOf);
  t.match(fate, { code: 'upstream_unavailable', reason: 'no connection within the connect timeout' });
});

/** Listens at an address of this machine. */
async function startAt(t: Test, address: string, port: number, listener: RequestListener): Promise<number> {
  const server = createServer({ keepAliveTimeout: 60_000 }, listener);
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  if (port === 0) return listen(server);
  await new Promise<void>((done) => server.listen(port, address, done));
  return port;
}

await test('when a name leads elsewhere, connections follow after a while, and no call is cut', async (t) => {
  const gate = Promise.withResolvers<void>();
  let isHeld = false;
  const port = await startAt(t, '127.0.0.1', 0, ({ url }, response) => {
    isHeld ||= url === '/held';
    if (url === '/held') void gate.promise.then(() => response.end('old'));
    else response.end('old');
  });
  await startAt(t, '127.0.0.2', port, (_, response) => response.end('new'));
  let addresses = ['127.0.0.1'];
  const { resolve } = resolver(() => addresses);
  const pools = createPools(100, { resolve, names: { freshMs: 10, failedMs: 10, staleMs: 1_000 }, lookMs: 20 });
  t.teardown(() => pools.closeFree());
  const pool = pools.get({ origin: `http://provider.test:${port}`, connectTimeoutMs: 300 });
  const ask = async (path = '/'): Promise<string> => {
    const { body } = await request(pool, { method: 'GET', path });
    return body.text();
  };
  const held = ask('/held');
  await waitFor('the call', () => isHeld);
  t.equal(await ask(), 'old');
  addresses = ['127.0.0.3', '127.0.0.2'];
  t.equal(await ask(), 'old', 'a kept connection asks for no name');
  await waitFor('the new place', async () => (await ask()) === 'new', 2_000);
  t.equal(pool.open, 2);
  gate.resolve();
  t.equal(await held, 'old');
  await waitFor('the end of the old connection', () => pool.open === 1);
  addresses = ['127.0.0.2', '127.0.0.1'];
  t.equal(await ask(), 'new');
});

await test('a name with addresses of both families is reached at the one that answers', async (t) => {
  const port = await startAt(t, '127.0.0.1', 0, (_, response) => response.end('here'));
  const { resolve } = resolver(() => ['::1', '127.0.0.1']);
  const pools = createPools(100, { resolve });
  t.teardown(() => pools.closeFree());
  const pool = pools.get({ origin: `http://provider.test:${port}`, connectTimeoutMs: 300 });
  const { body } = await request(pool, { method: 'GET', path: '/' });
  t.equal(await body.text(), 'here');
});
