// The files for running behind HAProxy, nginx and in Kubernetes: they agree with the gateway's own settings. No such program is needed here.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { parse, parseAllDocuments } from 'yaml';
import { loadFiles } from '../../gitops/assemble/load.ts';
import { defaultConfig } from '../../gitops/read/validate.ts';
import { environmentVariables } from '../../schemas/environment-variables.ts';
import { durationMs } from '../../schemas/formats/units.ts';

const read = (name: string): string => readFileSync(join(import.meta.dirname, '../../deploy', name), 'utf8');
const seconds = (text: string, pattern: RegExp): number => Number(pattern.exec(text)?.[1]);

interface Container {
  readonly name: string;
  readonly command: readonly string[];
  readonly env: readonly { name: string; value: string }[];
  readonly lifecycle?: { preStop: { sleep: { seconds: number } } };
  readonly volumeMounts: readonly { mountPath: string }[];
  readonly readinessProbe: object;
  readonly livenessProbe: object;
}
interface Manifest {
  readonly kind: string;
  readonly data?: Record<string, string>;
  readonly spec?: { template?: { spec: { terminationGracePeriodSeconds?: number; containers: readonly Container[] } } };
}

const manifests = parseAllDocuments(read('kubernetes.yaml')).map((document): Manifest => document.toJS());
const pods = manifests.flatMap(({ spec }) => (spec?.template === undefined ? [] : [spec.template.spec]));

await test('proxies in front let go of idle connections first, and wait for as long as the gateway does', async (t) => {
  const { server } = defaultConfig();
  const keepAlive = durationMs(server.keep_alive) / 1_000;
  // The default of a provider's timeouts.first_byte.
  const firstByte = 600;
  const [haproxy, nginx] = [read('haproxy.cfg'), read('nginx.conf')];
  for (const [text, idle, silence] of [
    [haproxy, /timeout http-keep-alive (\d+)s/, /timeout server (\d+)s/],
    [nginx, /keepalive_timeout (\d+)s/, /proxy_read_timeout (\d+)s/],
  ] as const) {
    t.ok(seconds(text, idle) < keepAlive);
    t.ok(seconds(text, silence) > firstByte);
  }
  t.match(haproxy, /^ {4}option http-no-delay$/m);
  for (const line of ['proxy_buffering off;', 'proxy_http_version 1.1;', 'proxy_set_header Connection "";'])
    t.ok(nginx.includes(line), line);
  t.equal(`${seconds(nginx, /client_max_body_size (\d+)m/)}MiB`, server.upload_limit);
});

await test('proxies in front keep /admin and /metrics from clients, however they are written', async (t) => {
  const patterns = [
    /location ~\* (\S+) \{\n\s+return 404;/.exec(read('nginx.conf'))?.[1],
    / deny_status 404 if \{ path,url_dec -m reg -i (\S+) \}/.exec(read('haproxy.cfg'))?.[1],
  ];
  for (const pattern of patterns) {
    const denied = new RegExp(pattern ?? '$^', 'i');
    for (const path of [
      '/admin',
      '/admin/',
      '/admin/rate-limits',
      '/ADMIN/session',
      '//admin',
      '/metrics',
      '/Metrics/',
    ])
      t.ok(denied.test(path), `${pattern} ${path}`);
    for (const path of ['/', '/v1/chat/completions', '/p/openai/admin', '/administrators', '/v1/files/metrics'])
      t.notOk(denied.test(path), `${pattern} ${path}`);
  }
});

await test('the config of the manifest is usable, and its secrets are where they are mounted', async (t) => {
  const { data = {} } = manifests.find(({ kind }) => kind === 'ConfigMap') ?? { kind: '' };
  const files = Object.entries(data).map(([name, text]) => ({ name, path: name, bytes: Buffer.from(text) }));
  t.equal(files.length, 1);
  const { config, problems } = loadFiles(files, { environment: {}, variables: 'error', entitlements: new Set() });
  t.same(problems, []);
  const grace = durationMs(config?.server.shutdown_grace ?? '') / 1_000;
  const [proxy] = pods;
  const preStop = proxy?.containers[0]?.lifecycle?.preStop.sleep.seconds ?? Number.NaN;
  t.ok((proxy?.terminationGracePeriodSeconds ?? 0) > grace + preStop, 'a drain has the time it needs');
  const known = new Set(environmentVariables.map(({ name }) => name));
  t.equal(pods.length, 2);
  for (const { containers } of pods) {
    for (const { name, env, volumeMounts } of containers) {
      t.same(
        env.filter((variable) => !known.has(variable.name)),
        [],
        name,
      );
      const paths = [...env.map(({ value }) => value), config?.providers['openai']?.api_key_file ?? ''];
      for (const path of paths.filter((value) => value.startsWith('/')))
        t.ok(
          volumeMounts.some(({ mountPath }) => `${path}/`.startsWith(`${mountPath}/`)),
          path,
        );
    }
  }
});

await test('the probes of the manifest are endpoints, and its command is the one of npm run proxy', async (t) => {
  const { scripts } = parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  const containers = pods.flatMap((pod) => pod.containers);
  for (const { name, command, readinessProbe, livenessProbe } of containers) {
    t.equal(command.join(' ').replace('node_modules/.bin/', ''), scripts[name], name);
    t.match(readinessProbe, { httpGet: { path: '/health/ready' } });
    t.match(livenessProbe, { httpGet: { path: '/health' } });
  }
});
