// What an operator hears through the proxy when the control plane fails: whether the write that was asked for may still happen.
import { once } from 'node:events';
import { createServer } from 'node:net';
import { t as suite, type Test, test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startGateway } from '../support/gateway.ts';
import { freePort } from '../support/ports.ts';

/** Takes requests and does not answer them, or hangs up on them; at first it does not even listen. */
let hangsUp = false;
const controlPlane = createServer((socket) => {
  suite.teardown(() => socket.destroy());
  socket.on('error', () => undefined);
  socket.on('data', () => {
    if (hangsUp) socket.destroy();
  });
});
const port = await freePort();
const gateway = await startGateway(suite, {
  upstream: await startFakeUpstream({ t: suite }),
  env: { GATEWAY_CONTROL_PLANE_URL: `http://127.0.0.1:${port}`, GATEWAY_CONTROL_PLANE_TIMEOUT_MS: '300' },
});

/** What the proxy says of each method. */
async function answers(t: Test) {
  return Promise.all(
    ['GET', 'HEAD', 'PUT', 'POST', 'DELETE'].map(async (method) => {
      const init = method === 'GET' || method === 'HEAD' ? { method } : { method, body: { a: 1 } };
      const response = await gateway.fetch('/admin/rate-limits', init);
      const text = await response.text();
      t.equal(response.status, 503, method);
      if (method !== 'HEAD') t.match(JSON.parse(text), { code: 'control_plane_unavailable', status_code: 503 }, method);
      return { method, text };
    }),
  );
}

const isWrite = (method: string): boolean => method !== 'GET' && method !== 'HEAD';
const stays = /the limits in force stay in force\./i;
const unchanged = /Nothing was changed/;
const doubtful = /The write may still happen, so read the current state before you try again\./;

await test('a write to a control plane that is not there has changed nothing', async (t) => {
  for (const { method, text } of await answers(t)) {
    if (method === 'HEAD') continue;
    t.match(text, stays, method);
    t.equal(unchanged.test(text), isWrite(method), method);
    t.notMatch(text, doubtful, method);
  }
});

for (const [what, isCut, reason] of [
  ['does not answer in time', false, /did not answer in time/],
  ['hangs up', true, /the connection broke off/],
] as const) {
  await test(`a write to a control plane that ${what} may still happen`, async (t) => {
    if (!controlPlane.listening) {
      controlPlane.listen(port, '127.0.0.1');
      await once(controlPlane, 'listening');
      suite.teardown(() => controlPlane.close());
    }
    hangsUp = isCut;
    for (const { method, text } of await answers(t)) {
      if (method === 'HEAD') continue;
      t.match(text, reason, method);
      t.match(text, isWrite(method) ? doubtful : stays, method);
      t.notMatch(text, unchanged, method);
    }
  });
}
