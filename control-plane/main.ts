// The control plane as a process: environment → parts → state → config → listen → close gracefully. The only place that wires.
import { join } from 'node:path';
import { destination, pino } from 'pino';
import type { AssembledConfig } from '../gitops/assembled.ts';
import { ConfigRejected } from '../gitops/config-rejected.ts';
import { type Follower, followConfig } from '../gitops/follow.ts';
import { formatProblem } from '../gitops/problem.ts';
import manifest from '../package.json' with { type: 'json' };
import { boundAddress } from '../plane/bound-address.ts';
import { environmentMark } from '../plane/environment-mark.ts';
import { createFailedLogins } from '../plane/failed-logins.ts';
import { keepText } from '../plane/kept-text.ts';
import { logConfigEvent, logStateEvent } from '../plane/log-events.ts';
import { explainListen, refuseStart } from '../plane/refuse-start.ts';
import { endOnUncaught } from '../plane/uncaught.ts';
import { managedKeys } from '../schemas/documents/kinds.ts';
import { readKind } from '../schemas/documents/managed-kind.ts';
import { type Credentials, credentialsOf } from '../schemas/keys/credentials.ts';
import { digestOf } from '../schemas/keys/secret.ts';
import { type KnownModels, knownModels, nothingKnown } from '../schemas/rules/known-models.ts';
import type { RuleMeans } from '../schemas/rules/obstacle.ts';
import { compileRules, type Rule } from '../schemas/rules/rule.ts';
import { ownDirectory } from '../store/own-files.ts';
import { followState, type StateStatus } from '../store/state/follow-state.ts';
import { heartbeatIntervalMs } from '../store/state/heartbeat-body.ts';
import { openPlaneStore } from '../store/state/open.ts';
import type { Document } from '../store/state/state-store.ts';
import { authKeys } from './admin/auth-keys/routes.ts';
import { openapi } from './admin/openapi/routes.ts';
import { defaultQuotas, type Quotas } from './admin/quotas.ts';
import type { UnneededEpochs } from './admin/rate-limits/changes.ts';
import { tidyRules } from './admin/rate-limits/commit.ts';
import { liveCounters } from './admin/rate-limits/fleet-counters.ts';
import { rememberRules } from './admin/rate-limits/remembered.ts';
import { rateLimits } from './admin/rate-limits/routes.ts';
import { createRuleWarnings } from './admin/rate-limits/warnings.ts';
import { status } from './admin/status/routes.ts';
import { who } from './authenticate.ts';
import { readEnvironment } from './environment.ts';
import { createFleet, createSharingWarnings, type Desired } from './fleet.ts';
import { createMetrics } from './metrics.ts';
import { readinessOf } from './readiness.ts';
import { createServer } from './server.ts';
import { guardDocuments } from './store/documents.ts';
import { createResealer } from './store/reseal.ts';
import { createSignOfLife } from './store/sign-of-life.ts';
import { createVerdict } from './store/verdict.ts';

const closeGraceMs = 10_000;
/** How often it is asked whether something in the store has expired, and how long an answer holds that nothing has. */
const tidyCheckMs = 1_000;
const tidyRestMs = 60_000;

const reading = readEnvironment();
if ('problems' in reading) refuseStart('control plane', reading.problems);
const { environment } = reading;
const { dataDirectory, entitlements, masterKey, redisUrl, variables } = environment;
// Written at once: lines keep their order up to the exit, and a reader that went away cannot hold it up.
const output = destination({ dest: 1, sync: true });
const logger = pino({ level: environment.logLevel, base: { plane: 'control-plane' } }, output);
const nowMs = (): number => Date.now();

const ownFolder = join(dataDirectory, 'control-plane');
ownDirectory(dataDirectory);
ownDirectory(ownFolder);
const masterKeyDigest = masterKey === undefined ? undefined : digestOf(masterKey);
const store = openPlaneStore(environment, environment.adoptsUnsigned);
const mark = environmentMark(variables);
const verdict = createVerdict(nowMs);
let follower: Follower | undefined;
let config: { declared: AssembledConfig; rules: readonly Rule[]; known: KnownModels } | undefined;
let managed: readonly Document[] = [];
let credentials: Credentials = credentialsOf(masterKeyDigest, []);
let tidyAtMs = 0;
const unneeded: UnneededEpochs = new Map();
let closing = false;
const means = (): RuleMeans => ({
  enabled: config?.declared.rate_limits.enabled === true,
  hasTemplates: entitlements.has('quota_templates'),
  usageEnabled: environment.usageEnabled,
  known: config?.known ?? nothingKnown,
});
const warnOfRules = createRuleWarnings(logger);
const warnOfSharing = createSharingWarnings(logger);
const tellUnenforced = (): void => {
  if (config !== undefined) warnOfRules(managed, config.rules, means(), nowMs());
};

