// The proxy's server as a process: what it says about itself.
import { t as suite, test } from 'tap';
import { startGateway } from '../support/gateway.ts';
import { rawRequest } from '../support/raw-http.ts';

const get = 'GET /health HTTP/1.1\r\nHost: a\r\n\r\n';

const gateway = await startGateway(suite, { config: {}, env: { GATEWAY_HOST: '0.0.0.0' } });

await test('the log names the address that is bound, a wildcard as a wildcard', async (t) => {
  const { address } = gateway.process.logs().find(({ msg }) => msg === 'listening') ?? {};
  t.equal(address, `http://0.0.0.0:${gateway.port}`);
  const health = await fetch(`http://127.0.0.1:${gateway.port}/health`);
  t.equal(health.status, 200);
});

await test('server.keep_alive says how long connections stay, and is hot', async (t) => {
  const announced = async () => (await rawRequest(gateway.port, get)).responses[0]?.header('keep-alive');
  t.equal(await announced(), 'timeout=75');
  await gateway.applyConfig({ 'gateway.yaml': { server: { keep_alive: '7s' } } });
  t.equal(await announced(), 'timeout=7');
});
