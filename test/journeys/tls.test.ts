// HTTPS at both planes, with certificates of a private authority: official clients, streams and sessions, and a renewal that no client notices.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { connect, getCACertificates, type PeerCertificate, setDefaultCACertificates } from 'node:tls';
import Anthropic from '@anthropic-ai/sdk';
import { OpenAI } from 'openai';
import { t as suite, test } from 'tap';
import { startFakeRealtime } from '../support/fake-realtime.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { masterKey, startGateway, writeStartConfig } from '../support/gateway.ts';
import { mountListener } from '../support/listener-files.ts';
import { startProcess } from '../support/process.ts';
import { openSession } from '../support/realtime-client.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { Agent, fetch } from '../support/undici.ts';
import { waitFor } from '../support/wait-for.ts';

const mount = mountListener(suite, ({ cert }) => ({ 'ca.crt': cert }));
const { authority, files } = mount;
// As NODE_EXTRA_CA_CERTS does it for a program.
setDefaultCACertificates([...getCACertificates('default'), authority.cert]);
const home = temporaryDirectory(suite, 'tls');
const upstream = await startFakeUpstream({ t: suite });
const env = { GATEWAY_CONFIG: join(home, 'config'), GATEWAY_DATA: join(home, 'data'), GATEWAY_MASTER_KEY: masterKey };
const realtime = await startFakeRealtime(suite);
const speaking = {
  type: 'openai',
  base_url: realtime.url,
  api_key: 'sk-none',
  models: ['gpt-realtime'],
  dialects: ['realtime'],
};
const fake = { type: 'openai', base_url: upstream.url, api_key: 'sk-none', models: upstream.models };
const config = { server: { tls: files }, admin: { tls: files }, providers: { fake, speaking } };
mkdirSync(env.GATEWAY_CONFIG);
writeStartConfig(env.GATEWAY_CONFIG, { config });
const controlPlane = await startProcess({
  t: suite,
  entry: 'control-plane/main.ts',
  env: { ...env, GATEWAY_ADMIN_PORT: '0' },
});
const gateway = await startGateway(suite, {
  home,
  config,
  authority: authority.cert,
  env: {
    GATEWAY_WORKERS: '2',
    GATEWAY_CONTROL_PLANE_URL: controlPlane.address,
    GATEWAY_CONTROL_PLANE_CA_FILE: mount.path('ca.crt'),
  },
});
const dispatcher = new Agent({ connect: { ca: authority.cert } });
suite.teardown(() => dispatcher.destroy());
await gateway.process.waitForLine('all workers serve');
const messages = [{ role: 'user' as const, content: 'hello' }];

/** The certificate that a new connection gets. */
function shown(): Promise<PeerCertificate> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port: gateway.port, host: '127.0.0.1', ca: authority.cert }, () => {
      resolve(socket.getPeerCertificate());
      socket.destroy();
    });
    socket.once('error', reject);
  });
}

