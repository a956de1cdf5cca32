// npm run manifest: makes kubernetes.yaml of the chart, for those who use no Helm. Needs the program helm, of version 3.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

const chart = join(import.meta.dirname, 'chart');
export const manifestFile = join(import.meta.dirname, 'kubernetes.yaml');
/** The version of Kubernetes that a chart is rendered for where there is no cluster to ask. */
const kubernetesVersion = '1.33.0';

const introduction = `# Made of deploy/chart by \`npm run manifest\`: a fleet of two proxies and a control plane on your Redis and your PostgreSQL. Put your image and
# your config in; docs/deploying-on-kubernetes.md says why each line is as it is. The Secret \`gateway\` has the keys master-key, redis-url,
# database-url and openai-api-key.
`;

/** What helm makes of the chart, as text. Throws with the words of helm, such as those about a value that the schema refuses. */
export function renderChart(helm: string, settings: readonly string[] = []): string {
  const sets = settings.flatMap((setting) => ['--set', setting]);
  const args = ['template', 'gateway', chart, '--kube-version', kubernetesVersion, ...sets];
  return execFileSync(helm, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
}

/** The text of kubernetes.yaml. */
export function renderManifest(helm: string): string {
  return introduction + renderChart(helm).replaceAll(/^# Source: .*\n/gm, '');
}

if (import.meta.main) writeFileSync(manifestFile, renderManifest('helm'));
