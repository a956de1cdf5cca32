// The chart of Helm: its values are those that its schema describes, what it makes is valid, and kubernetes.yaml is made of it. Where helm is not
// installed, only the first is checked, and the others say so.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { type Test, test } from 'tap';
import { parse, parseAllDocuments } from 'yaml';
import { manifestFile, renderChart, renderManifest } from '../../deploy/manifest.ts';
import manifest from '../../package.json' with { type: 'json' };
import { commandsOf } from '../support/pages.ts';
import { findProgram } from '../support/programs.ts';
import { temporaryDirectory } from '../support/teardown.ts';

const chart = join(import.meta.dirname, '../../deploy/chart');
const read = (name: string): string => readFileSync(join(chart, name), 'utf8');

/** The path of helm; undefined, after saying so, where it is not installed. */
function helmFor(t: Test): string | undefined {
  const helm = findProgram('helm');
  if (helm === undefined)
    t.comment('helm is not installed, so this is not checked: go install helm.sh/helm/v3/cmd/helm@latest');
  return helm;
}

interface Rendered {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: { readonly template?: { readonly spec: { readonly initContainers?: readonly object[] } } };
}
const objectsOf = (text: string): Rendered[] =>
  parseAllDocuments(text).map((document): Rendered => document.toJS() as Rendered);
const named = (text: string): string[] => objectsOf(text).map(({ kind, metadata: { name } }) => `${kind} ${name}`);

/** Everything that a value switches on. */
const everything = [
  'records.store=disk',
  'proxy.autoscaling.enabled=true',
  'serviceMonitor.enabled=true',
  'convergedCheck.enabled=true',
  'secret.values.master-key=sk-chart-0123456789abcdef',
  'env.LOG_LEVEL=debug',
  'gitSync.enabled=true',
  'gitSync.repository=https://git.example/config.git',
  'gitSync.credentialsSecret=git',
  'proxy.serviceAccount.create=true',
  'proxy.serviceAccount.annotations.iam\\.gke\\.io/gcp-service-account=gateway@my-project.iam.gserviceaccount.com',
  'proxy.podLabels.azure\\.workload\\.identity/use=yes',
  'networkPolicy.operators[0].podSelector.matchLabels.team=platform',
];

await test('the schema of the values describes the defaults, and refuses what it does not know', async (t) => {
  const validate = new Ajv({ allowUnionTypes: true }).compile(JSON.parse(read('values.schema.json')));
  const values = parse(read('values.yaml')) as { proxy: object };
  t.ok(validate(values), `${validate.errors?.map(({ message }) => message).join()}`);
  t.notOk(validate({ ...values, proxy: { ...values.proxy, replica: 2 } }));
  t.match(parse(read('Chart.yaml')), { version: manifest.version, appVersion: manifest.version });
});

await test('kubernetes.yaml is what the chart makes', async (t) => {
  const helm = helmFor(t);
  if (helm === undefined) return;
  t.equal(readFileSync(manifestFile, 'utf8'), renderManifest(helm), 'else: npm run manifest');
});

await test('what is switched on is there, and the store of records decides how the control plane is kept', async (t) => {
  const helm = helmFor(t);
  if (helm === undefined) return;
  const text = renderChart(helm, everything);
  const all = named(text);
  for (const each of [
    'HorizontalPodAutoscaler gateway-proxy',
    'ServiceMonitor gateway-proxy',
    'ServiceMonitor gateway-control-plane',
    'Job gateway-converged',
    'Secret gateway',
    'StatefulSet gateway-control-plane',
    'ServiceAccount gateway-proxy',
  ])
    t.ok(all.includes(each), each);
  t.notOk(all.includes('ConfigMap gateway-config'), 'the YAML comes from git');
  const besides = objectsOf(text).flatMap(({ spec }) => spec?.template?.spec.initContainers ?? []);
  t.match(besides, [{ name: 'git-sync' }, { name: 'git-sync' }]);
  t.ok(named(renderChart(helm)).includes('Deployment gateway-control-plane'));
  t.throws(() => renderChart(helm, ['gitSync.enabled=true']), { message: /gitSync\.repository: the address/ });
});

await test('the commands of docs/deploying-on-kubernetes.md set values that the chart has', async (t) => {
  const helm = helmFor(t);
  const sets = commandsOf('docs/deploying-on-kubernetes.md').map(({ text }) =>
    [...text.matchAll(/--set (?:"([^"]*)"|(\S+))/g)].map(([, quoted, plain]) => quoted ?? plain ?? ''),
  );
  t.equal(sets.filter((settings) => settings.length > 0).length, 3);
  if (helm !== undefined) for (const settings of sets) t.match(renderChart(helm, settings), /kind: StatefulSet/);
});

await test('Kubernetes knows every field of what the chart makes', async (t) => {
  const helm = helmFor(t);
  if (helm === undefined) return;
  const validator = findProgram('kubernetes-validate');
  if (validator === undefined) {
    t.comment('kubernetes-validate is not installed, so this is not checked: pip install kubernetes-validate');
    return;
  }
  const file = join(temporaryDirectory(t, 'chart'), 'rendered.yaml');
  // It has the schemas of Kubernetes itself, so none of the Prometheus operator.
  const own = objectsOf(renderChart(helm, everything)).filter(({ kind }) => kind !== 'ServiceMonitor');
  writeFileSync(file, own.map((each) => JSON.stringify(each)).join('\n---\n'));
  const { stdout, stderr } = spawnSync(validator, ['--strict', '-k', '1.33', '--quiet', file, manifestFile], {
    encoding: 'utf8',
  });
  t.equal(stdout + stderr, '');
});