await test('the official clients work over HTTPS, streams and sessions too', async (t) => {
  t.match(gateway.url, /^https:/);
  const openai = new OpenAI({ apiKey: masterKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
  const answer = await openai.chat.completions.create({ model: 'fake-small', messages });
  t.match(answer.choices[0]?.message.content, /^Hello/);
  let told = '';
  const stream = await openai.chat.completions.create({ model: 'fake-small', messages, stream: true });
  for await (const event of stream) told += event.choices[0]?.delta.content ?? '';
  t.equal(told, answer.choices[0]?.message.content);
  const anthropic = new Anthropic({ apiKey: masterKey, baseURL: gateway.url, maxRetries: 0 });
  const said = await anthropic.messages.create({ model: 'fake-small', max_tokens: 9, messages });
  t.match(said.content, [{ type: 'text', text: /^Hello/ }]);
  const session = await openSession(gateway);
  session.say({ type: 'response.create' });
  await waitFor('an answer', () => session.said.some((event) => event.includes('response.done')));
  session.socket.close();
});

await test('the control plane speaks HTTPS, to operators and to the proxy, which trusts its authority', async (t) => {
  t.match(controlPlane.address, /^https:/);
  const headers = { authorization: `Bearer ${masterKey}` };
  t.match(await fetch(`${controlPlane.address}/admin/status`, { dispatcher, headers }), { status: 200 });
  const answer = await gateway.fetch('/admin/status');
  t.equal(answer.status, 200);
  const { certificate } = (await answer.json()) as { certificate: { not_after: string } };
  t.equal(Date.parse(certificate.not_after), Date.parse((await shown()).valid_to));
  const login = await gateway.fetch('/admin/session', { method: 'POST', body: { key: masterKey } });
  t.match(login.headers.get('set-cookie'), /; Secure/);
});

await test('a pair is renewed under load, in all workers, and no request fails', async (t) => {
  const failures: unknown[] = [];
  let answered = 0;
  const run = { isOver: false };
  const ask = async (): Promise<void> => {
    while (!run.isOver) {
      // Some on connections that stay, some on new ones.
      const own = answered % 2 === 0 ? dispatcher : new Agent({ connect: { ca: authority.cert } });
      const body = JSON.stringify({ model: 'fake-small', messages });
      const headers = { authorization: `Bearer ${masterKey}`, 'content-type': 'application/json' };
      try {
        const url = `${gateway.url}/v1/chat/completions`;
        const answer = await fetch(url, { dispatcher: own, method: 'POST', headers, body });
        await answer.text();
        if (answer.status !== 200) failures.push(answer.status);
      } catch (error) {
        failures.push(error);
      }
      answered += 1;
      if (own !== dispatcher) await own.close();
    }
  };
  const asking = Array.from({ length: 4 }, ask);
  const toMs = Date.now() + 30 * 60_000;
  for (const serial of [201, 202]) {
    mount.swapPair(mount.issue({ serial, toMs }));
    const serials = new Set<string>();
    await waitFor(
      'both workers to show it',
      async () => {
        const seen = await Promise.all(Array.from({ length: 8 }, async () => (await shown()).serialNumber));
        for (const each of seen) serials.add(each);
        return seen.every((each) => Number.parseInt(each, 16) === serial);
      },
      10_000,
    );
    t.ok(serials.size <= 2, 'the old one or the new one');
  }
  run.isOver = true;
  await Promise.all(asking);
  t.same(failures, []);
  t.comment(`${answered} requests`);
  t.equal(await gateway.metric('gateway_tls_certificate_not_after'), Math.floor(toMs / 1000));
});

await test('a pair that does not match, or has expired, changes nothing, and is told', async (t) => {
  const before = await shown();
  mount.swap({ 'tls.key': mount.issue().key });
  const mismatch = await gateway.process.waitForLine('holds a key that does not belong to the certificate');
  t.match(mismatch, /server\.tls\.key_file.*the last certificate stays in force/);
  t.equal((await shown()).serialNumber, before.serialNumber);
  const status = async () => (await gateway.fetch('/admin/status')).text();
  await waitFor('the status to say so', async () => (await status()).includes('does not belong to the certificate'));
  t.equal(await gateway.metric('gateway_secret_files_unusable'), 1);
  const ready = async () => (await gateway.fetch('/health/ready')).json();
  await waitFor('both workers to say so', async () => ((await ready()) as { status: string }).status === 'degraded');

  mount.swapPair(mount.issue({ toMs: Date.now() - 1_000 }));
  await gateway.process.waitForLine('holds a certificate that has expired');
  t.equal((await shown()).serialNumber, before.serialNumber);
  mount.swapPair(mount.issue());
  await waitFor('another one', async () => (await shown()).serialNumber !== before.serialNumber, 10_000);
  await waitFor('all to be well', async () => (await gateway.metric('gateway_secret_files_unusable')) === 0);
});

await test('a configuration without TLS ends it at the next start only, and says so', async (t) => {
  await gateway.applyConfig({ 'gateway.yaml': { providers: { fake } } });
  await gateway.process.waitForLine('keeps speaking it, with the last certificate, until the process starts again');
  t.match(await gateway.fetch('/health'), { status: 200 });
  await gateway.applyConfig({ 'gateway.yaml': config });
  const wrong = { ...config, server: { tls: { ...files, key_file: '/nowhere/tls.key' } } };
  gateway.writeConfig({ 'gateway.yaml': wrong });
  t.match(await gateway.process.waitForLine('names a file that does not exist'), /gateway\.yaml:\d+:\d+/);
  t.match(await gateway.fetch('/health'), { status: 200 });
});
