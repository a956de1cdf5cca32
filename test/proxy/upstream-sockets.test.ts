// Sockets to providers are bounded: those without a call make room for another provider, and files and stores keep their descriptors.
import { createServer } from 'node:http';
import { t as suite, test } from 'tap';
import { createPools } from '../../proxy/upstream/pools.ts';
import { request } from '../../proxy/upstream/undici.ts';
import { masterKey, startGateway } from '../support/gateway.ts';
import { listen } from '../support/ports.ts';
import { Pool } from '../support/undici.ts';
import { waitFor } from '../support/wait-for.ts';

/** Fewer than the proxy has room for; a connection of each to every provider would be too many. */
const clients = 40;
/** Calls that have come to providers with status 200. */
let held = 0;

/** A provider that answers when the gate opens, and keeps its connections. */
async function startKeeper(status: number, gate = Promise.resolve<unknown>(undefined)): Promise<string> {
  const server = createServer({ keepAliveTimeout: 60_000 }, (question, answer) => {
    question.resume();
    if (status === 200) held += 1;
    void gate.then(() => {
      answer.writeHead(status, { 'content-type': 'application/json' }).end('{"object":"chat.completion","choices":[]}');
    });
  });
  suite.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${await listen(server)}`;
}

await test('beyond the bound a socket without a call is closed, and one with a call never', async (t) => {
  const gate = Promise.withResolvers<unknown>();
  const [slow, free] = await Promise.all([startKeeper(200, gate.promise), startKeeper(201)]);
  const pools = createPools(2);
  const get = async (origin: string): Promise<unknown> => {
    const { statusCode, body } = await request(pools.get({ origin, connectTimeoutMs: 300 }), {
      method: 'GET',
      path: '/',
    });
    await body.dump();
    return statusCode;
  };
  const first = get(slow);
  t.equal(await get(free), 201);
  const second = get(slow);
  await waitFor('both calls to be there', () => held === 2);
  await t.rejects(get(free), { code: 'EMFILE', syscall: 'connect' }, 'both sockets have a call');
  gate.resolve(undefined);
  t.same(await Promise.all([first, second]), [200, 200]);
  t.equal(await get(free), 201);
});

await test('calls to one provider after the other need no more files than there are', async (t) => {
  const origins = await Promise.all([200, 200, 200].map((status) => startKeeper(status)));
  const providers = origins.map((origin, index) => [
    `keeper-${index}`,
    { type: 'openai', base_url: `${origin}/v1`, models: ['fake-small'] },
  ]);
  const gateway = await startGateway(t, {
    config: { providers: Object.fromEntries(providers) },
    descriptors: 160,
    env: { NODE_V8_COVERAGE: undefined },
  });
  const pool = new Pool(gateway.url, { connections: clients, pipelining: 1 });
  t.teardown(() => pool.destroy());
  const headers = { authorization: `Bearer ${masterKey}`, 'content-type': 'application/json' };
  const call = async (round: number): Promise<number> => {
    const body = JSON.stringify({ model: `keeper-${round % origins.length}/fake-small`, messages: [] });
    const answer = await request(pool, { method: 'POST', path: '/v1/chat/completions', headers, body });
    await answer.body.dump();
    return answer.statusCode;
  };
  for (let round = 0; round < 2 * origins.length; round += 1) {
    const statuses = await Promise.all(Array.from({ length: clients }, () => call(round)));
    t.same(new Set(statuses), new Set([200]));
  }
  await gateway.applyConfig({ 'gateway.yaml': { providers: Object.fromEntries(providers), server: {} } });
  t.notMatch([...gateway.process.stdout, ...gateway.process.stderr].join('\n'), /EMFILE|"level":"(error|fatal)"/);
});
