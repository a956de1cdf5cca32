// promtool, the judge of what Prometheus reads.
import { spawnSync } from 'node:child_process';
import { needProgram } from './programs.ts';

/** What `promtool` says with these arguments and this input; empty when it has no complaint. */
export function promtoolComplaints(args: readonly string[], input: string = ''): string {
  const promtool = needProgram('promtool', 'prometheus');
  const { status, stdout, stderr } = spawnSync(promtool, args, { input, encoding: 'utf8', timeout: 10_000 });
  return status === 0 && stderr === '' ? '' : `exit ${status}\n${stdout}${stderr}`;
}
