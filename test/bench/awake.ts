// Keeps the core of the tools from halting. To wake a halted core costs the process that does it up to 10 µs on a virtual machine, and the
// slower the process under test is, the more often the tools' core halts: its own slowness would be counted twice.
import { spawn, spawnSync } from 'node:child_process';
import { onCore } from './processes.ts';

/** Only what nothing else on the core needs: the scheduler's class for idle time. Where `chrt` is missing, nothing is kept awake. */
const hasIdleClass = spawnSync('chrt', ['-i', '0', 'true']).status === 0;

/** Spins on a core until the returned function is called, at the lowest priority there is; its time counts as nice. */
export function keepAwake(core: number | undefined): () => void {
  if (core === undefined || !hasIdleClass) return () => undefined;
  const [command, args] = onCore(core, 'nice', ['-n', '19', 'chrt', '-i', '0', process.execPath, '-e', 'for (;;);']);
  const child = spawn(command, args, { stdio: 'ignore' });
  return () => void child.kill('SIGKILL');
}
