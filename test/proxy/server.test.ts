// The proxy's server as a process: what it says about itself.
import { test } from 'tap';
import { startGateway } from '../support/gateway.ts';

await test('the log names the address that is bound, a wildcard as a wildcard', async (t) => {
  const gateway = await startGateway(t, { config: {}, env: { GATEWAY_HOST: '0.0.0.0' } });
  const { address } = gateway.process.logs().find(({ msg }) => msg === 'listening') ?? {};
  t.equal(address, `http://0.0.0.0:${gateway.port}`);
  const health = await fetch(`http://127.0.0.1:${gateway.port}/health`);
  t.equal(health.status, 200);
});
