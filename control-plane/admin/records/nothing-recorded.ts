// The record store of a gateway without recording: lists are empty, sums are zero.
import type { RevisionStore } from '../../../store/records/kept-revisions.ts';
import type { RecordStore, UsageTotals } from '../../../store/records/record-store.ts';

/** The operations of the record store that pages of records use. */
export type ReadableRecords = Omit<RecordStore, 'add' | 'prune' | 'relieve' | 'room' | 'close' | keyof RevisionStore>;

const noTotals: UsageTotals = {
  entries: 0,
  requests: 0,
  attempts: 0,
  input_tokens: 0,
  output_tokens: 0,
  total_tokens: 0,
  cached_input_tokens: 0,
  cache_write_input_tokens: 0,
  reasoning_tokens: 0,
  input_cost: null,
  output_cost: null,
  total_cost: null,
  unpriced: 0,
};

/** Also what an operator sees of user paths outside of its own. */
export const nothingRecorded: ReadableRecords = {
  sessions: async () => ({ total: 0, sessions: [] }),
  entries: async () => ({ total: 0, entries: [] }),
  entry: async () => undefined,
  conversation: async () => undefined,
  stats: async () => ({ buckets: [], providers: [], failing: [] }),
  arrived: async (cursor) => ({ entries: [], cursor: cursor ?? 0 }),
  traffic: async () => ({ lines: [] }),
  usageTotals: async () => noTotals,
  usageBuckets: async () => [],
  usageBy: async () => ({ total: 0, rows: [] }),
  usageLog: async () => ({ total: 0, entries: [] }),
  spend: async (questions) => questions.map(() => new Map()),
  mirrors: async () => ({ pairs: [], isTruncated: false }),
};
