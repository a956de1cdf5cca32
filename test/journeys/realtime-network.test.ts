// How realtime sessions reach their providers, and who may open one without a key: by the same rules as all other calls.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { certificate } from '../support/certificate.ts';
import { startConnectProxy } from '../support/connect-proxy.ts';
import { startFakeRealtime } from '../support/fake-realtime.ts';
import { startGateway } from '../support/gateway.ts';
import { openSession, refusedSession } from '../support/realtime-client.ts';
import { temporaryDirectory } from '../support/teardown.ts';

const realtime = { type: 'openai', models: ['gpt-realtime'], dialects: ['realtime'] };

await test('a session goes through the proxy of its provider, and trusts the authority of its provider alone', async (t) => {
  const { key, cert } = certificate(2000, 2100);
  const upstream = await startFakeRealtime(t, { key, cert });
  const proxy = await startConnectProxy({ t, port: upstream.port });
  const path = join(temporaryDirectory(t, 'ca-file'), 'ca.pem');
  writeFileSync(path, cert);
  const base_url = 'https://provider.test/v1?api-version=v1';
  const proxy_url = `http://user:password@127.0.0.1:${proxy.port}`;
  const gateway = await startGateway(t, {
    config: {
      providers: {
        trusted: { ...realtime, base_url, proxy_url, ca_file: path },
        unknown: { ...realtime, base_url, proxy_url },
        closed: { ...realtime, base_url: 'http://localhost:9/v1' },
      },
    },
    env: { NODE_EXTRA_CA_CERTS: undefined },
  });
  const { socket, said, say, closed } = await openSession(gateway, { query: '?model=trusted/gpt-realtime' });
  say({ type: 'response.create' });
  socket.close(1000);
  await closed;
  t.match(said[0], 'session.created');
  t.match(proxy.asked[0], { authority: 'provider.test:443', authorization: `Basic ${btoa('user:password')}` });
  t.equal(upstream.asked[0]?.url, '/v1/realtime?api-version=v1&model=gpt-realtime');
  t.equal(upstream.asked[0]?.headers.host, 'provider.test');

  const untrusted = await refusedSession(gateway, { query: '?model=unknown/gpt-realtime' });
  t.match(untrusted, { status: 502, error: { code: 'upstream_tls', provider: 'unknown' } });
  const closedPort = await refusedSession(gateway, { query: '?model=closed/gpt-realtime' });
  t.match(closedPort, { status: 502, error: { code: 'upstream_unavailable' } });
  proxy.answer = 403;
  const stopped = await refusedSession(gateway, { query: '?model=trusted/gpt-realtime' });
  t.match(stopped, { status: 502, error: { message: /HTTP proxy refused/ } });
});

await test('without a master key no page of another origin opens a session, unless it may', async (t) => {
  const upstream = await startFakeRealtime(t);
  const gateway = await startGateway(t, {
    config: {
      providers: { fake: { ...realtime, base_url: upstream.url } },
      server: { cors: { origins: ['https://app.example.com'] } },
    },
    env: { GATEWAY_MASTER_KEY: '', GATEWAY_INSECURE: 'true' },
  });
  const from = (origin: string | undefined) => ({ headers: { authorization: undefined, origin } });
  const foreign = await refusedSession(gateway, from('https://evil.example'));
  t.match(foreign, { status: 403, error: { code: 'foreign_origin' } });
  for (const origin of [undefined, gateway.url, 'https://app.example.com']) {
    const { socket, closed } = await openSession(gateway, from(origin));
    socket.close();
    await closed;
  }
  t.equal(upstream.asked.length, 3);
});
