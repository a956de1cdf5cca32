// Tools of the cases of the state store: short ways to write and to compare, and other processes that write.
import type { Test } from 'tap';
import type { CounterRow } from '../../domain/rules/counter-row.ts';
import type { Change, StateStore, StoredState } from '../../store/state/state-store.ts';
import { type RunningProcess, startProcess } from '../support/process.ts';
import { commitAnyhow } from '../support/store-calls.ts';
import type { Engine, StoreUnderTest } from './state-store-engines.ts';

/** One claim about a store, tried on an engine. */
export type Case = (t: Test, engine: Engine) => Promise<void>;

/** How long another process may take for what it is bound to do; the machine may have other work. */
export const patienceMs = 30_000;

export const put = (kind: string, id: string, body: unknown = { id }): Change => ({ kind, id, body });
export const remove = (kind: string, id: string): Change => ({ kind, id, body: undefined });

export async function change(store: StateStore, ...changes: Change[]): Promise<number> {
  const result = await commitAnyhow(store, { expected: new Map(), changes });
  if (result.conflict) throw new Error('nothing was expected, so nothing can conflict');
  return result.revision;
}

export function bodies({ documents }: StoredState): Record<string, unknown> {
  return Object.fromEntries(documents.map(({ kind, id, body }) => [`${kind}/${id}`, body]));
}

export function row(key: string, more: Partial<CounterRow> = {}): CounterRow {
  return { key, epoch: 0, child: '', periodSeconds: 60, requests: [[100, 1]], tokens: [], ...more };
}

export function startWriter(t: Test, place: StoreUnderTest, work: string, times?: number): Promise<RunningProcess> {
  const args = [JSON.stringify({ options: place.options, work, times })];
  return startProcess({ t, entry: 'test/contracts/state-store-writer.ts', args, ready: { line: 'ready' } });
}

/** The number in the writer's last complete line of that name; 0 when there is none. */
export function lastAcked(writer: RunningProcess): number {
  return Number(writer.logs().findLast(({ acked }) => acked !== undefined)?.['acked'] ?? 0);
}

/** The error the promise is rejected with. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}
