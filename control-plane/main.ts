// The process of the control plane: environment → parts → state → config → listen → close. The only file that connects the parts.
import { join } from 'node:path';
import { targetDrains } from '../domain/documents/kinds.ts';
import type { FollowStatus } from '../gitops/follow/config-status.ts';
import type { Follower } from '../gitops/follow/follow.ts';
import { formatProblem } from '../gitops/read/problem.ts';
import manifest from '../package.json' with { type: 'json' };
import { authorityClock } from '../plane/access/authority-clock.ts';
import { createFailedLogins } from '../plane/access/failed-logins.ts';
import { keepKeyUses } from '../plane/access/keep-key-uses.ts';
import { KeyUses } from '../plane/access/key-uses.ts';
import { boundAddress } from '../plane/bound-address.ts';
import { ConfigPins } from '../plane/config-pins.ts';
import { environmentFingerprint } from '../plane/environment-fingerprint.ts';
import { createExpiryLines } from '../plane/expired-rules.ts';
import { followSecrets } from '../plane/follow-secrets.ts';
import { TokenKeys } from '../plane/identities/token-keys.ts';
import { asInstance, controlPlaneFolder, identityOf } from '../plane/identity.ts';
import { keepTickShape } from '../plane/keep-tick-shape.ts';
import { keepText } from '../plane/kept-text.ts';
import { createKeyPathWarnings } from '../plane/key-path-warnings.ts';
import { logSettings, openLog } from '../plane/log.ts';
import { logStateEvent } from '../plane/log-events.ts';
import { putInForce } from '../plane/put-in-force.ts';
import { reconnectInTurn } from '../plane/reconnect-in-turn.ts';
import { reloadOnHangUp, stopOnSignals } from '../plane/signals.ts';
import { followConfigOrExit, lastRevision, listenOrExit, settingsOrExit } from '../plane/start.ts';
import { SecureListener } from '../plane/tls/secure-listener.ts';
import { endOnUncaught } from '../plane/uncaught.ts';
import { diskRoom, noRoom } from '../store/disk-room.ts';
import { ownDirectory } from '../store/own-files.ts';
import { followState } from '../store/state/follow-state.ts';
import { openPlaneStore } from '../store/state/open.ts';
import type { StateStatus } from '../store/state/state-status.ts';
import type { Document } from '../store/state/state-store.ts';
import { accessInForce } from './access-in-force.ts';
import { authKeys } from './admin/auth-keys/routes.ts';
import { budgetResource, budgetSettingsResource } from './admin/budgets/resource.ts';
import { cache as cacheRoutes } from './admin/cache/routes.ts';
import { allConfigRoutes } from './admin/config/all/routes.ts';
import { entryRoutes } from './admin/entry-kinds.ts';
import { explainRoutes } from './admin/explain/routes.ts';
import { nameRoutes } from './admin/names/routes.ts';
import { openapi } from './admin/openapi/routes.ts';
import { createEndingRules } from './admin/rate-limits/ending-rules.ts';
import { removeExpired } from './admin/rate-limits/expiry.ts';
import { readLiveCounters } from './admin/rate-limits/fleet-counters.ts';
import { mergedRules } from './admin/rate-limits/merged-rules.ts';
import { rateLimitResource } from './admin/rate-limits/resource.ts';
import { createRuleWarnings } from './admin/rate-limits/warnings.ts';
import { recordRoutes } from './admin/records/routes.ts';
import type { SignIns } from './admin/sign-in/settings.ts';
import { signInsOf } from './admin/sign-in/sign-ins.ts';
import { status } from './admin/status/routes.ts';
import { targetResource } from './admin/targets/resource.ts';
import { virtualModelResource } from './admin/virtual-models/resource.ts';
import { secretsOf } from './authenticate.ts';
import { ConfigInForce } from './config-in-force.ts';
import { dashboard } from './dashboard/routes.ts';
import { createDegradation, isStoreDown, rejectingProxies } from './degradation.ts';
import { DocumentsInForce } from './documents-in-force.ts';
import { closeGraceMs, drain } from './drain.ts';
import { readEnvironment } from './environment.ts';
import { createFailedLoginLines } from './failed-login-lines.ts';
import { createFleet, type Desired } from './fleet.ts';
import { watchFleet } from './fleet-watch.ts';
import { knownSecrets } from './known-secrets.ts';
import { keepDeclaredDates } from './managed/declared-dates.ts';
import { readStored } from './managed/read-stored.ts';
import { managedRoutes } from './managed/routes.ts';
import { changedKinds, storedKind } from './managed/stored-kind.ts';
import { createMetrics } from './metrics.ts';
import { openBudgets } from './open-budgets.ts';
import { configParts, documentParts } from './parts-in-force.ts';
import { type Readiness, readinessOf } from './readiness.ts';
import { keepRecords } from './records/keep-records.ts';
import { warnOfNewFile } from './records/new-file.ts';
import { createReloadRecords } from './records/reload-record.ts';
import { openRevisions } from './revisions/open-revisions.ts';
import { openRollout } from './rollout/open-rollout.ts';
import { createServer } from './server.ts';
import { guardDocuments } from './store/documents.ts';
import { resealOutdated } from './store/reseal.ts';
import { createSignOfLife } from './store/sign-of-life.ts';
import { createTwinWarnings } from './twin-keys.ts';

