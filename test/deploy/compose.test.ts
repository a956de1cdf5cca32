// compose.yaml and what it mounts: the format knows each field, the programs that are here read their files, and it agrees with the gateway's settings.
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { test } from 'tap';
import { parse } from 'yaml';
import { settingsOf, stagesOf } from '../../deploy/image/dockerfile.ts';
import { loadFiles } from '../../gitops/assemble/load.ts';
import { environmentVariables } from '../../schemas/environment-variables.ts';
import { durationMs } from '../../schemas/formats/units.ts';
import { commandsOf } from '../support/pages.ts';
import { findProgram, needProgram } from '../support/programs.ts';
import { temporaryDirectory } from '../support/teardown.ts';

const top = join(import.meta.dirname, '../..');
const folder = join(top, 'deploy');
const read = (name: string): string => readFileSync(join(folder, name), 'utf8');

interface Container {
  readonly image?: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly secrets?: readonly string[];
  readonly volumes?: readonly string[];
  readonly stop_grace_period?: string;
  readonly read_only?: boolean;
  readonly cap_drop?: readonly string[];
}
interface Compose {
  readonly services: Readonly<Record<string, Container>>;
  readonly secrets: Readonly<Record<string, object>>;
}
const compose = parse(read('compose.yaml'), { merge: true }) as Compose;
const gateways = ['proxy-1', 'proxy-2', 'control-plane'].map((name) => compose.services[name] ?? {});
/** What a variable of compose.yaml stands for when it is not set. */
const byDefault = (text: string): string => text.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1');

await test('Compose knows each field', async (t) => {
  const schema = JSON.parse(readFileSync(join(top, 'test/fixtures/compose-spec/compose-spec.json'), 'utf8')) as object;
  const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
  t.ok(validate(compose), JSON.stringify(validate.errors));
  t.notOk(validate({ ...compose, services: { a: { imagee: 'b' } } }));
});

await test('what is mounted is there, and each secret has a file', async (t) => {
  const mounted = Object.values(compose.services).flatMap(({ volumes = [] }) => volumes.map(byDefault));
  const paths = mounted.flatMap((volume) => /^(\.[^:]*):/.exec(volume)?.[1] ?? []);
  t.same(
    paths.filter((path) => !existsSync(join(folder, path))),
    [],
  );
  const used = Object.values(compose.services).flatMap(({ secrets = [] }) => secrets);
  t.same([...new Set(used)].toSorted(), Object.keys(compose.secrets).toSorted());
});

await test('the planes run without rights, with variables and secrets of the gateway', async (t) => {
  const known = new Set(environmentVariables.map(({ name }) => name));
  for (const { environment = {}, secrets = [], ...rest } of gateways) {
    t.match(rest, { read_only: true, cap_drop: ['ALL'] });
    t.same(
      Object.keys(environment).filter((name) => !known.has(name)),
      [],
    );
    const files = Object.values(environment).filter((value) => value.startsWith('/run/secrets/'));
    for (const file of files) t.ok(secrets.includes(file.replace('/run/secrets/', '')), file);
  }
  const { environment } = settingsOf(stagesOf(read('Dockerfile')).at(-1) ?? []);
  for (const { volumes = [] } of gateways)
    for (const path of [environment['GATEWAY_CONFIG'], environment['GATEWAY_DATA']])
      t.ok(
        volumes.some((volume) => byDefault(volume).split(':')[1] === path),
        path ?? '',
      );
});

await test('the YAML is usable, and a drain has the time it needs', async (t) => {
  const name = 'compose/config/gateway.yaml';
  const files = [{ name, path: name, bytes: Buffer.from(read(name)) }];
  const { config, problems } = loadFiles(files, { environment: {}, variables: 'error', entitlements: new Set() });
  t.same(problems, []);
  const proxy = gateways[0];
  t.ok(durationMs(proxy?.stop_grace_period ?? '0s') > durationMs(config?.server.shutdown_grace ?? ''));
  const keyFile = config?.providers['openai']?.api_key_file ?? '';
  t.ok(proxy?.secrets?.includes(keyFile.replace('/run/secrets/', '')));
});

await test('Prometheus reads its configuration with the alerts', async (t) => {
  const home = temporaryDirectory(t, 'prometheus');
  copyFileSync(join(folder, 'compose/prometheus.yml'), join(home, 'prometheus.yml'));
  copyFileSync(join(top, 'examples/observability/alerts.yaml'), join(home, 'alerts.yaml'));
  const promtool = needProgram('promtool', 'prometheus');
  const { status, stdout, stderr } = spawnSync(promtool, ['check', 'config', join(home, 'prometheus.yml')], {
    encoding: 'utf8',
  });
  t.equal(status, 0, stdout + stderr);
});

await test('HAProxy reads its configuration, with the names of compose.yaml and without', async (t) => {
  const haproxy = findProgram('haproxy');
  if (haproxy === undefined) {
    t.comment('haproxy is not installed, so this is not checked; on Debian: apt-get install haproxy');
    return;
  }
  for (const env of [{}, { PROXY_0: 'localhost:8080', PROXY_1: 'localhost:8082' }]) {
    const run = spawnSync(haproxy, ['-c', '-f', join(folder, 'haproxy.cfg')], { encoding: 'utf8', env });
    t.equal(run.status, 0, run.stderr);
  }
  t.match(compose.services['haproxy']?.environment, { PROXY_0: 'proxy-1:8080', PROXY_1: 'proxy-2:8080' });
});

await test('the commands of docs/deploying-with-compose.md make each secret', async (t) => {
  const text = commandsOf('docs/deploying-with-compose.md').map((commands) => commands.text);
  const secrets = join(temporaryDirectory(t, 'secrets'), 'secrets');
  const script = text.find((commands) => commands.includes('master-key')) ?? '';
  const run = spawnSync('sh', ['-ec', script.replaceAll('deploy/secrets', secrets)], {
    encoding: 'utf8',
    env: { ...process.env, OPENAI_API_KEY: 'sk-of-a-test' },
  });
  t.equal(run.status, 0, run.stderr);
  for (const name of Object.keys(compose.secrets))
    t.match(readFileSync(join(secrets, name), 'utf8'), /^\S{12,}\n?$/, name);
  const url = URL.parse(readFileSync(join(secrets, 'database-url'), 'utf8').trim());
  t.equal(url?.password, readFileSync(join(secrets, 'postgres-password'), 'utf8').trim());
});
