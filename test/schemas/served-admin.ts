// Everything that the control plane can serve, on a real socket, and what it registered.
import type { Test } from 'tap';
import { auditRoutes } from '../../control-plane/admin/audit/routes.ts';
import { authKeys } from '../../control-plane/admin/auth-keys/routes.ts';
import { budgetResource, budgetSettingsResource } from '../../control-plane/admin/budgets/resource.ts';
import { cache } from '../../control-plane/admin/cache/routes.ts';
import { configRoutes } from '../../control-plane/admin/config/routes.ts';
import { configPinResource } from '../../control-plane/admin/config-pin/resource.ts';
import { configRolloutRoutes } from '../../control-plane/admin/config-rollout/routes.ts';
import { driftRoutes } from '../../control-plane/admin/drift/routes.ts';
import { entryRoutes } from '../../control-plane/admin/entry-kinds.ts';
import { explainRoutes } from '../../control-plane/admin/explain/routes.ts';
import { liveRoutes } from '../../control-plane/admin/live/routes.ts';
import { mirrorRoutes } from '../../control-plane/admin/mirrors/routes.ts';
import { nameRoutes } from '../../control-plane/admin/names/routes.ts';
import { openapi } from '../../control-plane/admin/openapi/routes.ts';
import { liveCounters } from '../../control-plane/admin/rate-limits/fleet-counters.ts';
import { rateLimitResource } from '../../control-plane/admin/rate-limits/resource.ts';
import { sessionRoutes } from '../../control-plane/admin/session/routes.ts';
import { createProviders } from '../../control-plane/admin/sign-in/providers.ts';
import { signInRoutes } from '../../control-plane/admin/sign-in/routes.ts';
import { status as statusRoute } from '../../control-plane/admin/status/routes.ts';
import { targetResource } from '../../control-plane/admin/targets/resource.ts';
import { trafficRoutes } from '../../control-plane/admin/traffic/routes.ts';
import { usageRoutes } from '../../control-plane/admin/usage/routes.ts';
import { virtualModelResource } from '../../control-plane/admin/virtual-models/resource.ts';
import { ConfigInForce } from '../../control-plane/config-in-force.ts';
import { createFleet } from '../../control-plane/fleet.ts';
import { managedRoutes } from '../../control-plane/managed/routes.ts';
import { RolloutKeeper } from '../../control-plane/rollout/keep-rollout.ts';
import { createServer } from '../../control-plane/server.ts';
import type { AuthKey } from '../../domain/keys/auth-key.ts';
import { credentialsOf } from '../../domain/keys/credentials.ts';
import { digestOf } from '../../domain/keys/secret.ts';
import { nothingKnown } from '../../domain/rules/known-models.ts';
import { defaultConfig } from '../../gitops/read/validate.ts';
import { createFailedLogins } from '../../plane/access/failed-logins.ts';
import type { OpenRecordStore } from '../../store/records/sql/operations.ts';
import { openStateStore } from '../../store/state/open.ts';
import { budgetParts } from '../support/budget-parts.ts';
import { countedAlone, rulePrerequisites } from '../support/rule-prerequisites.ts';
import { temporaryDirectory } from '../support/teardown.ts';

export const masterKey = 'sk-test-master-key-0123456789';

export interface AdminOptions {
  /** Besides the master key. */
  readonly keys?: readonly AuthKey[];
  readonly records?: OpenRecordStore;
}

const noRevisions = {
  revisions: async () => [],
  revisionFiles: async () => undefined,
  packedFiles: async () => [],
};

