// The data plane as a process: environment → parts → state → config → listen → drain. The only place that wires.
import { join } from 'node:path';
import { destination, pino } from 'pino';
import { ConfigRejected } from '../gitops/config-rejected.ts';
import { type Follower, followConfig } from '../gitops/follow.ts';
import { formatProblem } from '../gitops/problem.ts';
import { environmentMark } from '../plane/environment-mark.ts';
import { createFailedLogins } from '../plane/failed-logins.ts';
import { keepText } from '../plane/kept-text.ts';
import { logConfigEvent, logStateEvent } from '../plane/log-events.ts';
import { explainListen, refuseStart } from '../plane/refuse-start.ts';
import { endOnUncaught } from '../plane/uncaught.ts';
import { signClientAddress } from '../schemas/keys/client-address.ts';
import { digestOf } from '../schemas/keys/secret.ts';
import { followState, reseededKind } from '../store/state/follow-state.ts';
import type { HeartbeatBody } from '../store/state/heartbeat-body.ts';
import { openPlaneStore } from '../store/state/open.ts';
import { createBalance } from './balance.ts';
import { BodyBudget } from './body-budget.ts';
import { type ControlPlaneWatch, controlPlaneConnectMs, watchControlPlane } from './control-plane-watch.ts';
import { readEnvironment } from './environment.ts';
import type { Gateway } from './gateway.ts';
import { createKeyStreams } from './key-streams.ts';
import { counterBudgetBytes, keepLimiter } from './limit-upkeep.ts';
import { createLimiter } from './limits/limiter.ts';
import { createMetrics, type ObservedFacts } from './metrics.ts';
import { serveMetrics } from './metrics-server.ts';
import { memoryLimits, watchMemory } from './overload.ts';
import { readinessOf } from './readiness.ts';
import { createProxyServer } from './server.ts';
import { stopOnSignals } from './shutdown.ts';
import { createCurrent } from './snapshot/current.ts';
import { createPublisher } from './snapshot/publish.ts';
import { claimInstance } from './store/claim-instance.ts';
import { type KeptCounters, keepCounters } from './store/counters.ts';
import { type Heartbeats, heartbeatBody, startHeartbeats } from './store/heartbeat.ts';
import { createDeadlines } from './upstream/deadlines.ts';
import { createPools } from './upstream/pools.ts';

const reading = readEnvironment();
if ('problems' in reading) refuseStart('proxy', reading.problems);
const { environment } = reading;
const { dataDirectory, entitlements, instance, masterKey } = environment;
// Synchronous: lines are few, and none may be lost or swapped when the process exits.
const log = pino({ level: environment.logLevel, base: { plane: 'proxy' } }, destination({ dest: 1, sync: true }));

// Wall time at start, then monotonic: a clock step changes nothing.
const nowMs = (): number => performance.timeOrigin + performance.now();
const tickMs = (): number => Math.floor(nowMs());
const startedAtMs = tickMs();
const mark = environmentMark(environment.variables);
const ownFolder = join(dataDirectory, instance);
const flushIntervalMs = environment.flushIntervalSeconds * 1000;

const lock = claimInstance({ directory: dataDirectory, instance, former: environment.formerInstance }, log);

const current = createCurrent();
const pools = createPools();
const limiter = createLimiter({
  tokensEnforced: environment.usageEnabled,
  isExported: flushIntervalMs > 0,
  mostBytes: counterBudgetBytes(),
});
const store = openPlaneStore(environment);
const controlPlane = {
  origin: environment.controlPlaneUrl,
  connectTimeoutMs: controlPlaneConnectMs,
  timeoutMs: environment.controlPlaneTimeoutMs,
  signAddress: (address: string) => (masterKey === undefined ? undefined : signClientAddress(address, masterKey)),
};
let follower: Follower | undefined;
let counters: KeptCounters | undefined;
let heartbeats: Heartbeats | undefined;
let phase: 'starting' | 'serving' | 'draining' = 'starting';
let isEnforcing = true;
let controlPlaneWatch: ControlPlaneWatch | undefined;
let isStoreUp = true;
let isHeartbeatTaken = true;
let lastReseeded: number | undefined;

