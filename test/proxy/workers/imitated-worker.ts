// A parent whose workers are this file again: they imitate a proxy, as variables of the test say. Run by parent.test.ts.
import { identityOf } from '../../../plane/identity.ts';
import { openLog } from '../../../plane/log.ts';
import { Parent } from '../../../proxy/workers/parent.ts';
import { workerNumber } from '../../../proxy/workers/worker-number.ts';

const number = workerNumber(process.argv);
const does = (what: string): boolean => process.env['IMITATED']?.split(',').includes(`${number}:${what}`) === true;
const longLine = `${String(number).repeat(300_000)}\n`;

if (number === undefined) {
  const { log, output } = openLog(identityOf('proxy', '0', 'parent'), 'info');
  new Parent({ workers: 2, program: import.meta.filename, nodeOptions: '' }, log, output).start();
} else {
  if (does('refuse')) process.exit(7);
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.on(name, () => undefined);
  let signals = 0;
  process.on('message', ({ kind }: { kind: string }) => {
    if (kind !== 'signal') return;
    signals += 1;
    if (signals === 2 || !does('wait')) process.exit(0);
  });
  process.send?.({ kind: 'status', status: { readiness: { status: 'ready', reasons: [] }, graceMs: 60_000 } });
  if (does('write')) for (let line = 0; line < 20; line += 1) process.stdout.write(longLine);
  if (does('end')) setTimeout(() => process.exit(9), 50);
}
