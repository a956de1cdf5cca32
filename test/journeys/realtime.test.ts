// Realtime sessions through the gateway: from the client's handshake to the provider and back.

import { t as suite, test } from 'tap';
import { WebSocket } from 'ws';
import { startFakeRealtime } from '../support/fake-realtime.ts';
import { masterKey, startGateway } from '../support/gateway.ts';

const upstream = await startFakeRealtime(suite);
const gateway = await startGateway(suite, {
  config: {
    providers: {
      fake: {
        type: 'openai',
        base_url: upstream.url,
        api_key: 'sk-provider-canary',
        models: ['gpt-realtime'],
        dialects: ['realtime', 'chat'],
      },
    },
    server: { access_log: 'all' },
  },
});
await test('smoke', async (t) => {
  const socket = new WebSocket(`${gateway.url.replace('http', 'ws')}/v1/realtime?model=gpt-realtime&x=1`, [], {
    headers: { authorization: `Bearer ${masterKey}` },
  });
  const said: string[] = [];
  socket.on('message', (data) => {
    said.push(data.toString());
    if (said.length === 1) socket.send(JSON.stringify({ type: 'response.create' }));
    if (said.length === 3) socket.close(4000, 'done');
  });
  socket.on('upgrade', (a) => console.log(a.headers));
  socket.on('unexpected-response', (_r, a) => {
    console.log(a.statusCode, a.headers);
    a.on('data', (d) => console.log(String(d)));
  });
  const closed = await new Promise((r) => socket.on('close', (...a) => r(a)));
  console.log(
    String((closed as unknown[])[1]),
    (closed as unknown[])[0],
    said,
    upstream.asked.at(-1)?.url,
    upstream.asked.at(-1)?.rawHeaders,
  );
  await new Promise((r) => setTimeout(r, 300));
  console.log(gateway.process.stdout.slice(-3));
  t.pass();
});
