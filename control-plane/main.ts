// The control plane as a process: environment → parts → listen → close gracefully. Only wiring.
import { destination, pino } from 'pino';
import manifest from '../package.json' with { type: 'json' };
import { type Environment, readEnvironment } from './environment.ts';
import { createMetrics } from './metrics.ts';
import { createServer } from './server.ts';

const closeGraceMs = 10_000;

/** Writes one line per problem to stderr, exit status 1. */
function refuseStart(problems: readonly string[]): never {
  process.stderr.write(problems.map((problem) => `control plane cannot start: ${problem}\n`).join(''));
  process.exit(1);
}

/** What a person should do about a failed listen, in one line. */
function explainListen(error: NodeJS.ErrnoException, { host, port }: Environment): string {
  if (error.code === 'EADDRINUSE') return `port ${port} on ${host} is in use; set GATEWAY_ADMIN_PORT to a free port`;
  if (error.code === 'EACCES') return `port ${port} on ${host} is not allowed; set GATEWAY_ADMIN_PORT above 1023`;
  return `cannot listen on ${host}: ${error.message}; check GATEWAY_ADMIN_HOST`;
}

const reading = readEnvironment();
if ('problems' in reading) refuseStart(reading.problems);
const { environment } = reading;
// Written at once: lines keep their order up to the exit, and a reader that went away cannot hold it up.
const output = destination({ dest: 1, sync: true });
const logger = pino({ level: environment.logLevel, base: { plane: 'control-plane' } }, output);
const app = createServer({ logger, metrics: createMetrics(manifest.version) });
let closing = false;

async function close(signal: string): Promise<void> {
  // A second signal means now.
  if (closing) process.exit(0);
  closing = true;
  logger.info({ signal }, 'closing');
  setTimeout(() => process.exit(0), closeGraceMs).unref();
  // Connections whose last answer went out after the listener closed would otherwise linger.
  setInterval(() => app.server.closeIdleConnections(), 20).unref();
  await app.close();
  logger.info('closed');
  process.exit(0);
}

for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, (name: string) => void close(name));
const address = await app
  .listen({ host: environment.host, port: environment.port })
  .catch((error: NodeJS.ErrnoException) => refuseStart([explainListen(error, environment)]));
logger.info({ address }, 'listening');
if (environment.insecure && environment.masterKey === undefined) {
  logger.warn('GATEWAY_INSECURE is set and there is no master key: the admin API is open to whoever reaches it');
}
