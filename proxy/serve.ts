// One proxy, as a program: environment → parts → state → config → listen → drain. The only place that wires.
import { join } from 'node:path';
import manifest from '../package.json' with { type: 'json' };
import { authorityClock } from '../plane/access/authority-clock.ts';
import { createFailedLogins } from '../plane/access/failed-logins.ts';
import { keepKeyUses } from '../plane/access/keep-key-uses.ts';
import { KeyUses } from '../plane/access/key-uses.ts';
import { ConfigPins } from '../plane/config-pins.ts';
import { ConfigRollouts } from '../plane/config-rollouts.ts';
import { environmentFingerprint } from '../plane/environment-fingerprint.ts';
import { createExpiryLines } from '../plane/expired-rules.ts';
import { followSecrets } from '../plane/follow-secrets.ts';
import { TokenKeys } from '../plane/identities/token-keys.ts';
import { asInstance, identityOf } from '../plane/identity.ts';
import { keepTickShape } from '../plane/keep-tick-shape.ts';
import { keepText } from '../plane/kept-text.ts';
import { createKeyPathWarnings } from '../plane/key-path-warnings.ts';
import { logSettings, openLog } from '../plane/log.ts';
import { putInForce } from '../plane/put-in-force.ts';
import { reconnectInTurn } from '../plane/reconnect-in-turn.ts';
import { reloadOnHangUp } from '../plane/signals.ts';
import { followConfigOrExit, listenOrExit, settingsOrExit } from '../plane/start.ts';
import { CertificateKeys } from '../plane/tls/certificate-keys.ts';
import { SecureListener } from '../plane/tls/secure-listener.ts';
import { endOnUncaught } from '../plane/uncaught.ts';
import { openVaults } from '../plane/vaults/vaults.ts';
import { diskRoom } from '../store/disk-room.ts';
import { openPlaneStore } from '../store/state/open.ts';
import { controlPlaneLink } from './admin/control-plane-link.ts';
import { watchControlPlane } from './admin/control-plane-watch.ts';
import { createHeartbeatTeller } from './admin/tell-heartbeat.ts';
import { openCloudAccess } from './boot/cloud-access.ts';
import { endOnSignals } from './boot/end-on-signals.ts';
import { Lifecycle } from './boot/lifecycle.ts';
import { linkLimits } from './boot/limit-link.ts';
import { recallSession, sessionKeeper } from './boot/limit-session-file.ts';
import { keepLimiter, limiterSettings, logRuleProblems, mostLedgerBytes, openFleet } from './boot/limit-upkeep.ts';
import { liveFacts } from './boot/live-facts.ts';
import { followManagedState } from './boot/managed-state.ts';
import { guardMemory } from './boot/memory-guard.ts';
import { openCache } from './boot/open-cache.ts';
import { firstCredentialMs, openIdentities } from './boot/open-identities.ts';
import { openKept } from './boot/open-kept.ts';
import { openTelemetry } from './boot/open-telemetry.ts';
import { partsInForce } from './boot/parts-in-force.ts';
import { createRefusedAddressLog, logRefusedKeys } from './boot/refused-logs.ts';
import { askWritten, metricsOfAll, openSiblings, shareFailedLogins, workForSiblings } from './boot/sibling-work.ts';
import { keepTargetLines } from './boot/target-lines.ts';
import { Budgets } from './budgets/budgets.ts';
import { followBudgets } from './budgets/follow-budgets.ts';
import { Ledgers } from './budgets/ledgers.ts';
import { openDiscovery } from './discovery/open.ts';
import { readEnvironment } from './environment.ts';
import { type ConnectionCounts, roomOfProcess } from './http/connections.ts';
import { KeptExplanations } from './kept/kept-explanations.ts';
import { createKeyStreams } from './kept/key-streams.ts';
import { createLimiter } from './limits/limiter.ts';
import { createMetrics } from './metrics/metrics.ts';
import { listenForMetrics } from './metrics/metrics-server.ts';
import { askProbe } from './probes/ask-probe.ts';
import { Prober } from './probes/prober.ts';
import type { Readiness } from './readiness.ts';
import { createAccessLog } from './records/access-log.ts';
import { openRecords } from './records/open-records.ts';
import { createBalance } from './routing/balance/balance.ts';
import { Turns } from './routing/balance/turns.ts';
import { RetryBudgets } from './routing/retry/retry-budgets.ts';
import { createProxyServer, type ServerParts } from './server.ts';
import { createCurrent } from './snapshot/current.ts';
import { createPublisher } from './snapshot/publish.ts';
import { unusableGuardrails } from './snapshot/unusable-guardrails.ts';
import { claimInstance } from './store/claim-instance.ts';
import { keepCounters } from './store/counters.ts';
import { startHeartbeats } from './store/heartbeat.ts';
import type { SessionCounts } from './tallies/session-counts.ts';
import { TargetStates } from './targets/target-states.ts';
import { Mirrors } from './trips/mirror/mirrors.ts';
import { ProviderKeys } from './upstream/api-keys.ts';
import { createDeadlines } from './upstream/deadlines.ts';
import { Hooks } from './upstream/hooks.ts';
import { createPools } from './upstream/pools.ts';
import { workerNumber } from './workers/worker-number.ts';