const anyPlane = identityOf('control-plane', manifest.version);
const environment = settingsOrExit(anyPlane, readEnvironment());
const { dataDirectory, entitlements, host, port, usageEnabled } = environment;
const identity = asInstance(anyPlane, `${anyPlane.instance}:${port}`);
const { log, output } = openLog(identity, environment.logLevel);
keepTickShape();
endOnUncaught(log, () => records.close());
const nowMs = (): number => Date.now();
const authorityMs = authorityClock(nowMs, () => performance.timeOrigin + performance.now());
const ownFolder = join(dataDirectory, controlPlaneFolder);
ownDirectory(dataDirectory);
ownDirectory(ownFolder);
const fingerprint = environmentFingerprint(environment.variables);
const store = openPlaneStore(environment, {
  adoptsUnsigned: environment.adoptsUnsigned,
  isInUse: (mark) => fleet.workingWith(mark).length > 0,
});
const config = new ConfigInForce({ hasTemplates: entitlements.has('quota_templates'), usageEnabled });
const managed = new DocumentsInForce(environment.masterKey);
const warnOfRules = createRuleWarnings(log);
const warnOfKeyPaths = createKeyPathWarnings(environment.variables, log);
const budgets = await openBudgets({
  config,
  managed,
  records: () => records.store,
  store,
  ownFolder,
  nowMs,
  authorityMs,
  log,
});
let follower: Follower | undefined;
const configStatus = (): FollowStatus | undefined => follower?.status();
const recordSettings = { ...environment, instance: identity.instance };
const { ask: stored, countedSinceMs } = budgets;
const records = keepRecords(recordSettings, { config, configStatus, nowMs, log, countedSinceMs, stored });
const warnUnenforced = (): void => {
  if (!config.isLoaded) return;
  const prerequisites = config.prerequisites();
  const { documents: inForce } = managed;
  warnOfRules(mergedRules({ documents: inForce, config: config.rules, prerequisites, nowMs: nowMs() }), prerequisites);
};
const state = (): StateStatus => stateFollower.status();
const desired = (): Desired => ({
  configRevision: configStatus()?.revision ?? '',
  tried: rollout.tried(),
  stateRevision: state().revision,
  environment: fingerprint,
});
const keyUses = new KeyUses();
const tokenKeys = await TokenKeys.open({ folder: ownFolder, nowMs: authorityMs, log });
const fleet = createFleet(store, desired, nowMs);
const secure = new SecureListener({ log, nowMs });
const parts = { config, managed, tokenKeys, budgets, secure, warnUnenforced, nowMs };
const warnOfTwinKeys = createTwinWarnings(log);
const keptToDocuments = documentParts(parts, (documents) => {
  warnOfKeyPaths(documents);
  warnOfTwinKeys(managed);
});
const pins = new ConfigPins({ nowMs: authorityMs, log, follower: () => follower });
const rollout = openRollout({ environment, config, managed, ownFolder, follower: () => follower, nowMs, log });
const stateFollower = await followState({
  store,
  copyPath: join(ownFolder, 'last-good-state.json'),
  owner: { nowMs, witnesses: () => fleet.witnesses() },
  apply({ documents }, { source }) {
    const changed = changedKinds(managed.documents, documents);
    putInForce(keptToDocuments, { documents, changed, isComplete: source !== 'nothing' });
    pins.documents(documents);
    rollout.documents(documents);
  },
  report(event) {
    logStateEvent(log, event);
    // With the documents went the uses of keys.
    if (event.kind === 'reseeded') keyUses.writeAgain();
  },
});
const hasRedis = environment.redisUrl !== undefined;
const areRecordsBegunAnew = warnOfNewFile(
  { isNewFile: records.isNewFile, hasRedis, wasUsed: state().revision > 0 },
  log,
);
const declaredDates = await keepDeclaredDates(join(ownFolder, 'declared-rules.json'), (problem) => log.warn(problem));
const keptToConfig = configParts(parts, declaredDates);
const reloads = createReloadRecords(await lastRevision({ settings: environment, ownFolder }), {
  isAudited: () => config.isAudited,
  append: records.append,
  instance: identity.instance,
  nowMs,
});
const revisions = openRevisions({ store: records.store, settings: recordSettings, config, managed, fleet, nowMs, log });
follower = await followConfigOrExit(identity, {
  settings: environment,
  hear: (event) => void [reloads, revisions].map((each) => each.note(event)),
  variables: 'keep',
  given: async (asked) => (await pins.given()) ?? rollout.given(asked),
  ownFolder,
  nowMs,
  log,
  apply(declared) {
    putInForce(keptToConfig, declared);
    warnOfTwinKeys(managed);
  },
});
const signOfLife = createSignOfLife(store, `${host}:${port}`, nowMs, log);
const documents = guardDocuments(store, stateFollower);
const keeper = rollout.keep({ store: documents, fleet });
const secretProblems = (): readonly string[] => {
  const { problem } = configStatus()?.certificate ?? {};
  return problem === undefined ? secrets.problems() : [...secrets.problems(), formatProblem(problem)];
};
const failedLogins = createFailedLogins();
const failedLoginLines = createFailedLoginLines(log);
setInterval(() => failedLoginLines.tell(nowMs()), 1_000).unref();
const metrics = createMetrics({
  version: manifest.version,
  config: configStatus,
  pin: () => pins.standing(),
  rollout: () => keeper.reading(),
  state,
  secretProblems,
  handshakes: () => secure.counts(),
  fleet,
  failedLogins,
  records: records.status,
  revisions: () => revisions.status(),
  room: records.room,
  areRecordsBegunAnew,
  diskRoom: () => diskRoom(dataDirectory).freeBytes,
  output,
  budgets: budgets.watch,
});
const { ownNames } = environment;
const access = accessInForce({
  managed,
  state,
  failedLogins,
  failedLoginLines,
  ownNames,
  nowMs: authorityMs,
  keyUses,
  tokenKeys,
  secrets: () => knownSecrets({ environment, managed, config: config.declared }),
  people: () => config.people,
  trustedProxies: () => config.trustedProxies,
});
const readiness = (): Readiness =>
  readinessOf({
    config: configStatus(),
    pin: pins.standing(),
    state: state(),
    writeTrouble: signOfLife.trouble(),
    secretProblems: secretProblems(),
    recordTrouble: records.status().trouble,
    diskTrouble: noRoom(dataDirectory),
    rejectingProxies: rejectingProxies(fleet.proxies()),
    areRecordsBegunAnew,
  });
