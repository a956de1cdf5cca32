// What both engines of the record store give to replays.
import type { Test } from 'tap';
import type { TrafficCursor } from '../../store/records/record-store.ts';
import type { RecordEngine } from './record-store-engines.ts';
import { type AuditedRecord, beginMs, record } from './record-store-model.ts';

export const trafficCases: Readonly<Record<string, (t: Test, engine: RecordEngine) => Promise<void>>> = {
  async 'traffic comes in the order in which requests began, page by page, each once, within a user path'(t, engine) {
    const { store } = await engine.start(t);
    const at = (seed: number, afterMs: number, more: Partial<AuditedRecord> = {}): AuditedRecord =>
      record(seed, { started_ms: beginMs + afterMs, user_path: '/team', ...more });
    const ours = [at(9, 0), at(3, 0), at(5, 7)];
    const [one, two, three] = ours as [AuditedRecord, AuditedRecord, AuditedRecord];
    const others = [at(6, 8, { user_path: '/teams' }), at(7, 10), at(8, 5, { asked_by: 'gateway' })];
    await store.add([three, ...others, one, two]);
    const question = { span: { fromMs: beginMs, toMs: beginMs + 10 }, most: 2, userPath: '/Team', succeeded: 1 };
    const seen: string[] = [];
    for (let after: TrafficCursor | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
      const page = await store.traffic({ ...question, after });
      seen.push(...page.lines.map(({ id }) => id));
      after = page.next;
    }
    t.same(
      seen,
      ours.map(({ request_id: id }) => id),
    );
  },
};