const memory = memoryLimits([...(environment.variables['NODE_OPTIONS'] ?? '').split(' '), ...process.execArgv]);
const overload = watchMemory(memory, (full) => {
  if (full) log.error(`${full} is nearly full: new requests are refused`);
  else log.info('there is room in memory again');
});
const bodies = new BodyBudget(Math.min(memory.heapBytes, memory.processBytes));
const publisher = createPublisher({
  masterKeyDigest: masterKey === undefined ? undefined : digestOf(masterKey),
  hasTemplates: entitlements.has('quota_templates'),
  usageEnabled: environment.usageEnabled,
  put(snapshot, rules, enforcement) {
    pools.keep([...snapshot.upstreams, controlPlane]);
    server.apply(snapshot);
    limiter.reconcile(rules, enforcement);
    current.swap(snapshot);
  },
  warn(problems) {
    for (const { level, text } of problems) log[level](text);
  },
  nowMs: tickMs,
});
const facts: ObservedFacts = {
  config: () => follower?.status(),
  state: () => stateFollower.status(),
  limiter,
  bodies,
  connections: () => server.connections(),
  nowMs: tickMs,
  store: () => ({
    isUp: isStoreUp && isHeartbeatTaken && stateFollower.status().isUp,
    writtenAtMs: counters?.writtenAtMs() ?? 0,
  }),
};
const metrics = keepText(createMetrics(facts), environment.metricsMaxAgeMs, nowMs);
const gateway: Gateway = {
  current: () => current.get(),
  balance: createBalance(),
  limiter,
  pools,
  deadlines: createDeadlines(nowMs),
  metrics,
  isMetricsApart: environment.metricsPort !== undefined,
  usageEnabled: environment.usageEnabled,
  controlPlane,
  failedLogins: createFailedLogins(),
  ownNames: environment.ownNames,
  overload,
  keyStreams: createKeyStreams(() => current.get(), nowMs),
  bodies,
  nowMs,
  readiness: () =>
    readinessOf({
      phase,
      config: follower?.status(),
      state: stateFollower.status(),
      isStoreUp: isStoreUp && isHeartbeatTaken,
      hasControlPlane: controlPlaneWatch?.answers() ?? true,
      isOverloaded: overload.isOverloaded(),
    }),
  reportFailure: (error, requestId) => log.error({ err: error, request_id: requestId }, 'unexpected failure'),
};
const server = await createProxyServer(gateway);
endOnUncaught(log, () => counters?.flush());
process.on('SIGHUP', () => void follower?.reload());

const stateFollower = await followState({
  store,
  copyPath: join(ownFolder, 'last-good-state.json'),
  reseeds: false,
  apply(state, origin) {
    const reseeded = state.kinds.get(reseededKind);
    if (reseeded !== lastReseeded) limiter.exportAgain();
    lastReseeded = reseeded;
    publisher.documents(state, origin);
  },
  report(event) {
    logStateEvent(log, event);
    // With the documents the counters went.
    if (event.kind === 'emptied' || event.kind === 'replaced') limiter.exportAgain();
  },
});
follower = await followConfig({
  directory: environment.configDirectory,
  environment: environment.variables,
  variables: 'expand',
  entitlements,
  lastGoodFolder: join(ownFolder, 'last-good'),
  nowMs,
  apply(config, revision) {
    publisher.config(config, revision);
    isEnforcing = config.rate_limits.enabled;
  },
  report: (event) => logConfigEvent(log, event),
}).catch((error: unknown) => {
  if (!(error instanceof ConfigRejected)) throw error;
  return refuseStart('proxy', error.problems.map(formatProblem));
});
counters = await keepCounters({
  store,
  limiter,
  instance,
  intervalMs: flushIntervalMs,
  nowMs: tickMs,
  onTrouble(trouble) {
    isStoreUp = trouble === undefined;
    if (trouble) log.error({ err: trouble }, 'counters are kept in memory only: the state store does not take them');
    else log.info('the state store takes counters again');
  },
});
keepLimiter(limiter, tickMs, log);

const selfPortrait = (): HeartbeatBody =>
  heartbeatBody({
    startedAtMs,
    config: follower?.status(),
    state: stateFollower.status(),
    isEnforcing,
    environment: mark,
    live: limiter.live(tickMs()),
  });

/** An outage shows in what is written twice a second, also when nothing else is asked of the store, and a store that is only full. */
function noticeOutage(trouble: Error | undefined): void {
  isHeartbeatTaken = trouble === undefined;
  if ((trouble === undefined) !== stateFollower.status().isUp) void stateFollower.refresh();
}

stopOnSignals({
  log,
  graceMs: () => current.get().shutdownGraceMs,
  server,
  onDraining() {
    phase = 'draining';
  },
  async close() {
    await follower?.close();
    await counters?.close();
    await heartbeats?.close();
    await Promise.all([store.close(), stateFollower.kept()]);
    lock?.release();
  },
});

if (environment.metricsPort !== undefined) {
  const place = { host: environment.host, port: environment.metricsPort };
  const metricsAddress = await serveMetrics(metrics, place.host, place.port).catch((error: NodeJS.ErrnoException) =>
    refuseStart('proxy', [explainListen(error, place, 'GATEWAY_METRICS')]),
  );
  log.info({ address: metricsAddress }, 'serving metrics');
}
const address = await server
  .listen(environment.host, environment.port)
  .catch((error: NodeJS.ErrnoException) => refuseStart('proxy', [explainListen(error, environment, 'GATEWAY')]));
phase = 'serving';
heartbeats = startHeartbeats({ store, instance, body: selfPortrait, nowMs, onOutcome: noticeOutage, log });
controlPlaneWatch = watchControlPlane(pools, controlPlane, log);
log.info({ address, instance, revision: current.get().revision }, 'listening');
for (const warning of environment.warnings) log.warn(warning);
if (environment.insecure && masterKey === undefined) {
  log.warn('GATEWAY_INSECURE is set and there is no master key: every client is let in');
}
