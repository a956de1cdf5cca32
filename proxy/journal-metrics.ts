// What Prometheus sees of the journal: read from its status at every scrape.
import { Counter, Gauge, type Registry } from '../plane/prometheus.ts';
import { proxyMetrics } from '../schemas/proxy-metrics.ts';
import type { JournalStatus } from '../store/records/journal.ts';

/** Registers the two metrics of the journal. */
export function observeJournal(registers: Registry[], status: () => JournalStatus): void {
  new Counter({
    ...proxyMetrics.journalRecords,
    registers,
    collect() {
      const { appendedRecords, droppedRecords } = status();
      this.reset();
      this.inc({ outcome: 'appended' }, appendedRecords);
      this.inc({ outcome: 'dropped' }, droppedRecords);
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
