// What an operator hears through the proxy when the control plane fails: whether the write that was asked for may still happen.
import { createServer } from 'node:net';
import { type Test, test } from 'tap';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startGateway } from '../support/gateway.ts';
import { freePort, listen } from '../support/ports.ts';

/** Takes requests and does not answer them, or hangs up on them. */
async function startUnhelpful(t: Test, hangsUp: boolean): Promise<string> {
  const server = createServer((socket) => {
    t.teardown(() => socket.destroy());
    socket.on('error', () => undefined);
    socket.on('data', () => {
      if (hangsUp) socket.destroy();
    });
  });
  t.teardown(() => server.close());
  return `http://127.0.0.1:${await listen(server)}`;
}

/** What the proxy says of each method when the control plane is there. */
async function answersWith(t: Test, controlPlane: string) {
  const gateway = await startGateway(t, {
    upstream: await startFakeUpstream({ t }),
    env: { GATEWAY_CONTROL_PLANE_URL: controlPlane, GATEWAY_CONTROL_PLANE_TIMEOUT_MS: '300' },
  });
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
  for (const { method, text } of await answersWith(t, `http://127.0.0.1:${await freePort()}`)) {
    if (method === 'HEAD') continue;
    t.match(text, stays, method);
    t.equal(unchanged.test(text), isWrite(method), method);
    t.notMatch(text, doubtful, method);
  }
});

for (const [what, hangsUp, reason] of [
  ['does not answer in time', false, /did not answer in time/],
  ['hangs up', true, /the connection broke off/],
] as const) {
  await test(`a write to a control plane that ${what} may still happen`, async (t) => {
    for (const { method, text } of await answersWith(t, await startUnhelpful(t, hangsUp))) {
      if (method === 'HEAD') continue;
      t.match(text, reason, method);
      t.match(text, isWrite(method) ? doubtful : stays, method);
      t.notMatch(text, unchanged, method);
    }
  });
}
