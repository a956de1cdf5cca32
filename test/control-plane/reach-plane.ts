// A control plane with every managed kind, and operators of different reach: of all, of a user path, of some models.
import { auditRoutes } from '../../control-plane/admin/audit/routes.ts';
import { authKeys } from '../../control-plane/admin/auth-keys/routes.ts';
import { budgetResource, budgetSettingsResource } from '../../control-plane/admin/budgets/resource.ts';
import { cache } from '../../control-plane/admin/cache/routes.ts';
import { entryRoutes } from '../../control-plane/admin/entry-kinds.ts';
import { liveCounters } from '../../control-plane/admin/rate-limits/fleet-counters.ts';
import { rateLimitResource } from '../../control-plane/admin/rate-limits/resource.ts';
import { targetResource } from '../../control-plane/admin/targets/resource.ts';
import { usageRoutes } from '../../control-plane/admin/usage/routes.ts';
import { virtualModelResource } from '../../control-plane/admin/virtual-models/resource.ts';
import { ConfigInForce } from '../../control-plane/config-in-force.ts';
import { managedRoutes } from '../../control-plane/managed/routes.ts';
import { recordOfWrite } from '../../control-plane/records/write-record.ts';
import { createServer } from '../../control-plane/server.ts';
import { managedKeys } from '../../domain/documents/kinds.ts';
import { written } from '../../domain/documents/managed-kind.ts';
import { authKey } from '../../domain/keys/auth-key.ts';
import { credentialsOf } from '../../domain/keys/credentials.ts';
import { digestOf } from '../../domain/keys/secret.ts';
import type { RequestRecord } from '../../domain/records/request-record.ts';
import { defaultConfig } from '../../gitops/read/validate.ts';
import { createFailedLogins } from '../../plane/access/failed-logins.ts';
import { openRecordStore } from '../../store/records/open-records.ts';
import { openStateStore } from '../../store/state/open.ts';
import { sampleConfig } from '../proxy/sample-config.ts';
import { budgetParts, declaredParts } from '../support/budget-parts.ts';
import { sampleKey } from '../support/managed-state.ts';
import { recordObjects } from '../support/record-objects.ts';
import { countedAlone } from '../support/rule-prerequisites.ts';
import { type Teardown, temporaryDirectory } from '../support/teardown.ts';
import { record } from './records-plane.ts';

const nowMs = Date.UTC(2026, 5, 1, 12);
const some = ['openai/ok', 'openai/small', 'chat'];

/** Operators by the name of their key; the secret is the name. */
const operators = [
  sampleKey('whole', { id: 'whole', role: 'admin' }),
  sampleKey('team', { id: 'team', userPath: '/team', role: 'admin' }),
  authKey({ ...sampleKey('some', { id: 'some', role: 'admin' }), allowedModels: some }),
  authKey({ ...sampleKey('openai', { id: 'openai', role: 'admin' }), allowedModels: ['openai/*'] }),
];
/** Keys that are written to. */
const others = [
  sampleKey('paid', { id: 'paid', userPath: '/team/app', labels: ['paid', 'blue'] }),
  sampleKey('other', { id: 'other', userPath: '/other' }),
];

const sample = sampleConfig({
  providers: { openai: { models: ['ok', 'small', 'gpt-4o'] }, local: { models: ['gpt-4o', 'tiny', 'meta/llama/3'] } },
  aliases: [
    { source: 'chat', targets: [{ model: 'openai/ok' }] },
    { source: 'big', targets: [{ model: 'openai/gpt-4o' }] },
    { source: 'openai/alias', targets: [{ model: 'local/gpt-4o' }] },
  ],
});
const declared = {
  ...sample,
  rate_limits: {
    ...sample.rate_limits,
    user_paths: [
      {
        path: '/team',
        per_child: false,
        limits: [{ period: 'minute' as const, max_requests: 5, mode: 'enforce' as const }],
      },
    ],
  },
  guardrails: [
    {
      name: 'declared',
      mode: 'enforce' as const,
      order: 0,
      keywords: { words: ['x'], whole_words: true, replacement: '', action: 'block' as const },
    },
  ],
};
const declaredBudgets = {
  labels: [{ label: 'paid', limits: [{ period: 'daily' as const, amount: 5, mode: 'enforce' as const }] }],
  user_paths: [
    { path: '/team', per_child: false, limits: [{ period: 'daily' as const, amount: 5, mode: 'enforce' as const }] },
  ],
};

