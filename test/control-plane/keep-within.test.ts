// Records stay within their size: the oldest bodies go first, then the oldest entries; usage stays.
import { type Test, test } from 'tap';
import { keepWithin, type RoomKeeper } from '../../control-plane/records/keep-within.ts';
import { StoreUnavailable } from '../../store/state/store-unavailable.ts';
import { type AuditedRecord, beginMs, record } from '../contracts/record-store-model.ts';
import { openRecordObjects, type RecordObjects } from '../support/record-objects.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

const mostBytes = 10 * 1024 * 1024;
/** Eight of them, and what belongs to them, are about a mebibyte. */
const body = { messages: [{ role: 'user', content: 'a secret '.repeat(14_000) }] };

function spoken(seed: number): AuditedRecord {
  const sample = record(seed, { started_ms: beginMs + seed * 1_000 });
  const cost = { input: 1_000, output: 10, total: 1_010 };
  const usage = { input_tokens: 5, output_tokens: 5, total_tokens: 10, source: 'reported' as const, cost };
  const attempt = { seq: 1, kind: 'primary' as const, model: 'm', provider_name: 'p', provider_type: 'openai' };
  const attempts = [{ ...attempt, started_ms: sample.started_ms, duration_ns: 1, success: true, usage }];
  return { ...sample, attempts, data: { ...sample.data, request_body: body } };
}

interface Stand {
  readonly store: RecordObjects;
  readonly keep: () => RoomKeeper;
  readonly lines: object[];
}

function startStand(t: Test): Stand {
  const store = openRecordObjects({ directory: temporaryDirectory(t) });
  t.teardown(() => store.close());
  const lines: object[] = [];
  return {
    store,
    lines,
    keep() {
      const log = { warn: (fields: object | string) => void lines.push(fields as object) };
      const keeper = keepWithin({ store, mostBytes: () => mostBytes, nowMs: () => 0, log });
      t.teardown(() => keeper.close());
      return keeper;
    },
  };
}

await test('a store that has reached its size takes nothing more, until the oldest bodies are gone', async (t) => {
  const { store, keep, lines } = startStand(t);
  await store.room?.(mostBytes);
  let stored = 0;
  const fill = async (): Promise<unknown> => {
    for (;;) {
      const refused = await store.add([spoken(stored)]).catch((error: unknown) => error);
      if (typeof refused !== 'number') return refused;
      stored += 1;
    }
  };
  const refused = await fill();
  t.match(refused, { name: 'StoreUnavailable', reason: 'full' });
  t.ok(refused instanceof StoreUnavailable && stored > 40, `${stored} were stored`);
  t.match(await store.room?.(mostBytes), { mostBytes });

  const keeper = keep();
  await waitFor('room', () => (keeper.status()?.bodiesRemoved ?? 0) > 0);
  await waitFor('a record that fits', () =>
    store.add([spoken(stored)]).then(
      () => true,
      () => false,
    ),
  );
  const [first, last] = [await store.entry(spoken(0).id), await store.entry(spoken(stored).id)];
  t.match(
    first,
    { bodies_omitted: true, data: { request_body: undefined } },
    'the oldest entry stays without its body',
  );
  t.same(last?.data.request_body, body, 'the newest has its own');
  t.equal(keeper.status()?.entriesRemoved, 0);
  t.equal((await store.entries({}, { limit: 1, offset: 0 })).total, stored + 1);
  t.match(lines, [{ bodies: Number, entries: 0, most_bytes: mostBytes }]);
});