const stateFollower = await followState({
  store,
  copyPath: join(ownFolder, 'last-good-state.json'),
  reseeds: true,
  apply({ documents }, { source }) {
    credentials = credentialsOf(masterKeyDigest, readKind(managedKeys, documents).values, source !== 'nothing');
    managed = documents;
    tellUnenforced();
    tidyAtMs = 0;
  },
  report: (event) => logStateEvent(logger, event),
});
const remembered = await rememberRules(join(ownFolder, 'declared-rules.json'), (problem) => logger.warn(problem));
follower = await followConfig({
  directory: environment.configDirectory,
  environment: variables,
  variables: 'keep',
  entitlements,
  lastGoodFolder: join(ownFolder, 'last-good'),
  nowMs,
  apply(declared) {
    config = { declared, rules: compileRules(declared.rate_limits), known: knownModels(declared) };
    remembered.update(config.rules, nowMs());
    tellUnenforced();
  },
  report: (event) => logConfigEvent(logger, event),
}).catch((error: unknown) => {
  if (!(error instanceof ConfigRejected)) throw error;
  return refuseStart('control plane', error.problems.map(formatProblem));
});
const state = (): StateStatus => {
  const followed = stateFollower.status();
  return { ...followed, isEmptied: followed.isEmptied || verdict.isLost() };
};
const desired = (): Desired => ({
  configRevision: follower?.status().revision ?? '',
  stateRevision: state().revision,
  environment: mark,
});
const fleet = createFleet(store, desired, nowMs);
const signOfLife = createSignOfLife(store, `${environment.host}:${environment.port}`, nowMs, logger);
const documents = guardDocuments(store, stateFollower, verdict);
const app = createServer({
  logger,
  metrics: keepText(
    createMetrics({ version: manifest.version, config: () => follower?.status(), state, fleet }),
    environment.metricsMaxAgeMs,
    nowMs,
  ),
  // Keys that were lost are not wrong.
  access: {
    credentials: () => (verdict.isLost() ? { ...credentials, isComplete: false } : credentials),
    failedLogins: createFailedLogins(),
    masterKey,
    ownNames: environment.ownNames,
    nowMs,
  },
  readiness: () => readinessOf(follower?.status(), state(), signOfLife.isTaken()),
});
const quotas = (): Quotas => config?.declared.admin ?? defaultQuotas;
const rateLimitParts = {
  store: documents,
  quotas,
  configRules: () => ({ rules: config?.rules ?? [], declared: remembered.current() }),
  async live() {
    await fleet.look();
    return liveCounters(fleet.heartbeats(), nowMs());
  },
  means,
  nowMs,
};
await app.register(rateLimits, { parts: rateLimitParts, who });
const authKeyParts = {
  store: documents,
  quotas,
  known: () => config?.known ?? nothingKnown,
  nowMs,
};
await app.register(authKeys, { parts: authKeyParts });
const engine = redisUrl === undefined ? 'sqlite' : 'redis';
await app.register(status, { parts: { fleet, desired, config: () => follower?.status(), state, engine, nowMs } });
endOnUncaught(logger, () => undefined);
await app.register(openapi);
process.on('SIGHUP', () => void follower?.reload());

// What fails here is said by the follower of the state, and tried again.
async function lookAfterFleet(): Promise<void> {
  if (closing) return;
  const looked = fleet.look().then(
    () => true,
    () => false,
  );
  const [answers] = await Promise.all([looked, signOfLife.beat()]);
  if (answers !== state().isUp) await stateFollower.refresh();
  warnOfSharing(fleet.proxies());
  await lookAfterStore(answers);
}

/** A store with an id can be told from one that was emptied: a new one gets it, one that has lost everything does not. */
async function lookAfterStore(answers: boolean): Promise<void> {
  const { source, storeId, isUp } = stateFollower.status();
  const isNameless = answers && isUp && source === 'store' && storeId === undefined;
  const wasLost = verdict.isLost();
  verdict.see({
    store: storeId === undefined ? (isNameless ? 'nameless' : 'unread') : 'named',
    liveProxies: fleet.proxies().filter(({ isLive }) => isLive).length,
    isRemembered: fleet.isStoreRemembered(),
  });
  if (verdict.isLost() && !wasLost) {
    logger.error(
      `the state store is empty, but proxies know rules and keys from it, so it is neither read nor written: put its data back; or copy a proxy's last-good-state.json into ${ownFolder} and restart the control plane; or, to begin with none, remove that file of every proxy and restart them`,
    );
  }
  if (isNameless && verdict.isDecided() && !verdict.isLost()) await store.initialise().catch(() => undefined);
}
await lookAfterFleet();
setInterval(() => void lookAfterFleet(), heartbeatIntervalMs).unref();
async function tidy(): Promise<void> {
  const now = Math.floor(nowMs());
  if (closing || now < tidyAtMs) return;
  tidyAtMs = now + tidyRestMs;
  const nextMs = await tidyRules(documents, config?.rules ?? [], now, unneeded).catch(() => now);
  tidyAtMs = Math.min(tidyAtMs, nextMs);
}
setInterval(() => void tidy(), tidyCheckMs).unref();
const reseal = createResealer({ store: documents, seals: store, state: () => stateFollower.state(), log: logger });
setInterval(() => closing || void reseal(), tidyCheckMs).unref();

async function close(signal: string): Promise<void> {
  // A second signal means now.
  if (closing) process.exit(0);
  closing = true;
  logger.info({ signal }, 'closing');
  setTimeout(() => process.exit(0), closeGraceMs).unref();
  // Connections whose last answer went out after the listener closed would otherwise linger.
  setInterval(() => app.server.closeIdleConnections(), 20).unref();
  await app.close();
  await follower?.close();
  await signOfLife.close();
  await Promise.all([store.close(), stateFollower.kept()]);
  logger.info('closed');
  process.exit(0);
}

for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, (name: string) => void close(name));
await app
  .listen({ host: environment.host, port: environment.port })
  .catch((error: NodeJS.ErrnoException) =>
    refuseStart('control plane', [explainListen(error, environment, 'GATEWAY_ADMIN')]),
  );
logger.info({ address: boundAddress(app.server.address()) }, 'listening');
for (const warning of environment.warnings) logger.warn(warning);
if (environment.insecure && masterKey === undefined) {
  logger.warn('GATEWAY_INSECURE is set and there is no master key: the admin API is open to whoever reaches it');
}
