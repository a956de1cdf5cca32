// The way to a provider through an HTTP proxy, and the authorities that are trusted for it: real sockets, real TLS.
import { createServer } from 'node:https';
import { type Test, test } from 'tap';
import { authoritiesOf } from '../../proxy/upstream/dial/trust.ts';
import { failureOf } from '../../proxy/upstream/failure.ts';
import { createPools, type Origin } from '../../proxy/upstream/pools.ts';
import { request } from '../../proxy/upstream/undici.ts';
import { certificate } from '../support/certificate.ts';
import { type ConnectProxy, startConnectProxy } from '../support/connect-proxy.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { freePort, listen } from '../support/ports.ts';
import { watchTime } from '../support/slowdown.ts';

/** A provider that speaks TLS as `provider.test`, and pools that find every name on this machine. */
async function startWorld(t: Test) {
  const { key, cert } = certificate(2000, 2100);
  const server = createServer({ key, cert }, (_, response) => response.end('hello'));
  server.on('tlsClientError', () => undefined);
  const port = await listen(server);
  const resolved: string[] = [];
  const pools = createPools(100, {
    resolve(name, done) {
      resolved.push(name);
      done(null, [{ address: '127.0.0.1', family: 4 }]);
    },
  });
  t.teardown(() => {
    pools.closeFree();
    server.closeAllConnections();
    server.close();
  });
  const ask = async (given: Partial<Origin>, patienceMs = 300): Promise<unknown> => {
    const target = { origin: `https://provider.test:${port}`, connectTimeoutMs: patienceMs, ...given };
    try {
      const { statusCode, body } = await request(pools.get(target), { method: 'GET', path: '/' });
      await body.dump();
      return statusCode;
    } catch (error) {
      return failureOf(error);
    }
  };
  return { ask, pools, port, resolved, tls: { key, cert }, authorities: authoritiesOf(cert) };
}

const through = ({ port }: ConnectProxy, authorization?: string) => ({
  proxy: { origin: `http://127.0.0.1:${port}`, authorization },
});

await test('a certificate of an authority of one’s own is trusted where it is configured, and the system’s still are', async (t) => {
  const { ask, authorities } = await startWorld(t);
  t.match(await ask({}), { code: 'upstream_tls' });
  t.equal(await ask({ authorities }), 200);
  t.match(await ask({ authorities: authoritiesOf(certificate(2000, 2100).cert) }), { code: 'upstream_tls' });
});

await test('a provider is reached through a tunnel, which is kept like a connection, and the proxy resolves its name', async (t) => {
  const { ask, authorities, port, resolved } = await startWorld(t);
  const proxy = await startConnectProxy({ t, port });
  const way = { ...through(proxy, 'Basic dXNlcjpwYXNz'), authorities };
  for (let count = 0; count < 3; count += 1) t.equal(await ask(way), 200);
  t.same(proxy.asked, [{ authority: `provider.test:${port}`, authorization: 'Basic dXNlcjpwYXNz' }]);
  t.same(resolved, [], 'no name was asked for here');
  t.match(await ask(through(proxy)), { code: 'upstream_tls' }, 'the tunnel proves nothing');
});

await test('a provider without TLS is reached through a tunnel too; a proxy with TLS is trusted as the provider is', async (t) => {
  const world = await startWorld(t);
  const plain = await startFakeUpstream({ t, models: ['m'] });
  const { origin } = new URL(plain.url);
  const open = await startConnectProxy({ t, port: plain.port });
  t.equal(await world.ask({ origin, ...through(open) }), 404, 'the answer of the provider');
  t.equal(plain.ledger.length, 1);
  const secure = await startConnectProxy({ t, port: world.port, tls: world.tls });
  const proxy = { origin: `https://provider.test:${secure.port}`, authorization: undefined };
  t.equal(await world.ask({ proxy, authorities: world.authorities }), 200);
  t.same(world.resolved, ['provider.test']);
  t.match(await world.ask({ proxy }), { code: 'upstream_unavailable', reason: 'its HTTP proxy could not be reached' });
});

await test('what a proxy does wrong is said, within the time for connecting', async (t) => {
  const { ask, port, authorities } = await startWorld(t);
  const proxy = await startConnectProxy({ t, port });
  const cases: [answer: ConnectProxy['answer'], reason: RegExp][] = [
    [407, /does not accept the credentials of the gateway/],
    [403, /refused to connect/],
    [502, /refused to connect/],
    ['silent', /within the connect timeout/],
  ];
  for (const [answer, reason] of cases) {
    proxy.answer = answer;
    const tookMs = watchTime();
    t.match(await ask({ ...through(proxy), authorities }), { code: 'upstream_unavailable', reason }, String(answer));
    t.ok(tookMs() < 1_000);
  }
  proxy.answer = undefined;
  t.equal(await ask({ ...through(proxy), authorities }), 200);
  const nobody = { proxy: { origin: `http://127.0.0.1:${await freePort()}`, authorization: undefined } };
  t.match(await ask(nobody), { code: 'upstream_unavailable', reason: 'its HTTP proxy could not be reached' });
});

await test('behind a proxy, too, an address in place of a name is checked, and the address of the proxy', async (t) => {
  const { ask, port } = await startWorld(t);
  const proxy = await startConnectProxy({ t, port });
  const refused = { code: 'upstream_unavailable', reason: /not one that the gateway may connect to/ };
  t.match(await ask({ origin: 'https://169.254.169.254', ...through(proxy), allowsPrivate: true }), refused);
  t.match(await ask({ origin: 'https://10.1.2.3', ...through(proxy) }), refused);
  t.same(proxy.asked, []);
  t.match(await ask({ proxy: { origin: 'http://169.254.169.254', authorization: undefined } }), refused);
});

await test('providers share connections only when they are reached in the same way', (t) => {
  const pools = createPools(100);
  const origin = { origin: 'https://provider.test', connectTimeoutMs: 300 };
  const [one, other] = ['one', 'other'].map((pem) => authoritiesOf(pem));
  const proxy = { origin: 'http://proxy.test:3128', authorization: undefined };
  const ways: Partial<Origin>[] = [
    {},
    { allowsPrivate: true },
    { connectTimeoutMs: 200 },
    { authorities: one },
    { authorities: other },
    { proxy },
    { proxy: { ...proxy, authorization: 'Basic dTpw' } },
    { proxy: { ...proxy, origin: 'http://proxy.test:3129' } },
  ];
  const made = new Set(ways.map((way) => pools.get({ ...origin, ...way })));
  t.equal(made.size, ways.length);
  t.ok(ways.every((way) => made.has(pools.get({ ...origin, ...structuredClone(way) }))));
  t.end();
});