/** A secret that the control plane knows. */
export const rootSecret = 'correct horse/battery+staple';

export interface Reached {
  readonly status: number;
  readonly code: string;
  readonly param: string;
  readonly text: string;
}

/** Its `ask` sends a request as one of the operators, or with the master key. */
export async function startReachPlane(t: Teardown) {
  const directory = temporaryDirectory(t, 'gateway-reach');
  const store = openStateStore({ directory, pollMs: 20 });
  const records = openRecordStore({ directory, timeoutMs: 5_000 });
  const objects = recordObjects(records);
  await objects.add([record({ user_path: '/team/app', started_ms: nowMs - 1_000 })]);
  await objects.add([record({ user_path: '/other/secret', started_ms: nowMs - 1_000 })]);
  await store.commit({
    storeId: null,
    expected: new Map(),
    changes: [...operators, ...others].map((key) => written(managedKeys, key.id, key)),
  });
  const config = new ConfigInForce({ hasTemplates: true, usageEnabled: true });
  config.prepare(declared)();
  const audited: RequestRecord[] = [];
  const credentials = credentialsOf(digestOf('master'), [...operators, ...others]);
  const app = createServer({
    logger: { error: (...said: unknown[]) => process.stderr.write(`${JSON.stringify(said)}\n`), info: () => undefined },
    metrics: { contentType: 'text/plain', text: async () => '' },
    access: {
      credentials: () => credentials,
      failedLogins: createFailedLogins(),
      masterKey: 'master',
      secrets: () => [rootSecret],
      nowMs: () => nowMs,
    },
    readiness: () => ({ status: 'ready', reasons: [] }),
    writes: (write) => void audited.push(recordOfWrite(write, { instance: 'i', configRevision: 'c' })),
  });
  const admin = { store, quotas: () => defaultConfig().admin, nowMs: () => nowMs };
  const fleet = { refresh: async () => undefined, proxies: () => [] };
  const ofBudgets = declaredParts(declaredBudgets);
  await app.register(managedRoutes(rateLimitResource), {
    parts: {
      ...admin,
      configRules: () => ({ rules: config.rules, declared: new Map(), places: new Map() }),
      live: async () => liveCounters([], nowMs),
      prerequisites: () => config.prerequisites(),
      limits: countedAlone,
    },
  });
  for (const each of [managedRoutes(budgetResource), managedRoutes(budgetSettingsResource)])
    await app.register(each, { parts: { ...budgetParts(admin), configBudgets: () => ofBudgets } });
  for (const each of entryRoutes) await app.register(each, { parts: { ...admin, config, fleet } });
  await app.register(cache, {
    parts: { ...admin, settings: () => config.declared.cache, known: () => config.known, storeEngine: 'sqlite', fleet },
  });
  await app.register(authKeys, {
    parts: {
      ...admin,
      uses: store.uses,
      known: () => config.known,
      budgets: () => ofBudgets.budgets,
      declared: () => ({ keys: [], places: config.places.keys }),
    },
  });
  await app.register(managedRoutes(virtualModelResource), {
    parts: {
      ...admin,
      configAliases: () => ({ aliases: config.declared.aliases, places: config.places.aliases, models: config.models }),
    },
  });
  await app.register(managedRoutes(targetResource), { parts: { ...admin, config, fleet } });
  const recorded = { records: () => records, nowMs: () => nowMs };
  await app.register(auditRoutes, { parts: recorded });
  await app.register(usageRoutes, { parts: recorded });
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(async () => {
    await app.close();
    await Promise.all([store.close(), records.close()]);
  });
  return {
    /** The records of writes. */
    audited,
    async revision(): Promise<number> {
      return (await store.revision()).revision;
    },
    async ask(by: string, method: string, path: string, body?: object): Promise<Reached> {
      const response = await fetch(`${address}/admin/${path}`, {
        method,
        headers: {
          authorization: `Bearer ${by}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      const said = (response.ok || text === '' ? {} : JSON.parse(text)) as { code?: string; param?: string };
      return { status: response.status, code: said.code ?? '', param: said.param ?? '', text };
    },
  };
}
