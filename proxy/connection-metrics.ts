// What Prometheus sees of the clients' connections: read from their counts at every scrape.
import { Counter, Gauge, type Registry } from 'prom-client';
import type { ConnectionCounts } from './connection/connections.ts';

/** Registers the three metrics of connections. */
export function observeConnections(registers: Registry[], counts: () => ConnectionCounts): void {
  new Gauge({
    name: 'gateway_connections_open',
    help: 'Connections of clients at this moment.',
    registers,
    collect() {
      this.set(counts().open);
    },
  });
  new Counter({
    name: 'gateway_connections_refused_total',
    help: 'Connections closed as soon as they came, by the setting of server they were too many for.',
    labelNames: ['reason'],
    registers,
    collect() {
      this.reset();
      for (const [reason, count] of Object.entries(counts().refused)) this.inc({ reason }, count);
    },
  });
  new Counter({
    name: 'gateway_connections_cut_total',
    help: 'Connections ended without an answer, by reason: pipelined (too many requests wait on it), tiny_chunks (a body in chunks of a few bytes), garbage (bytes that are not HTTP, without end), unread (nothing of an answer was taken for write_idle).',
    labelNames: ['reason'],
    registers,
    collect() {
      this.reset();
      for (const [reason, count] of Object.entries(counts().cut)) this.inc({ reason }, count);
    },
  });
}
