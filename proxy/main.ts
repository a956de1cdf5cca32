// The data plane as a program: one proxy, or the parent of several workers (GATEWAY_WORKERS), each of which runs this file again as one proxy.
import manifest from '../package.json' with { type: 'json' };
import { identityOf } from '../plane/identity.ts';
import { readEnvironment } from './environment.ts';
import { workerNumber } from './workers/worker-number.ts';

const reading = readEnvironment();
const several = 'environment' in reading && reading.environment.workers > 1 ? reading.environment : undefined;
// What is wrong with the settings, the proxy says.
if (several === undefined || workerNumber(process.argv) !== undefined) await import('./serve.ts');
else {
  const { startWorkers } = await import('./workers/start-workers.ts');
  startWorkers(identityOf('proxy', manifest.version), several, import.meta.filename);
}
