// The manifest for Kubernetes as data: it keeps records, gives a pod no rights that it does not need, and agrees with the gateway's own settings.
import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { test } from 'tap';
import { parse, parseAllDocuments } from 'yaml';
import { loadFiles } from '../../gitops/assemble/load.ts';
import { environmentVariables } from '../../schemas/environment-variables.ts';
import { durationMs } from '../../schemas/formats/units.ts';

const top = join(import.meta.dirname, '../..');

interface Container {
  readonly name: string;
  readonly command: readonly string[];
  readonly env: readonly { name: string; value: string }[];
  readonly lifecycle?: { preStop: { sleep: { seconds: number } } };
  readonly volumeMounts: readonly { name: string; mountPath: string }[];
  readonly readinessProbe: object;
  readonly livenessProbe: object;
  readonly securityContext: object;
  readonly resources: object;
}
interface Volume {
  readonly name: string;
  readonly secret?: { readonly items: readonly { key: string; path: string }[] };
  readonly persistentVolumeClaim?: object;
}
interface Pod {
  readonly terminationGracePeriodSeconds?: number;
  readonly securityContext: object;
  readonly containers: readonly [Container];
  readonly volumes: readonly Volume[];
}
interface Manifest {
  readonly kind: string;
  readonly data?: Record<string, string>;
  readonly spec?: {
    readonly replicas?: number;
    readonly maxUnavailable?: number;
    readonly selector: { readonly matchLabels: Record<string, string> };
    readonly template?: { readonly metadata: { readonly labels: Record<string, string> }; readonly spec: Pod };
  };
}

const manifests = parseAllDocuments(readFileSync(join(top, 'deploy/kubernetes.yaml'), 'utf8')).map(
  (document): Manifest => document.toJS(),
);
const workloads = manifests.flatMap(({ spec }) =>
  spec?.template === undefined ? [] : [{ ...spec, ...spec.template }],
);
const pods = workloads.map(({ spec }) => spec);
const podOf = (plane: string): Pod => {
  const found = pods.find(({ containers: [{ name }] }) => name === plane);
  if (found === undefined) throw new Error(`no pod of ${plane}`);
  return found;
};
const [proxy, controlPlane] = [podOf('proxy'), podOf('control-plane')];
const component = 'app.kubernetes.io/component';
/** The volume that a path of a pod lies on. */
const volumeOf = ({ containers: [{ volumeMounts }], volumes }: Pod, path: string): Volume | undefined => {
  const mount = volumeMounts.find(({ mountPath }) => `${path}/`.startsWith(`${mountPath}/`));
  return volumes.find(({ name }) => name === mount?.name);
};
const variableOf = ({ containers: [{ env }] }: Pod, wanted: string): string | undefined =>
  env.find(({ name }) => name === wanted)?.value;

await test('the config of the manifest is usable, and secrets are mounted where they are read', async (t) => {
  const { data = {} } = manifests.find(({ kind }) => kind === 'ConfigMap') ?? { kind: '' };
  const files = Object.entries(data).map(([name, text]) => ({ name, path: name, bytes: Buffer.from(text) }));
  t.equal(files.length, 1);
  const { config, problems } = loadFiles(files, { environment: {}, variables: 'error', entitlements: new Set() });
  t.same(problems, []);
  const grace = durationMs(config?.server.shutdown_grace ?? '') / 1_000;
  const preStop = proxy.containers[0].lifecycle?.preStop.sleep.seconds ?? Number.NaN;
  t.ok((proxy.terminationGracePeriodSeconds ?? 0) > grace + preStop, 'a drain has the time it needs');
  const known = new Set(environmentVariables.map(({ name }) => name));
  const providerKey = config?.providers['openai']?.api_key_file ?? '';
  t.equal(pods.length, 2);
  for (const pod of pods) {
    const { name, env } = pod.containers[0];
    t.same(
      env.filter((variable) => !known.has(variable.name)),
      [],
      name,
    );
    for (const { value } of env.filter((variable) => variable.value.startsWith('/')))
      t.ok(volumeOf(pod, value), `${name} ${value}`);
    const secrets = env.filter((variable) => variable.name.endsWith('_FILE')).map(({ value }) => value);
    if (pod === proxy) secrets.push(providerKey);
    const mounted = pod.volumes.flatMap(({ secret }) => secret?.items ?? []).map(({ path }) => path);
    t.same(mounted.sort(), secrets.map((path) => basename(path)).sort(), `${name} has the secrets that it reads alone`);
  }
});

await test('the probes of the manifest are endpoints, and its commands are those of npm run', async (t) => {
  const { scripts } = parse(readFileSync(join(top, 'package.json'), 'utf8')) as { scripts: Record<string, string> };
  for (const { name, command, readinessProbe, livenessProbe } of pods.map(({ containers: [each] }) => each)) {
    const ofBuild = scripts[name]?.replace(`${name}/main.ts`, `/opt/model-gateway/${name}.js`);
    t.equal(command.join(' '), ofBuild, name);
    t.match(readinessProbe, { httpGet: { path: '/health/ready' } });
    t.match(livenessProbe, { httpGet: { path: '/health' } });
  }
});

await test('records outlive the pod of the control plane', async (t) => {
  const disk = volumeOf(controlPlane, variableOf(controlPlane, 'GATEWAY_DATA') ?? '');
  const isOnServer = variableOf(controlPlane, 'DATABASE_URL_FILE') !== undefined;
  t.ok(isOnServer || disk?.persistentVolumeClaim !== undefined);
  for (const pod of pods) t.ok(variableOf(pod, 'REDIS_URL_FILE'), 'rules, counters and journals lie in Redis');
});

await test('no pod has rights that it does not need, and each says what it needs', async (t) => {
  for (const { securityContext, containers } of pods) {
    t.match(securityContext, { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    const [container] = containers;
    t.same(container.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    t.match(container.resources, { requests: { cpu: /./, memory: /^\d+Mi$/ }, limits: { memory: /^\d+Mi$/ } });
  }
});

await test('a drain of nodes takes one pod of each kind at a time, and can end', async (t) => {
  const budgets = manifests.filter(({ kind }) => kind === 'PodDisruptionBudget').map(({ spec }) => spec);
  for (const { metadata } of workloads) {
    const own = budgets.filter((budget) => budget?.selector.matchLabels[component] === metadata.labels[component]);
    t.match(own, [{ maxUnavailable: 1 }], `${metadata.labels[component]}`);
  }
  t.equal(budgets.length, workloads.length);
});