/** `routes`: what it registered, such as `GET /admin/status`. */
export async function startAdmin(t: Test, { keys = [], records }: AdminOptions = {}) {
  const store = openStateStore({ directory: temporaryDirectory(t) });
  const nowMs = () => Date.now();
  const desired = () => ({ configRevision: 'c', stateRevision: 0, environment: 'e' });
  const fleet = createFleet(store, desired, nowMs);
  const credentials = credentialsOf(digestOf(masterKey), keys);
  const access = { credentials: () => credentials, failedLogins: createFailedLogins(), masterKey, nowMs };
  const app = createServer({
    logger: { error: () => undefined, info: () => undefined },
    metrics: { contentType: 'text/plain', text: async () => '' },
    access,
    readiness: () => ({ status: 'ready', reasons: [] }),
  });
  const routes: { name: string; access: unknown }[] = [];
  app.addHook('onRoute', ({ method, url, config }) => {
    for (const each of [method].flat()) {
      if (each !== 'HEAD') routes.push({ name: `${each} ${url}`, access: config?.access ?? 'operator' });
    }
  });
  const live = async () => liveCounters([], nowMs());
  const quotas = () => defaultConfig().admin;
  const configRules = () => ({ rules: [], declared: new Map(), places: new Map() });
  const rules = {
    store,
    quotas,
    configRules,
    live,
    prerequisites: () => rulePrerequisites(),
    limits: countedAlone,
    nowMs,
  };
  await app.register(managedRoutes(rateLimitResource), { parts: rules });
  const empty = new ConfigInForce({ hasTemplates: true, usageEnabled: true });
  const aliases = { store, nowMs, configAliases: () => ({ aliases: [], places: new Map(), models: empty.models }) };
  await app.register(managedRoutes(virtualModelResource), { parts: aliases });
  const ofBudgets = budgetParts({ store, quotas, nowMs });
  const settings = { configDirectory: temporaryDirectory(t), entitlements: new Set<string>(), variables: {} };
  const differences = { settings, ownFolder: '.', status: () => undefined, nowMs };
  const revisions = {
    store: records ?? noRevisions,
    status: () => ({ kept: 0, lost: 0 }),
    verdicts: () => [],
    filesOf: async () => undefined,
  };
  await app.register(configRoutes, {
    parts: {
      rules,
      budgets: ofBudgets,
      aliases,
      inForce: () => empty,
      status: () => undefined,
      fleet,
      differences,
      revisions,
      secrets: () => [],
    },
  });
  const keysOfConfig = () => ({ keys: [], places: new Map<string, string>() });
  await app.register(driftRoutes, {
    parts: {
      rules,
      budgets: ofBudgets,
      aliases,
      config: empty,
      keys: keysOfConfig,
      differences,
      secrets: () => [],
      fleet,
      desired,
      status: () => undefined,
      nowMs,
    },
  });
  await app.register(nameRoutes, { parts: { rules, aliases, budgets: ofBudgets, records: () => records } });
  for (const each of [managedRoutes(budgetResource), managedRoutes(budgetSettingsResource)])
    await app.register(each, { parts: ofBudgets });
  for (const each of entryRoutes) await app.register(each, { parts: { store, config: empty, fleet, nowMs } });
  await app.register(cache, {
    parts: {
      store,
      settings: () => empty.declared.cache,
      known: () => nothingKnown,
      storeEngine: 'sqlite',
      fleet,
      nowMs,
    },
  });
  await app.register(authKeys, {
    parts: {
      store,
      uses: store.uses,
      quotas,
      known: () => nothingKnown,
      budgets: () => [],
      declared: keysOfConfig,
      nowMs,
    },
  });
  const skipped = { unreadable: 0, unsealed: 0 };
  const known = { storeId: undefined, revision: 0, evicts: undefined, writeBacks: 0, skipped };
  const state = { ...known, source: 'store', isUp: true, standing: 'new' } as const;
  const degradation = { look: () => [] };
  const [engine, config, keyMark, secretProblems] = ['sqlite' as const, () => undefined, () => 'mark', () => []];
  const room = () => undefined;
  const sources = { fleet, degradation, desired, config, state: () => state, documents: () => [] };
  const tokenKeys = { states: () => [] };
  await app.register(statusRoute, { parts: { ...sources, engine, room, keyMark, secretProblems, tokenKeys, nowMs } });
  const rollout = () => undefined;
  const filesOf = async () => undefined;
  const quiet = { info: () => undefined, warn: () => undefined };
  const rolloutParts = {
    store,
    fleet,
    documents: () => [],
    status: () => undefined,
    rollout,
    filesOf,
    secrets: () => [],
    nowMs,
    log: quiet,
  };
  await app.register(configRolloutRoutes, { parts: { keeper: new RolloutKeeper(rolloutParts), fleet } });
  await app.register(managedRoutes(targetResource), { parts: { store, config: empty, fleet, nowMs } });
  const around = { documents: async () => [], rules: () => [], budgetsAt: () => [] };
  const pinnable = {
    previous: async () => undefined,
    filesOf: async () => [{ name: 'a.yaml', path: 'a.yaml', bytes: Buffer.from('{}') }],
    secrets: () => [],
  };
  await app.register(managedRoutes(configPinResource(pinnable)), { parts: { store, fleet, status: config, nowMs } });
  const recorded = { records: () => records, report: () => undefined, access, nowMs };
  await app.register(auditRoutes, { parts: recorded });
  await app.register(usageRoutes, { parts: recorded });
  await app.register(mirrorRoutes, { parts: recorded });
  await app.register(trafficRoutes, { parts: { ...recorded, sample: () => 1, around } });
  await app.register(liveRoutes, { parts: recorded });
  const log = { info: () => undefined, warn: () => undefined };
  const signOutUrl = async () => undefined;
  await app.register(sessionRoutes, { parts: { access, store, signOutUrl, version: '1', log } });
  const providers = createProviders(nowMs);
  await app.register(signInRoutes, { parts: { access, signIns: () => new Map(), providers, log } });
  await app.register(explainRoutes);
  await app.register(openapi);
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(async () => {
    await app.close();
    await store.close();
  });
  return { app, store, routes, address };
}
