// The live stream through a proxy: events come at once, a pause does not end it, and it ends when the proxy does.
import type { ServerResponse } from 'node:http';
import { t as suite, type Test, test } from 'tap';
import { livePath } from '../../domain/records/live-stream.ts';
import { type EventStream, openStream } from '../control-plane/event-stream.ts';
import { record, startRecordsPlane } from '../control-plane/records-plane.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { masterKey, startGateway } from '../support/gateway.ts';
import { waitFor } from '../support/wait-for.ts';

const plane = await startRecordsPlane(suite, { masterKey });
/** Streams that the control plane serves. */
const open = new Set<ServerResponse>();
plane.app.server.on('request', ({ url }, response: ServerResponse) => {
  if (url !== livePath) return;
  open.add(response);
  response.once('close', () => open.delete(response));
});
// So that its store is open before the deadline counts.
await plane.add([record()]);
const timeoutMs = 250;
const gateway = await startGateway(suite, {
  upstream: await startFakeUpstream({ t: suite }),
  config: { server: { shutdown_grace: '60s' } },
  env: { GATEWAY_CONTROL_PLANE_URL: plane.address, GATEWAY_CONTROL_PLANE_TIMEOUT_MS: String(timeoutMs) },
});
const listen = (t: Test): Promise<EventStream> =>
  openStream(t, `http://127.0.0.1:${gateway.port}/admin/live`, { authorization: `Bearer ${masterKey}` });

await test('events pass through as they come, also after a longer pause than an answer may take', async (t) => {
  const stream = await listen(t);
  t.match(stream.headers, { 'content-type': 'text/event-stream; charset=utf-8' });
  await stream.got('ready');
  const beganMs = performance.now();
  await waitFor('a pause', () => stream.isOver() || performance.now() - beganMs > 5 * timeoutMs);
  t.notOk(stream.isOver());
  const entry = record();
  await plane.add([entry]);
  t.match(await stream.got('entry'), [{ data: { id: entry.id } }]);
});

await test('a client that leaves is gone from the control plane too', async (t) => {
  const stream = await listen(t);
  await stream.got('ready');
  t.ok(open.size > 0);
  stream.close();
  await waitFor('it to be gone', () => open.size === 0);
});

await test('an open stream does not hold up the end of a proxy', async (t) => {
  const stream = await listen(t);
  await stream.got('ready');
  gateway.process.signal('SIGTERM');
  await waitFor('the stream to end', () => stream.isOver());
  const { code } = await gateway.process.exited;
  t.equal(code, 0);
});
