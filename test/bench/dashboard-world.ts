// What the dashboard is measured on: a control plane and a proxy whose stores hold many rules, keys, budgets and records.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stringify } from 'yaml';
import type { ManualRule } from '../../domain/rules/manual-rule.ts';
import { openRecordObjects } from '../support/record-objects.ts';
import { type BothPlanes, startBothPlanes } from './both-planes.ts';
import { fillState, manualRule } from './filled-state.ts';
import { type RecordLoad, recordBatches } from './record-load.ts';
import { progress, type Session } from './session.ts';
import { MODELS } from './workload.ts';

export interface WorldSize {
  /** Half of them are declared, half are of operators; these have also overridden every tenth declared one. */
  readonly rules: number;
  /** Of the audit log, over thirty days up to now; each has a usage record. */
  readonly entries: number;
}

const counts = { keys: 200, budgets: 100 };
const batchSize = 500;

/** Everything is in force when this resolves. */
export async function openWorld({ folder, upstream }: Session, size: WorldSize): Promise<BothPlanes> {
  const home = join(folder, 'dashboard');
  const data = join(home, 'data');
  for (const path of [data, join(home, 'config')]) mkdirSync(path, { recursive: true });
  await fillRecords(data, size.entries);
  await fillWithRules(data, size.rules);
  writeFileSync(join(home, 'config', 'many.yaml'), stringify(declared(Math.ceil(size.rules / 2))));
  progress('starting');
  const world = await startBothPlanes(upstream.url, home);
  progress('');
  return world;
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

async function fillWithRules(dataDirectory: string, rules: number): Promise<void> {
  const first = Math.ceil(rules / 2);
  const added = Array.from({ length: rules - first }, (_, index) => first + index);
  const overridden = Array.from({ length: Math.floor(first / 10) }, (_, index) => 10 * index);
  const keys = Array.from({ length: counts.keys }, (_, index) => [`sk-gw-bench-${index}`, pathOf(index)] as const);
  const filling = { rules: [...added, ...overridden].map(ruleOf), keys: new Map(keys) };
  await fillState(dataDirectory, filling);
}

function pathOf(index: number): string {
  return `/team-${String(index % 100).padStart(2, '0')}/app-${String(index).padStart(5, '0')}`;
}

function ruleOf(index: number): ManualRule {
  return manualRule(pathOf(index), {
    maxRequests: 100 + (index % 900),
    mode: index % 7 === 0 ? 'shadow' : 'enforce',
    reason: `ticket ${index}`,
  });
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
