// The separate port for metrics: one request per connection, and no connection stays for long.
import { connect } from 'node:net';
import { t as suite, test } from 'tap';
import { identityOf } from '../../plane/identity.ts';
import { listenForMetrics } from '../../proxy/metrics/metrics-server.ts';
import { openRaw, rawRequest } from '../support/raw-http.ts';
import { waitFor } from '../support/wait-for.ts';

const request = 'GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n';
/** More than the buffers of a connection hold, so that who reads nothing has something left to read. */
const longText = 'x'.repeat(16 * 2 ** 20);
let rendered = 0;
let text = 'm 1\n';

let port = 0;
await listenForMetrics(
  {
    contentType: 'text/plain',
    async text() {
      rendered += 1;
      return text;
    },
  },
  { identity: identityOf('proxy', '0'), host: '127.0.0.1', port: 0, ownNames: undefined, patienceMs: 300 },
  {
    info(facts: object) {
      port = Number(new URL((facts as { address: string }).address).port);
    },
  },
);

await test('a connection that sends more than one request is cut, and costs one answer at most', async (t) => {
  const { closedByServer } = await rawRequest(port, request.repeat(2_000), { until: 'close' });
  t.ok(closedByServer);
  t.ok(rendered <= 1);
  const { responses } = await rawRequest(port, request);
  t.same(
    responses.map(({ status, complete }) => [status, complete]),
    [[200, true]],
  );
});

await test('a connection ends after its time, even while it sends', async (t) => {
  text = longText;
  const asked = await openRaw(port, { t });
  asked.pause();
  await asked.send(`${request}GET /`);
  const silent = connect(port, '127.0.0.1').on('error', () => undefined);
  suite.teardown(() => silent.destroy());
  const timer = setInterval(() => asked.socket.write('x'), 20);
  t.teardown(() => clearInterval(timer));
  silent.resume();
  await waitFor('both to be cut', () => silent.closed && asked.socket.destroyed, 2_000);
  t.pass();
});
