// The data plane as a process: environment → parts → config → listen → drain. The only place that wires.
import { join } from 'node:path';
import { destination, pino } from 'pino';
import { ConfigRejected } from '../schemas/config/config-rejected.ts';
import { type ConfigEvent, type Follower, follow } from '../schemas/config/follow.ts';
import { formatProblem } from '../schemas/config/problem.ts';
import { type Environment, readEnvironment } from './environment.ts';
import type { Gateway, Readiness } from './gateway.ts';
import { createMetrics } from './metrics.ts';
import { createProxyServer } from './server.ts';
import { compile } from './snapshot/compile.ts';
import { createCurrent } from './snapshot/current.ts';
import { digestOf } from './stages/authenticate.ts';
import { createBalance } from './stages/resolve.ts';
import { createDeadlines } from './upstream/deadlines.ts';
import { createPools } from './upstream/pools.ts';

/** Writes one line per problem to stderr, exit status 1. */
function refuseStart(problems: readonly string[]): never {
  process.stderr.write(problems.map((problem) => `proxy cannot start: ${problem}\n`).join(''));
  process.exit(1);
}

/** What a person should do about a failed listen, in one line. */
function explainListen(error: NodeJS.ErrnoException, { host, port }: Environment): string {
  if (error.code === 'EADDRINUSE') return `port ${port} on ${host} is in use; set GATEWAY_PORT to a free port`;
  if (error.code === 'EACCES') return `port ${port} on ${host} is not allowed; set GATEWAY_PORT above 1023`;
  return `cannot listen on ${host}: ${error.message}; check GATEWAY_HOST`;
}

const reading = readEnvironment();
if ('problems' in reading) refuseStart(reading.problems);
const { environment } = reading;
// Synchronous: lines are few, and none may be lost or swapped when the process exits.
const log = pino({ level: environment.logLevel, base: { plane: 'proxy' } }, destination({ dest: 1, sync: true }));

// Wall time at start, then monotonic: a clock step changes nothing.
const nowMs = (): number => performance.timeOrigin + performance.now();
const current = createCurrent();
const pools = createPools();
let follower: Follower | undefined;
let phase: 'starting' | 'serving' | 'draining' = 'starting';

function readiness(): Readiness {
  if (phase !== 'serving') return { status: phase, reasons: [] };
  const status = follower?.status();
  const reasons = [
    ...(status?.source === 'last-good' ? ['config_last_good'] : []),
    ...(status?.lastReloadSuccessful === false ? ['config_rejected'] : []),
  ];
  return { status: reasons.length === 0 ? 'ready' : 'degraded', reasons };
}

const metrics = createMetrics({ config: () => follower?.status() });
const gateway: Gateway = {
  current: () => current.get(),
  credentials: { masterKeyDigest: environment.masterKey === undefined ? undefined : digestOf(environment.masterKey) },
  balance: createBalance(),
  pools,
  deadlines: createDeadlines(nowMs),
  metrics,
  usageEnabled: environment.usageEnabled,
  nowMs,
  readiness,
  reportFailure: (error, requestId) => log.error({ err: error, request_id: requestId }, 'unexpected failure'),
};
const server = await createProxyServer(gateway);

const eventTexts: Readonly<Record<ConfigEvent['kind'], string>> = {
  applied: 'config applied',
  recovered: 'config good again, nothing changed',
  rejected: 'config rejected',
  'last-good-used': 'serving the last good config',
  warning: 'config warning',
};

/** One line for each problem, then one for the event itself. */
function report({ kind, revision, problems }: ConfigEvent): void {
  const level = kind === 'rejected' ? 'error' : kind === 'warning' || kind === 'last-good-used' ? 'warn' : 'info';
  if (kind !== 'last-good-used') for (const problem of problems) log[level](formatProblem(problem));
  if (kind !== 'warning') log[level]({ revision }, eventTexts[kind]);
}

process.on('SIGHUP', () => void follower?.reload());

follower = await follow({
  directory: environment.configDirectory,
  environment: environment.variables,
  variables: 'expand',
  entitlements: environment.entitlements,
  lastGoodFolder: join(environment.dataDirectory, environment.instance, 'last-good'),
  nowMs,
  apply(config, revision) {
    const snapshot = compile(config, revision);
    pools.keep(snapshot.upstreams);
    server.apply(snapshot.timeouts);
    current.swap(snapshot);
    const { user_paths, providers, models } = config.rate_limits;
    if (user_paths.length + providers.length + models.length > 0) {
      log.warn('rate_limits are checked but not enforced by this version');
    }
  },
  report,
}).catch((error: unknown) => {
  if (!(error instanceof ConfigRejected)) throw error;
  return refuseStart(error.problems.map(formatProblem));
});

async function stop(signal: string): Promise<void> {
  // A second signal means now.
  if (phase === 'draining') process.exit(0);
  phase = 'draining';
  const graceMs = current.get().shutdownGraceMs;
  log.info({ signal, open_requests: server.openRequests(), grace_ms: graceMs }, 'draining');
  await server.drain(graceMs);
  await follower?.close();
  log.info('stopped');
  process.exit(0);
}
for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, (name: string) => void stop(name));

const address = await server
  .listen(environment.host, environment.port)
  .catch((error: NodeJS.ErrnoException) => refuseStart([explainListen(error, environment)]));
phase = 'serving';
log.info({ address, instance: environment.instance, revision: current.get().revision }, 'listening');
if (environment.insecure && environment.masterKey === undefined) {
  log.warn('GATEWAY_INSECURE is set and there is no master key: every client is let in');
}
