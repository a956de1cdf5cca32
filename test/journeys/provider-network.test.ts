// A provider behind an HTTP proxy with a certificate of a private authority: configured in YAML, renewed without a restart, without a trace of
// the password.
import { renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { join } from 'node:path';
import { test } from 'tap';
import { certificate } from '../support/certificate.ts';
import { startConnectProxy } from '../support/connect-proxy.ts';
import { startGateway } from '../support/gateway.ts';
import { listen } from '../support/ports.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

const password = 'canary-password-0123456789';

await test('a provider is reached through its proxy, and trusted by its own authority as soon as the file says so', async (t) => {
  const { key, cert } = certificate(2000, 2100);
  const server = createServer({ key, cert }, (_, response) => {
    response.setHeader('content-type', 'application/json').end('{"object":"chat.completion","choices":[]}');
  });
  server.on('tlsClientError', () => undefined);
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const proxy = await startConnectProxy({ t, port: await listen(server) });
  const path = join(temporaryDirectory(t, 'ca-file'), 'ca.pem');
  writeFileSync(path, certificate(2000, 2100).cert);
  const provider = {
    type: 'openai',
    base_url: 'https://provider.test/v1',
    models: ['m'],
    proxy_url: `http://user:\${PROXY_PASSWORD}@127.0.0.1:${proxy.port}`,
    ca_file: path,
  };
  const gateway = await startGateway(t, {
    config: { providers: { private: provider } },
    env: { PROXY_PASSWORD: password, NODE_EXTRA_CA_CERTS: undefined },
  });
  const ask = async () => {
    const body = { model: 'm', messages: [] };
    const response = await gateway.fetch('/v1/chat/completions', { method: 'POST', body });
    return { status: response.status, text: await response.text() };
  };
  const untrusted = await ask();
  t.match(untrusted, { status: 502, text: /"upstream_tls"/ });
  writeFileSync(`${path}.new`, cert);
  renameSync(`${path}.new`, path);
  await waitFor('the new authority', async () => (await ask()).status === 200, 2_500);
  t.ok(gateway.process.logs().some(({ msg }) => msg === 'provider certificates renewed'));
  const authorization = `Basic ${btoa(`user:${password}`)}`;
  t.match(proxy.asked[0], { authority: 'provider.test:443', authorization });

  writeFileSync(path, 'no certificate');
  const unreadable = () => gateway.metric('gateway_provider_key_files_unreadable');
  await waitFor('the metric', async () => (await unreadable()) === 1, 2_500);
  t.equal((await ask()).status, 200, 'what was read last stays in force');
  proxy.answer = 407;
  await gateway.applyConfig({
    'gateway.yaml': { providers: { private: { ...provider, timeouts: { connect: '300ms' } } } },
  });
  const refused = await ask();
  t.match(refused, { status: 502, text: /its HTTP proxy does not accept the credentials/ });
  const seen = [refused.text, untrusted.text, ...gateway.process.stdout, await gateway.metrics()].join('\n');
  t.notMatch(seen, new RegExp(`${password}|${btoa(`user:${password}`)}|127\\.0\\.0\\.1:${proxy.port}`));
});
