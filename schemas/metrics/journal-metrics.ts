// The metrics of the journal of records, as the process sees them that appends to it.
import type { MetricDefinition } from './limit-metrics.ts';

export const journalMetrics = {
  journalRecords: {
    name: 'gateway_journal_records_total',
    type: 'counter',
    help: 'Records of audit and usage by outcome: appended, dropped (the journal could not take them for too long, or the record was too long), or omitted (of requests without a key one a second is recorded, of others that reached no provider 100).',
    labelNames: ['outcome'],
  },
  journalWaitingBytes: {
    name: 'gateway_journal_waiting_bytes',
    type: 'gauge',
    help: 'Records that are not in the journal yet.',
    labelNames: [],
  },
} as const satisfies Record<string, MetricDefinition>;
