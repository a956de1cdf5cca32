// The data plane as a process: environment → parts → config → listen → drain. The only place that wires.
import { join } from 'node:path';
import { destination, pino } from 'pino';
import { ConfigRejected } from '../schemas/config/config-rejected.ts';
import { type ConfigEvent, type Follower, follow } from '../schemas/config/follow.ts';
import { formatProblem } from '../schemas/config/problem.ts';
import { compileRules } from '../schemas/rules/rule.ts';
import { openStateStore } from '../schemas/store/open.ts';
import { type Environment, readEnvironment } from './environment.ts';
import type { Gateway, Readiness } from './gateway.ts';
import { createLimiter } from './limits/limiter.ts';
import { createMetrics } from './metrics.ts';
import { createProxyServer } from './server.ts';
import { compile } from './snapshot/compile.ts';
import { createCurrent } from './snapshot/current.ts';
import { digestOf } from './stages/authenticate.ts';
import { createBalance } from './stages/resolve.ts';
import { type KeptCounters, keepCounters } from './store/counters.ts';
import { InstanceInUse, type InstanceLock, lockInstance } from './store/instance-lock.ts';
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

/** How often idle counters are looked for, and how many are looked at. */
const sweepIntervalMs = 1_000;
const sweepVisits = 5_000;

const reading = readEnvironment();
if ('problems' in reading) refuseStart(reading.problems);
const { environment } = reading;
// Synchronous: lines are few, and none may be lost or swapped when the process exits.
const log = pino({ level: environment.logLevel, base: { plane: 'proxy' } }, destination({ dest: 1, sync: true }));

// Wall time at start, then monotonic: a clock step changes nothing.
const nowMs = (): number => performance.timeOrigin + performance.now();
/** The limiter counts whole milliseconds. */
const tickMs = (): number => Math.floor(nowMs());
const ownFolder = join(environment.dataDirectory, environment.instance);
const flushIntervalMs = environment.flushIntervalSeconds * 1000;
const current = createCurrent();
const pools = createPools();
const limiter = createLimiter({ tokensEnforced: environment.usageEnabled, isExported: flushIntervalMs > 0 });
const store = openStateStore({ directory: environment.dataDirectory });
let follower: Follower | undefined;
let counters: KeptCounters | undefined;
let isStoreUp = true;
let phase: 'starting' | 'serving' | 'draining' = 'starting';

function readiness(): Readiness {
  if (phase !== 'serving') return { status: phase, reasons: [] };
  const status = follower?.status();
  const reasons = [
    ...(status?.source === 'last-good' ? ['config_last_good'] : []),
    ...(status?.lastReloadSuccessful === false ? ['config_rejected'] : []),
    ...(isStoreUp ? [] : ['state_store_unavailable']),
  ];
  return { status: reasons.length === 0 ? 'ready' : 'degraded', reasons };
}

const metrics = createMetrics({
  config: () => follower?.status(),
  limiter,
  nowMs: tickMs,
  store: () => ({ isUp: isStoreUp, writtenAtMs: counters?.writtenAtMs() ?? 0 }),
});
const gateway: Gateway = {
  current: () => current.get(),
  credentials: { masterKeyDigest: environment.masterKey === undefined ? undefined : digestOf(environment.masterKey) },
  balance: createBalance(),
  limiter,
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

let lock: InstanceLock | undefined;
try {
  lock = lockInstance(ownFolder);
} catch (error) {
  if (error instanceof InstanceInUse) {
    refuseStart([`another proxy runs as instance "${environment.instance}"; give each its own GATEWAY_INSTANCE`]);
  }
  log.warn({ err: error }, `${ownFolder} cannot be written; check GATEWAY_DATA`);
}

follower = await follow({
  directory: environment.configDirectory,
  environment: environment.variables,
  variables: 'expand',
  entitlements: environment.entitlements,
  lastGoodFolder: join(ownFolder, 'last-good'),
  nowMs,
  apply(config, revision) {
    const snapshot = compile(config, revision);
    pools.keep(snapshot.upstreams);
    server.apply(snapshot.timeouts);
    limiter.reconcile(compileRules(config.rate_limits));
    current.swap(snapshot);
  },
  report,
}).catch((error: unknown) => {
  if (!(error instanceof ConfigRejected)) throw error;
  return refuseStart(error.problems.map(formatProblem));
});

counters = await keepCounters({
  store,
  limiter,
  instance: environment.instance,
  intervalMs: flushIntervalMs,
  nowMs: tickMs,
  onTrouble(trouble) {
    isStoreUp = trouble === undefined;
    if (trouble) log.error({ err: trouble }, 'counters are kept in memory only: the state store does not take them');
    else log.info('the state store takes counters again');
  },
});
setInterval(() => limiter.sweep(tickMs(), sweepVisits), sweepIntervalMs).unref();

let leaving: Promise<void> | undefined;

/** Writes everything down, then ends the process. */
function leave(): Promise<void> {
  leaving ??= (async () => {
    await follower?.close();
    await counters?.close();
    await store.close();
    lock?.release();
    log.info('stopped');
    process.exit(0);
  })();
  return leaving;
}

async function stop(signal: string): Promise<void> {
  // A second signal means now.
  if (phase === 'draining') return leave();
  phase = 'draining';
  const graceMs = current.get().shutdownGraceMs;
  log.info({ signal, open_requests: server.openRequests(), grace_ms: graceMs }, 'draining');
  await server.drain(graceMs);
  await leave();
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
