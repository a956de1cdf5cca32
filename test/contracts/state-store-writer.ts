// Another process at the same state store: commits as fast as it can and prints what was acknowledged, or runs one command and exits.

import { openStateStore, type StateStoreOptions } from '../../store/state/open.ts';
import type { StateStore } from '../../store/state/state-store.ts';
import { textsOf } from '../support/counter-rows.ts';
import { commitAnyhow } from '../support/store-calls.ts';

interface Task {
  readonly options: StateStoreOptions;
  /**
   * `pairs`: for ever two documents with the same number. `count`: that many increments of one number. `once`: one document.
   * `visit`: watches, sees to an id, reads, closes and must then end by itself. `counters`: for ever a batch of counters.
   */
  readonly work: 'pairs' | 'count' | 'once' | 'visit' | 'counters';
  readonly times?: number;
}

const { options, work, times = 0 }: Task = JSON.parse(process.argv[2] ?? '') as Task;
const store = openStateStore(options);
process.on('SIGTERM', () => process.exit(0));

const say = (line: object): void => console.log(JSON.stringify(line));

async function commitPairs(target: StateStore): Promise<never> {
  for (let number = 1; ; number += 1) {
    const changes = ['left', 'right'].map((id) => ({ kind: 'pair', id, body: { number } }));
    await commitAnyhow(target, { expected: new Map(), changes });
    say({ acked: number });
  }
}

/** Read, add one, write, again when another writer was first. */
async function increment(target: StateStore): Promise<void> {
  for (;;) {
    const state = await target.read();
    const before = state.documents.find(({ kind }) => kind === 'sum')?.body ?? 0;
    const changes = [{ kind: 'sum', id: '', body: Number(before) + 1 }];
    const result = await commitAnyhow(target, { expected: new Map([['sum', state.kinds.get('sum') ?? 0]]), changes });
    if (result.conflict === undefined) return;
  }
}

async function writeCounters(target: StateStore): Promise<never> {
  for (let sequence = 1; ; sequence += 1) {
    const rows = ['/a', '/b'].map((child) => ({
      key: 'k',
      epoch: 0,
      child,
      periodSeconds: 60,
      requests: [[1, sequence] as const],
      tokens: [],
    }));
    await target.writeCounters('i', { sequence, nowMs: 0, removed: [], rows: textsOf(rows) });
    say({ acked: sequence });
  }
}

say({ msg: 'ready' });
if (work === 'pairs') await commitPairs(store);
if (work === 'counters') await writeCounters(store);
if (work === 'once')
  await commitAnyhow(store, { expected: new Map(), changes: [{ kind: 'from', id: 'afar', body: true }] });
for (let time = 0; time < times; time += 1) await increment(store);
if (work === 'visit') {
  store.watch(() => undefined);
  const seen = store.initialise().then(() => store.read());
  say(await seen.catch((error: unknown) => ({ storeId: undefined, failed: String(error) })));
}
await store.close();
say({ msg: 'done' });