const degradation = createDegradation({ fleet, readiness, desired, nowMs });
const app = createServer({
  logger: log,
  metrics: keepText(metrics, environment.metricsMaxAgeMs, nowMs),
  access,
  readiness,
  writes: records.write,
});
secure.attach(app.server);
const admin = { store: documents, quotas: () => config.declared.admin, nowMs };
const engine = hasRedis ? 'redis' : 'sqlite';
const rateLimitParts = {
  ...admin,
  configRules: () => ({ rules: config.rules, declared: declaredDates.current(), places: config.places.rules }),
  live: () => readLiveCounters(fleet, nowMs),
  staleSinceMs: () => degradation.look().find(isStoreDown)?.sinceMs,
  prerequisites: () => config.prerequisites(),
  limits: {
    look: (keys: readonly string[]) => store.limits.look(keys),
    scope: () => config.declared.rate_limits.scope ?? (engine === 'redis' ? 'fleet' : 'replica'),
    onStoreLoss: () => config.declared.rate_limits.on_store_loss,
  },
} as const;
await app.register(managedRoutes(rateLimitResource), { parts: rateLimitParts });
const budgetParts = budgets.serve(admin);
for (const each of [managedRoutes(budgetResource), managedRoutes(budgetSettingsResource)])
  await app.register(each, { parts: budgetParts });
