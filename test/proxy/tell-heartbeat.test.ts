// A heartbeat that the state store does not take is told to the control plane, in bounds, and not again and again where it is refused.
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { type Test, test } from 'tap';
import { controlPlaneLink } from '../../proxy/admin/control-plane-link.ts';
import { createHeartbeatTeller } from '../../proxy/admin/tell-heartbeat.ts';
import { createPools } from '../../proxy/upstream/pools.ts';
import type { HeartbeatBody, LiveCounter } from '../../store/state/heartbeat-body.ts';
import { sampleHeartbeat } from '../support/managed-state.ts';

interface Told {
  readonly request: IncomingMessage;
  readonly body: { readonly instance: string; readonly heartbeat: HeartbeatBody };
}

/** A control plane that answers so, and the teller of a proxy. */
async function startTelling(t: Test, status: () => number) {
  const heard: Told[] = [];
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      heard.push({ request, body: body as Told['body'] });
      response.writeHead(status()).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const settings = {
    controlPlaneUrl: `http://127.0.0.1:${port}`,
    controlPlaneTimeoutMs: 1_000,
    controlPlaneAuthorities: undefined,
  };
  const pools = createPools(8);
  const at = { nowMs: 1_000_000 };
  const controlPlane = controlPlaneLink(settings, () => 'sk-master');
  const tell = createHeartbeatTeller('proxy-1', { controlPlane, pools, nowMs: () => at.nowMs });
  t.teardown(() => {
    pools.closeFree();
    server.closeAllConnections();
    server.close();
  });
  return { at, heard, server, tell };
}

await test('it is told with the master key, without the figures of more rules than a body holds', async (t) => {
  const { heard, tell } = await startTelling(t, () => 204);
  const counter: LiveCounter = ['user_path 60 /', 0, 1, 0, 0];
  await tell(sampleHeartbeat({ store_trouble: 'it is full', counters: [counter] }));
  const many = Array.from({ length: 1_001 }, () => counter);
  await tell(sampleHeartbeat({ counters: many, windows: many.map(() => null), refused: [['user_path 60 /', 1]] }));
  const [first, second] = heard;
  t.match(first?.request, { method: 'POST', url: '/admin/heartbeats', headers: { authorization: 'Bearer sk-master' } });
  t.match(first?.body, { instance: 'proxy-1', heartbeat: { store_trouble: 'it is full', counters: [counter] } });
  const { counters, windows, refused } = second?.body.heartbeat ?? sampleHeartbeat();
  t.same([counters, windows, refused], [[], undefined, undefined]);
});

await test('after a refusal nothing is told for a minute; a control plane that fails is told again at once', async (t) => {
  let status = 503;
  const { at, heard, server, tell } = await startTelling(t, () => status);
  await tell(sampleHeartbeat());
  status = 401;
  await tell(sampleHeartbeat());
  t.equal(heard.length, 2);
  at.nowMs += 59_999;
  await tell(sampleHeartbeat());
  t.equal(heard.length, 2, 'it would count as one more failed login');
  at.nowMs += 1;
  status = 204;
  await tell(sampleHeartbeat());
  t.equal(heard.length, 3);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  await t.resolves(tell(sampleHeartbeat()), 'nobody listens any more');
});
