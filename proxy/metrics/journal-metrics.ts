// What Prometheus sees of the journal: read from its status at every scrape.
import { Counter, Gauge, type Registry } from '../../plane/prometheus.ts';
import { proxyMetrics } from '../../schemas/metrics/proxy-metrics.ts';
import type { RecordingStatus } from '../records/open-records.ts';

/** Registers the two metrics of the journal. */
export function observeJournal(registers: Registry[], status: () => RecordingStatus): void {
  new Counter({
    ...proxyMetrics.journalRecords,
    registers,
    collect() {
      const { appendedRecords, droppedRecords, omittedRecords } = status();
      this.reset();
      this.inc({ outcome: 'appended' }, appendedRecords);
      this.inc({ outcome: 'dropped' }, droppedRecords);
      this.inc({ outcome: 'omitted' }, omittedRecords);
    },
  });
  new Gauge({
    ...proxyMetrics.journalWaitingBytes,
    registers,
    collect() {
      this.set(status().waitingBytes);
    },
  });
}