for (const each of entryRoutes) await app.register(each, { parts: { ...admin, config, fleet } });
await app.register(cacheRoutes, {
  parts: {
    ...admin,
    settings: () => config.declared.cache,
    known: () => config.known,
    storeEngine: engine,
    fleet,
  },
});
const declaredKeys = () => ({ keys: managed.configKeys, places: config.places.keys });
await app.register(authKeys, {
  parts: {
    ...admin,
    uses: store.uses,
    known: () => config.known,
    budgets: () => config.budgets,
    declared: declaredKeys,
  },
});
const virtualModelParts = {
  ...admin,
  configAliases: () => ({ aliases: config.declared.aliases, places: config.places.aliases, models: config.models }),
};
await app.register(managedRoutes(virtualModelResource), { parts: virtualModelParts });
await app.register(allConfigRoutes, {
  parts: {
    ...admin,
    rules: rateLimitParts,
    budgets: budgetParts,
    aliases: virtualModelParts,
    config,
    keys: declaredKeys,
    fleet,
    desired,
    status: configStatus,
    differences: { settings: environment, ownFolder, status: configStatus, nowMs },
    revisions,
    secrets: () => secretsOf(access),
    records: records.store,
    keeper,
  },
});
await app.register(nameRoutes, {
  parts: { rules: rateLimitParts, aliases: virtualModelParts, budgets: budgetParts, records: () => records.store },
});
const statusSources = { fleet, degradation, desired, config: configStatus, state, keyMark: () => store.keyMark() };
const documentsInForce = (): readonly Document[] => managed.documents;
await app.register(status, {
  parts: {
    ...statusSources,
    documents: documentsInForce,
    engine,
    room: records.room,
    secretProblems,
    tokenKeys,
    nowMs,
  },
});
await app.register(managedRoutes(targetResource), { parts: { ...admin, config, fleet } });
await app.register(recordRoutes, {
  parts: {
    store: records.store,
    access,
    nowMs,
    log,
    sample: () => config.declared.audit.sample,
    around: {
      documents: () => readStored(documents).then((known) => known.state.documents),
      rules: () => config.rules,
      budgetsAt: budgets.askedAt,
    },
  },
});
const signIns = (): SignIns => signInsOf(config.declared.identities, environment.variables);
await app.register(dashboard, { parts: { access, store: documents, signIns, version: manifest.version, log } });
for (const routes of [explainRoutes, openapi]) await app.register(routes);
reloadOnHangUp(() => follower?.reload());
const tellExpired = createExpiryLines(log);
const endingRules = createEndingRules();
const expiry = removeExpired({
  store: documents,
  ending: () => endingRules(managed.documents),
  config: () => config.rules,
  nowMs,
  tell(manual, now) {
    const drains = storedKind(targetDrains, managed).values();
    tellExpired({ manual, config: config.rules, prerequisites: config.prerequisites(), drains }, now);
  },
});
const keptKeyUses = keepKeyUses(keyUses, store.uses);
const resealer = resealOutdated({ store: documents, seals: store, state: () => stateFollower.state(), log });
const secrets = followSecrets({
  settings: environment,
  reconnect: reconnectInTurn(store, records),
  log,
  renewKeys(keys) {
    store.renewKeys(keys);
    managed.renewMasterKey(keys.masterKey);
    void stateFollower.recheckSeals().then(() => resealer.renewed());
  },
});
const fleetWatch = await watchFleet({ fleet, degradation, signOfLife, stateFollower, log });
stopOnSignals({
  log,
  messages: ['closing', 'closed'],
  atSecond: 'exit',
  mostMs: closeGraceMs,
  drain() {
    for (const each of [fleetWatch, keeper, budgets, expiry, resealer, secrets]) each?.close();
    secure.drain();
    return drain(app);
  },
  async close() {
    await follower?.close();
    await revisions.close();
    await signOfLife.close();
    await Promise.all([keptKeyUses.close(), records.close()]);
    stateFollower.end();
    await Promise.all([store.close(), stateFollower.kept()]);
  },
});
const scheme = secure.begin();
await listenOrExit(identity, { host, port, prefix: 'GATEWAY_ADMIN' }, app.listen({ host, port }));
log.info({ address: boundAddress(app.server.address(), scheme) }, 'listening');
logSettings(log, environment, 'the admin API is open to everyone who can reach it');
