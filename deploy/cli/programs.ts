// The programs of the product: where each lies in the repository, and in a build (deploy/build.ts), where all files are in one folder.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import manifest from '../../package.json' with { type: 'json' };

/** What is started as a process, by the name of its file in a build. */
export const programs = {
  proxy: 'proxy/main.ts',
  'control-plane': 'control-plane/main.ts',
  'demo-provider': 'deploy/demo-provider/provider.ts',
  start: 'deploy/local.ts',
  check: 'gitops/cli/check.ts',
  'check-tests': 'proxy/check.ts',
  import: 'gitops/cli/import.ts',
  plan: 'proxy/plan.ts',
  'restore-state': 'control-plane/restore-state.ts',
  backup: 'control-plane/backup.ts',
  restore: 'control-plane/restore.ts',
} as const;

export type ProgramName = keyof typeof programs;

/** The flags of the `proxy` script in package.json: they keep the memory of a proxy small. */
export const proxyFlags: readonly string[] = manifest.scripts.proxy.split(' ').slice(1, -1);

/** The repository, or the folder of the build. */
export const top = join(import.meta.dirname, '../..');

/** The file of a program. */
export function programFile(name: ProgramName): string {
  const source = join(top, programs[name]);
  return existsSync(source) ? source : join(top, `${name}.js`);
}

/** Half of the memory of a plan is what its readers have just read. */
const planFlags: readonly string[] = ['--max-semi-space-size=4'];

/** What Node is called with to run a program: its flags, then the file. */
export function programCommand(name: ProgramName): readonly string[] {
  const flags = name === 'proxy' ? proxyFlags : name === 'plan' ? planFlags : [];
  return [...flags, programFile(name)];
}
