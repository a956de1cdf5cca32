// A provider's key in a file: read at the start, and again when it changes, without a restart and without a trace of the key.
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { t as suite, test } from 'tap';
import { checkConfig } from '../../gitops/cli/check-directory.ts';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startGateway } from '../support/gateway.ts';
import { type Teardown, temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

const upstream = await startFakeUpstream({ t: suite });
const [first, second, third] = ['canary-first-0123456789', 'canary-second-0123456789', 'canary-third-0123456789'];

const provider = (path: string, more: object = {}) => ({
  providers: { fake: { type: 'openai', base_url: upstream.url, models: upstream.models, api_key_file: path, ...more } },
});

/** The bearer that the provider gets, and the answer. */
async function ask(through = gateway) {
  const response = await through.fetch('/v1/chat/completions', {
    method: 'POST',
    body: { model: 'fake/fake-small', messages: [{ role: 'user', content: 'hello' }] },
  });
  const text = await response.text();
  return { bearer: upstream.ledger.at(-1)?.header('authorization'), text, status: response.status };
}

const untilSent = (key: string, through = gateway) =>
  waitFor('the new key', async () => (await ask(through)).bearer === `Bearer ${key}`, 5_000);

/** A secret as Kubernetes mounts it: the file is a link into a directory that is itself a link, which is replaced. */
function mount(t: Teardown, key: string) {
  const folder = temporaryDirectory(t, 'key-files');
  let count = 0;
  const swap = (next: string): void => {
    count += 1;
    mkdirSync(join(folder, `..${count}`));
    writeFileSync(join(folder, `..${count}`, 'key'), next);
    symlinkSync(`..${count}`, join(folder, '..tmp'));
    renameSync(join(folder, '..tmp'), join(folder, '..data'));
  };
  swap(`${key}\n`);
  symlinkSync(join('..data', 'key'), join(folder, 'key'));
  return { path: join(folder, 'key'), swap, lose: () => rmSync(join(folder, '..data')) };
}

/** The key that the gateway starts with; each later test gives it a file of its own. */
const mounted = mount(suite, first);
const gateway = await startGateway(suite, { config: provider(mounted.path) });

await test('a rotated key is in force within seconds, and no key is told, kept or logged', async (t) => {
  const { swap } = mounted;
  t.match(await ask(), { bearer: `Bearer ${first}`, status: 200 });
  const started = performance.now();
  swap(`${second}\r\n`);
  await untilSent(second);
  t.comment(`renewed after ${Math.round(performance.now() - started)} ms`);

  await upstream.behave({ kind: 'error', status: 401, message: `No: ${first}, ${second}` });
  const { text } = await ask();
  t.match(text, 'No: [redacted], [redacted]', 'neither the key nor the one before it');
  await upstream.behave({ kind: 'openai' });

  swap(third);
  await untilSent(third);
  const disk = readdirSync(gateway.dataDir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'));
  // The copy of the last good config is base64.
  const copies = disk.flatMap((content) => content.match(/[A-Za-z0-9+/=]{40,}/g) ?? []).map((coded) => atob(coded));
  t.ok(copies.some((copy) => copy.includes('api_key_file')));
  const everywhere = [
    ...disk,
    ...copies,
    ...gateway.process.stdout,
    ...gateway.process.stderr,
    await gateway.metrics(),
  ];
  t.notMatch(everywhere.join('\n'), /canary-(first|second|third)/);
  t.ok(gateway.process.logs().some(({ msg }) => msg === 'provider key renewed'));
});

await test('a file that becomes unreadable leaves the last key in force, with one warning', async (t) => {
  const { path, swap, lose } = mount(t, first);
  await gateway.applyConfig({ 'gateway.yaml': provider(path) });
  const unreadable = () => gateway.metric('gateway_provider_key_files_unreadable');
  t.equal(await unreadable(), 0);
  lose();
  await waitFor('the metric', async () => (await unreadable()) === 1, 5_000);
  t.match(await ask(), { bearer: `Bearer ${first}`, status: 200 });
  const ready = await gateway.fetch('/health/ready');
  t.match(await ready.json(), { status: 'degraded', reasons: ['provider_key_file_unreadable'] });
  await gateway.applyConfig({ 'gateway.yaml': provider(path, { stream_usage: false }) });
  t.match(await ask(), { bearer: `Bearer ${first}` }, 'an edit of the YAML does not lose it');
  swap(second);
  await untilSent(second);
  t.equal(await unreadable(), 0);
  const warnings = gateway.process.logs().filter(({ msg }) => /does not exist; the last key stays/.test(String(msg)));
  t.equal(warnings.length, 1);
});

await test('a reload waits for a key that is not there; a start leaves its provider out', async (t) => {
  const { path, lose } = mount(t, first);
  await gateway.applyConfig({ 'gateway.yaml': provider(path) });
  const other = join(temporaryDirectory(t, 'key-file'), 'key');
  gateway.writeConfig({ 'gateway.yaml': provider(other) });
  await waitFor('the rejection', async () => (await gateway.metric('gateway_config_last_reload_successful')) === 0);
  t.match(await ask(), { bearer: `Bearer ${first}`, status: 200 });
  writeFileSync(other, second);
  await untilSent(second);
  t.equal(await gateway.metric('gateway_config_last_reload_successful'), 1);

  // With a broken directory the start uses the last good copy.
  for (const [yaml, reasons] of [
    [provider(path), ['provider_key_file_unreadable']],
    ['providers: [', ['config_last_good', 'config_rejected', 'provider_key_file_unreadable']],
  ] as const) {
    const spare = { spare: { type: 'openai', base_url: upstream.url, models: upstream.models } };
    const aliases = [{ source: 'both', targets: [{ model: 'fake/fake-small' }, { model: 'spare/fake-small' }] }];
    const whole = { providers: { ...provider(path).providers, ...spare }, aliases };
    if (typeof yaml !== 'string') {
      lose();
      gateway.writeConfig({ 'gateway.yaml': whole });
    } else gateway.writeConfig({ 'gateway.yaml': yaml });
    await gateway.restart();
    t.match(await (await gateway.fetch('/health/ready')).json(), { status: 'degraded', reasons: [...reasons] });
    t.match(await ask(gateway), { status: 404 }, 'only this provider is left out');
    for (const model of ['spare/fake-small', 'both']) {
      const body = { model, messages: [{ role: 'user', content: 'hello' }] };
      const { status } = await gateway.fetch('/v1/chat/completions', { method: 'POST', body });
      t.equal(status, 200, model);
    }
  }
  t.match(gateway.process.stdout.join('\n'), 'does not exist, so the provider \\"fake\\" is left out');
});

await test('a start without a key is made up for as soon as the file is there, also after an edit', async (t) => {
  const { path, swap, lose } = mount(t, first);
  lose();
  const own = await startGateway(t, { config: provider(path) });
  await own.applyConfig({ 'gateway.yaml': provider(path, { stream_usage: false }) });
  t.match(await ask(own), { status: 404 });
  swap(second);
  await untilSent(second, own);
  t.match(await (await own.fetch('/health/ready')).json(), { status: 'ready' });
});

await test('a file that two providers share is renewed for both, and the log names both', async (t) => {
  const { path, swap } = mount(t, first);
  const { fake } = provider(path).providers;
  const own = await startGateway(t, { config: { providers: { fake, twin: fake } } });
  swap(second);
  await untilSent(second, own);
  const lines = own.process.logs().filter(({ msg }) => /names a file with another key now/.test(String(msg)));
  t.same(
    lines.map((line) => line['path']),
    ['providers.fake.api_key_file', 'providers.twin.api_key_file'],
  );
});

await test('check-config reads no key, and warns of a file that is not there', async (t) => {
  const folder = temporaryDirectory(t, 'check-key-file');
  const check = async (path: string) => {
    writeFileSync(join(folder, 'a.yaml'), JSON.stringify(provider(path)));
    return checkConfig([folder], {});
  };
  const { path } = mount(t, 'not a key, but nobody reads it');
  t.notMatch(await check(path), { output: /warning/ });
  const { code, output } = await check(join(folder, 'absent'));
  t.equal(code, 0);
  t.match(
    output,
    /^warning: .*a\.yaml:1:\d+ {2}providers\.fake\.api_key_file {2}names a file that does not exist here/,
  );
});
