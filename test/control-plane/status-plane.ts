// GET /admin/status over a real socket and a real store, for tests that send the heartbeats themselves.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Test } from 'tap';
import { status } from '../../control-plane/admin/status/routes.ts';
import { createDegradation } from '../../control-plane/degradation.ts';
import { createFleet, type Desired } from '../../control-plane/fleet.ts';
import { createMetrics } from '../../control-plane/metrics.ts';
import type { Readiness } from '../../control-plane/readiness.ts';
import { createServer } from '../../control-plane/server.ts';
import { credentialsOf } from '../../domain/keys/credentials.ts';
import { digestOf } from '../../domain/keys/secret.ts';
import type { FollowStatus } from '../../gitops/follow/config-status.ts';
import { createFailedLogins } from '../../plane/access/failed-logins.ts';
import pin from '../../schemas/admin/config-pin.schema.json' with { type: 'json' };
import targets from '../../schemas/admin/targets.schema.json' with { type: 'json' };
import { parseMoment } from '../../schemas/formats/moment.ts';
import { heartbeatPath } from '../../schemas/heartbeat-path.ts';
import { openStateStore } from '../../store/state/open.ts';
import type { StateStatus } from '../../store/state/state-status.ts';
import { sampleHeartbeat, sampleKey } from '../support/managed-state.ts';
import { temporaryDirectory } from '../support/teardown.ts';

export const start = Date.UTC(2026, 5, 1);

const schema = readFileSync(join(import.meta.dirname, '../../schemas/admin/status.schema.json'), 'utf8');
const isMoment = (text: string): boolean => parseMoment(text) !== undefined && text.endsWith('Z');
const ajv = new Ajv2020({
  strict: true,
  strictTypes: false,
  strictRequired: false,
  formats: { 'date-time': isMoment },
});
ajv.addSchema(targets, 'targets.schema.json');
ajv.addSchema(pin, 'config-pin.schema.json');
const validate = ajv.compile(JSON.parse(schema));

export interface Shown {
  readonly converged: boolean;
  readonly lag_seconds: number;
  readonly proxies: readonly { readonly instance: string; readonly [name: string]: unknown }[];
  readonly [name: string]: unknown;
}

/** What a healthy proxy says. */
export const healthy = sampleHeartbeat({
  started_at_ms: start - 60_000,
  config_revision: 'c1',
  state_revision: 4,
  environment: 'e1',
});

export async function startStatus(t: Test) {
  const store = openStateStore({ directory: temporaryDirectory(t) });
  const at = { nowMs: start };
  const facts = {
    desired: { configRevision: 'c1', stateRevision: 4, environment: 'e1' } as Desired,
    config: undefined as FollowStatus | undefined,
    keyMark: undefined as string | undefined,
    secretProblems: [] as string[],
    readiness: { status: 'ready', reasons: [] } as Readiness,
    state: {
      trouble: undefined,
      storeId: 's1',
      revision: 4,
      source: 'store',
      isUp: true,
      standing: 'held',
      evicts: undefined,
      writeBacks: 0,
      skipped: { unreadable: 0, unsealed: 0 },
    } as StateStatus,
  };
  const nowMs = () => at.nowMs;
  const fleet = createFleet(store, () => facts.desired, nowMs);
  const operator = sampleKey('key-admin', { role: 'admin' });
  const credentials = credentialsOf(digestOf('master'), [operator]);
  const logged: unknown[] = [];
  const failedLogins = createFailedLogins();
  const app = createServer({
    logger: { error: (...said: unknown[]) => void logged.push(said), info: () => undefined },
    metrics: createMetrics({
      budgets: { standings: () => [] },
      revisions: () => ({ kept: 0, lost: 0 }),
      records: () => ({ storedRecords: 0, lostRecords: 0, trouble: undefined }),
      room: () => undefined,
      areRecordsBegunAnew: false,
      diskRoom: () => 1,
      version: '1',
      rollout: () => undefined,
      config: () => undefined,
      pin: () => undefined,
      state: () => facts.state,
      secretProblems: () => [],
      handshakes: () => undefined,
      fleet,
      failedLogins,
      output: { droppedEvents: 0 },
    }),
    access: { credentials: () => credentials, failedLogins, masterKey: 'master', nowMs },
    readiness: () => ({ status: 'ready', reasons: [] }),
  });
  await app.register(status, {
    parts: {
      fleet,
      degradation: createDegradation({ fleet, readiness: () => facts.readiness, desired: () => facts.desired, nowMs }),
      desired: () => facts.desired,
      config: () => facts.config,
      state: () => facts.state,
      documents: () => [],
      engine: 'sqlite',
      room: () => undefined,
      keyMark: () => facts.keyMark,
      secretProblems: () => facts.secretProblems,
      tokenKeys: { states: () => [] },
      nowMs,
    },
  });
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  let isClosed = false;
  const closeStore = async () => {
    if (!isClosed) await store.close();
    isClosed = true;
  };
  t.teardown(async () => {
    await app.close();
    await closeStore();
  });

  /** A proxy says itself what the store did not take. */
  const tell = (body: unknown, authorization = 'Bearer master'): Promise<Response> =>
    fetch(`${address}${heartbeatPath}`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  return {
    at,
    facts,
    tell,
    logged,
    closeStore,
    /** A heartbeat, sent now or at the time of another clock. */
    beat: (instance: string, body: unknown = healthy, atMs = at.nowMs) =>
      store.writeHeartbeat({ instance, atMs, body }),
    forget: (instance: string) => store.removeHeartbeat(instance),
    async look(): Promise<Shown> {
      const response = await fetch(`${address}/admin/status`, { headers: { authorization: 'Bearer master' } });
      const shown: unknown = await response.json();
      t.equal(response.status, 200, JSON.stringify(shown));
      t.ok(validate(shown), ajv.errorsText(validate.errors));
      return shown as Shown;
    },
    async convergence(query: string): Promise<unknown> {
      const headers = { authorization: 'Bearer master' };
      return (await fetch(`${address}/admin/convergence${query}`, { headers })).json();
    },
    async metric(name: string): Promise<number> {
      const text = await (await fetch(`${address}/metrics`)).text();
      return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
    },
  };
}