const anyProxy = identityOf('proxy', manifest.version);
const ownNumber = workerNumber(process.argv);
const environment = settingsOrExit(anyProxy, readEnvironment(undefined, undefined, ownNumber));
const { host, port, metricsPort, instance, workers, ownNames, usageEnabled, variables } = environment;
const identity = asInstance(anyProxy, instance);
const { log, output } = openLog(identity, environment.logLevel);
// Wall time at start, then monotonic: a clock step changes nothing.
const originMs = performance.timeOrigin;
const nowMs = (): number => originMs + performance.now();
const tickMs = (): number => Math.floor(nowMs());
const authorityMs = authorityClock(Date.now, nowMs);
const ownFolder = join(environment.dataDirectory, instance);
/** A start waits for the store of shared limits for so long at most, in milliseconds. */
const firstExchangeMs = 1_000;
const flushIntervalMs = environment.flushIntervalSeconds * 1000;
const siblings = openSiblings(ownNumber !== undefined, log);
const lock = claimInstance(
  {
    identity,
    directory: environment.dataDirectory,
    former: environment.formerInstance,
    // The workers of a parent that was killed end a moment after it.
    patienceMs: siblings.isAlone ? 0 : 3_000,
  },
  log,
);
const lifecycle = new Lifecycle({ startedAtMs: tickMs(), environment: environmentFingerprint(variables) }, log);
keepTickShape();
endOnUncaught(
  log,
  () => lifecycle.counters?.flush(),
  () => recording.close(),
);
const current = createCurrent();
const pools = createPools(roomOfProcess().most, { refused: createRefusedAddressLog(log, nowMs) });
const clouds = { variables, wallMs: Date.now };
const identities = openIdentities(clouds, nowMs, log);
lifecycle.identities = identities;
const providerKeys = new ProviderKeys(logRefusedKeys(log), identities);
const limiter = createLimiter(limiterSettings(usageEnabled, flushIntervalMs > 0));
const budgets = new Budgets(new Ledgers(mostLedgerBytes()));
const { ledgers } = budgets;
const sessionPath = join(ownFolder, 'limits.json');
const fleet = openFleet(
  { instance, kept: await recallSession(sessionPath), limiter, ledgers, expected: environment.expectedReplicas },
  tickMs(),
);
const targets = new TargetStates((provider) => identities.outageOf(provider));
const turns = new Turns();
const deadlines = createDeadlines(nowMs);
const discovery = await openDiscovery({
  path: join(ownFolder, 'models.json'),
  pools,
  deadlines,
  nowMs,
  changed: () => publisher.models(),
  log,
});
lifecycle.discovery = discovery;
const store = openPlaneStore(environment, { nowMs });
const probes = new Prober({
  turns: store.turns,
  instance,
  targets,
  nowMs,
  ask: (upstream, plan) => askProbe(upstream, plan, current.get(), gateway),
});
lifecycle.probes = probes;
const limitLink = linkLimits({ store: store.limits, fleet, nowMs, log, keep: sessionKeeper(sessionPath) });
await followBudgets(store, budgets, nowMs);
const keyUses = new KeyUses();
const kept = openKept({ store, snapshot: () => current.get(), nowMs, log, elsewhere: askWritten(siblings) });
let { masterKey } = environment;
const controlPlane = controlPlaneLink(environment, () => masterKey);
const { overload, bodies, captures } = guardMemory(variables['NODE_OPTIONS'], workers, log);
const answers = openCache({ ...environment, captures, nowMs }, log);
const recording = openRecords({ ...environment, captures, spent: (call) => observed.upstream.spent(call) }, log);
const telemetry = await openTelemetry(environment, manifest.version, log);
const publisher = createPublisher({
  masterKey: environment.masterKey,
  hasTemplates: environment.entitlements.has('quota_templates'),
  usageEnabled,
  providerKeys,
  modelsOf: (name, provider) => discovery.modelsOf(name, provider),
  // Nothing is published before all of them are there.
  put: (next) => putInForce(published, next),
  warn: logRuleProblems(log),
  scope: environment.redisUrl === undefined && workers === 1 ? 'replica' : 'fleet',
  tellExpired: createExpiryLines(log),
  nowMs: () => Math.floor(authorityMs()),
});
const rollouts = new ConfigRollouts({ instance, follower: () => lifecycle.configFollower });
const secure = new SecureListener({ log, nowMs });
const connections = (): ConnectionCounts => server.connections();
const sessions = (): SessionCounts => server.sessions();
const unusable = (): readonly string[] => (lifecycle.phase === 'starting' ? [] : unusableGuardrails(current.get()));
const diskRoomBytes = (): number => diskRoom(environment.dataDirectory).freeBytes;
const readiness = (): Readiness =>
  lifecycle.readiness({
    isOverloaded: overload.isOverloaded(),
    isDiskFull: diskRoomBytes() === 0,
    unusableGuardrails: unusable(),
    waitsInVain: (config) => rollouts.waitsInVain(config, tickMs()),
  });
