// What the dashboard is measured on: a control plane and a proxy whose stores hold many rules, keys, budgets and records.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { managedKeys, manualRules } from '../../domain/documents/kinds.ts';
import { written } from '../../domain/documents/managed-kind.ts';
import type { ManualRule } from '../../domain/rules/manual-rule.ts';
import { ruleKey } from '../../domain/rules/rule.ts';
import { timestamp } from '../../domain/timestamp.ts';
import { openPlaneStore } from '../../store/state/open.ts';
import { sampleKey } from '../support/managed-state.ts';
import { openRecordObjects } from '../support/record-objects.ts';
import { waitFor } from '../support/wait-for.ts';
import { MASTER_KEY, type Running, start, startGateway } from './processes.ts';
import { type RecordLoad, recordBatches } from './record-load.ts';
import { progress, type Session } from './session.ts';
import { MODELS } from './workload.ts';

export interface WorldSize {
  /** Half of them are declared, half are of operators; these have also overridden every tenth declared one. */
  readonly rules: number;
  /** Of the audit log, over thirty days up to now; each has a usage record. */
  readonly entries: number;
}

export interface World {
  readonly controlPlane: Running;
  readonly proxy: Running;
}

const counts = { keys: 200, budgets: 100 };
const batchSize = 500;
const startDeadlineMs = 120_000;

/** Everything is in force when this resolves. */
export async function openWorld({ folder, upstream }: Session, size: WorldSize): Promise<World> {
  const home = join(folder, 'dashboard');
  const data = join(home, 'data');
  for (const path of [data, join(home, 'config')]) mkdirSync(path, { recursive: true });
  await fillRecords(data, size.entries);
  await fillState(data, size.rules);
  writeFileSync(join(home, 'config', 'many.yaml'), stringify(declared(Math.ceil(size.rules / 2))));
  progress('starting');
  const controlPlane = await start({
    name: 'control plane',
    entry: 'control-plane/main.ts',
    env: {
      GATEWAY_ADMIN_PORT: '0',
      GATEWAY_CONFIG: join(home, 'config'),
      GATEWAY_DATA: data,
      GATEWAY_MASTER_KEY: MASTER_KEY,
      // As the proxy has it: both must agree.
      USAGE_ENABLED: 'true',
    },
  });
  const proxy = await startGateway(upstream.url, home, { env: { GATEWAY_CONTROL_PLANE_URL: controlPlane.url } });
  await waitFor('the proxy to have everything in force', () => isConverged(controlPlane), startDeadlineMs);
  progress('');
  return { controlPlane, proxy };
}

async function isConverged({ url }: Running): Promise<boolean> {
  const response = await fetch(`${url}/admin/status`, { headers: { authorization: `Bearer ${MASTER_KEY}` } });
  return ((await response.json()) as { readonly converged: boolean }).converged;
}

async function fillRecords(directory: string, entries: number): Promise<void> {
  const load: RecordLoad = { entries, threads: Math.ceil(entries / 5), days: 30, endMs: Date.now() };
  const store = openRecordObjects({ directory, timeoutMs: 60_000 });
  let kept = 0;
  for (const batch of recordBatches(load, batchSize)) {
    kept += await store.add(batch);
    if (kept % 50_000 < batchSize) progress(`${kept} records kept`);
  }
  await store.close();
}

/** As if operators had made them: too many to be put one by one. */
async function fillState(dataDirectory: string, rules: number): Promise<void> {
  const store = openPlaneStore({
    dataDirectory,
    redisUrl: undefined,
    redisPrefix: '',
    masterKey: MASTER_KEY,
    previousMasterKey: undefined,
  });
  const nowMs = Date.now();
  const first = Math.ceil(rules / 2);
  const added = Array.from({ length: rules - first }, (_, index) => first + index);
  const overridden = Array.from({ length: Math.floor(first / 10) }, (_, index) => 10 * index);
  const documents = [
    ...[...added, ...overridden].map((index) => {
      const rule = manualRule(index, nowMs);
      return written(manualRules, rule.key, rule);
    }),
    ...Array.from({ length: counts.keys }, (_, index) => {
      const key = sampleKey(`sk-gw-bench-${index}`, {
        name: `key ${index}`,
        userPath: pathOf(index),
        createdAtMs: nowMs,
      });
      return written(managedKeys, key.id, key);
    }),
  ];
  const changes = documents.map(({ kind, id, body }) => ({ kind, id, body }));
  const { conflict } = await store.commit({ storeId: null, expected: new Map(), changes });
  if (conflict) throw new Error('the state store is not new');
  await store.close();
}

function pathOf(index: number): string {
  return `/team-${String(index % 100).padStart(2, '0')}/app-${String(index).padStart(5, '0')}`;
}

function manualRule(index: number, nowMs: number): ManualRule {
  const subject = pathOf(index);
  const at = timestamp(nowMs);
  return {
    key: ruleKey('user_path', subject, 60),
    scope: 'user_path',
    subject,
    matchSubject: subject,
    perChild: false,
    periodSeconds: 60,
    maxRequests: 100 + (index % 900),
    mode: index % 7 === 0 ? 'shadow' : 'enforce',
    reason: `ticket ${index}`,
    createdAt: at,
    updatedAt: at,
    updatedBy: 'master_key',
  };
}

function declared(rules: number): object {
  const limits = { rate_limits: { user_paths: Array.from({ length: rules }, (_, index) => declaredRule(index)) } };
  const budgets = Array.from({ length: counts.budgets }, (_, index) => ({
    path: `/team-${index % 12}/app-${index % 5}/user-${index}`,
    limits: [{ period: 'monthly', amount: 100 + index }],
  }));
  const guardrails = [{ name: 'mask-personal-data', pii: { action: 'mask' }, user_paths: ['/team-1'] }];
  const kept = { retention: '90d' };
  const cache = { enabled: true };
  return { ...limits, budgets: { user_paths: budgets }, guardrails, cache, audit: kept, usage: kept };
}

function declaredRule(index: number): object {
  return { path: pathOf(index), limits: [{ period: 'minute', max_requests: 10 + index, max_tokens: 100_000 }] };
}

/** A question that the page of explanations answers. */
export const explained = `/explain?user_path=${pathOf(1)}&model=bench/${MODELS[0]}`;