const certificates = new CertificateKeys(authorityMs);
const keptExplanations = new KeptExplanations();
const ownFailedLogins = createFailedLogins();
const failedLogins = shareFailedLogins(ownFailedLogins, siblings);
const retries = new RetryBudgets();
const mirrors = new Mirrors(captures);
const accessLog = createAccessLog(identity, output, Date.now);
const tokenKeys = await TokenKeys.open({ folder: ownFolder, nowMs: authorityMs, log });
const pins = new ConfigPins({ nowMs: authorityMs, log, follower: () => lifecycle.configFollower });
const observed = createMetrics({
  pin: () => pins.standing(),
  tokenKeys,
  ...lifecycle.sources,
  version: manifest.version,
  worker: environment.worker,
  workers,
  readiness,
  unusableGuardrails: unusable,
  failedLogins,
  limiter,
  targets,
  discovery,
  probes,
  identities,
  bodies,
  budgets,
  cache: answers.cache,
  connections,
  sessions,
  handshakes: () => secure.counts(),
  output,
  accessLog,
  retries,
  storedResponses: kept.storedResponses,
  recording,
  diskRoom: diskRoomBytes,
  spans: telemetry.spans,
  nowMs: tickMs,
});
const metrics = keepText(metricsOfAll(observed, siblings), environment.metricsMaxAgeMs, nowMs);
const gateway: ServerParts = {
  tokenKeys,
  certificates,
  secure,
  budgets,
  cache: answers.cache,
  accessLog,
  records: recording.records,
  telemetry: telemetry.telemetry,
  limiter,
  pools,
  hooks: new Hooks(pools, deadlines),
  metrics,
  usageEnabled,
  controlPlane,
  managedState: () => stateFollower,
  overload,
  bodies,
  nowMs,
  authorityMs,
  current: () => current.get(),
  retries,
  mirrors,
  keptExplanations,
  siblings,
  workers,
  inForce: () => publisher.inForce(),
  instance,
  balance: createBalance(targets, turns),
  foretell: createBalance(targets, { of: (route) => turns.copyOf(route) }),
  targets,
  deadlines,
  servesAdmin: environment.servesAdmin,
  isMetricsApart: metricsPort !== undefined,
  failedLogins,
  ownNames,
  keyStreams: createKeyStreams(() => current.get(), authorityMs, {
    now: (key) => (certificates.owns(key) ? certificates : tokenKeys).now(key),
  }),
  keyUses,
  storedResponses: kept.storedResponses,
  homes: kept.homes,
  readiness: () => siblings.readinessOf(readiness()),
  reportFailure: (error, requestId) => log.error({ err: error, request_id: requestId }, 'unexpected failure'),
};
const server = await createProxyServer(gateway);
const published = partsInForce({
  cache: answers.cache,
  pools,
  controlPlane,
  providerKeys,
  discovery,
  server,
  observed,
  targets,
  probes,
  limiter,
  ledgers,
  nowMs,
  limitLink,
  current,
  lifecycle,
});
reloadOnHangUp(() => lifecycle.configFollower?.reload(), siblings.signals);
const stateFollower = await followManagedState({
  store,
  ownFolder,
  publisher,
  pins,
  rollouts,
  limiter,
  keyUses,
  warnOfKeyPaths: createKeyPathWarnings(variables, log),
  log,
});
lifecycle.stateFollower = stateFollower;
lifecycle.secrets = followSecrets({
  settings: environment,
  reconnect: reconnectInTurn(store, recording, answers),
  log,
  renewKeys(keys) {
    ({ masterKey } = keys);
    store.renewKeys(keys);
    publisher.renewMasterKey(keys.masterKey);
    void stateFollower.recheckSeals();
  },
  renewAuthorities(pem) {
    controlPlane.renewAuthorities(pem);
    pools.renewed(controlPlane);
  },
});
lifecycle.configFollower = await followConfigOrExit(identity, {
  settings: environment,
  variables: 'expand',
  vaults: openVaults(environment.vaults, {
    access: openCloudAccess(clouds, nowMs, environment.vaults.azure.address),
    nowMs,
  }),
  given: async (asked) => (await pins.given()) ?? rollouts.given(asked),
  ownFolder,
  nowMs,
  log,
  apply(config, revision) {
    const commits = [tokenKeys.prepare(config.identities), certificates.prepare(config.server.tls)];
    publisher.config(config, revision);
    for (const commit of commits) commit();
  },
});
lifecycle.counters = await keepCounters({
  store,
  limiter,
  instance,
  intervalMs: flushIntervalMs,
  nowMs: tickMs,
  onTrouble: (trouble) => lifecycle.countersTaken(trouble),
  warn: (sentence) => log.warn(sentence),
});
await limitLink.start(firstExchangeMs);
lifecycle.limitLink = limitLink;
lifecycle.keyUses = keepKeyUses(keyUses, store.uses);
await identities.settled(firstCredentialMs);
keepLimiter({ limiter, ledgers }, tickMs, log);
keepTargetLines(targets, tickMs, log);
const graceMs = (): number => current.get().shutdownGraceMs;
const { signals } = siblings;
endOnSignals({
  log,
  signals,
  server,
  mirrors,
  lifecycle,
  graceMs,
  kept,
  ...answers,
  recording,
  telemetry,
  stateFollower,
  store,
  lock,
});

if (metricsPort !== undefined) await listenForMetrics(metrics, { identity, host, port: metricsPort, ownNames }, log);
const address = await listenOrExit(identity, { host, port, prefix: 'GATEWAY' }, server.listen(host, port));
lifecycle.phase = 'serving';
workForSiblings(siblings, {
  readiness,
  graceMs,
  observed,
  keptExplanations,
  kept,
  state: stateFollower,
  failedLogins: ownFailedLogins,
  nowMs,
});
const live = { limiter, targets, discovery, probes, providerKeys, identities, ...answers, observed };
lifecycle.heartbeats = startHeartbeats({
  store,
  instance,
  body: async () =>
    lifecycle.heartbeat(await liveFacts(live, tickMs()), {
      keyMark: store.keyMark(),
      ready: readiness(),
      unusableGuardrails: unusable(),
    }),
  nowMs,
  onOutcome: (trouble) => lifecycle.heartbeatTaken(trouble),
  tell: createHeartbeatTeller(instance, { pools, controlPlane, nowMs }),
  log,
});
lifecycle.controlPlaneWatch = watchControlPlane(pools, controlPlane, log);
log.info({ address, config_revision: current.get().revision }, 'listening');
logSettings(log, environment, 'every client is let in');
