// Preloaded into a process (`--import`): notes each callback that held the event loop long, and where its work began. Written to SLICES_FILE at the end.
import { createHook, executionAsyncId } from 'node:async_hooks';
import { writeFileSync } from 'node:fs';
import { type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import type { LongSlice, Pause, ProbeReport } from './slices.ts';

const longMs = 1;
const mostNoted = 100_000;
const top = fileURLToPath(new URL('../../', import.meta.url));

/** Where the timer stands that work began with, else the kind of resource. */
const origins = new Map<number, string>();
const slices: LongSlice[] = [];
const pauses: Pause[] = [];
let depth = 0;
let beganMs = 0;

createHook({
  init(id, type) {
    const isTimer = type === 'Timeout' || type === 'Immediate';
    const origin = (isTimer ? callerOf() : undefined) ?? origins.get(executionAsyncId());
    if (origin !== undefined) origins.set(id, origin);
    else if (type !== 'PROMISE') origins.set(id, type);
  },
  destroy(id) {
    origins.delete(id);
  },
  before() {
    depth += 1;
    if (depth === 1) beganMs = performance.now();
  },
  after(id) {
    depth -= 1;
    if (depth > 0) return;
    const endedMs = performance.now();
    if (endedMs - beganMs < longMs || slices.length >= mostNoted) return;
    slices.push({ fromMs: beganMs, toMs: endedMs, origin: origins.get(id) ?? 'a promise' });
  },
}).enable();

new PerformanceObserver((list) => {
  // The types of Node do not know what an entry of the collector tells.
  for (const entry of list.getEntries() as (PerformanceEntry & { detail: { kind: number } })[])
    if (pauses.length < mostNoted)
      pauses.push({ fromMs: entry.startTime, ms: entry.duration, kind: entry.detail.kind });
}).observe({ entryTypes: ['gc'] });

process.on('exit', () => {
  const report: ProbeReport = { timeOrigin: performance.timeOrigin, slices, pauses };
  writeFileSync(process.env['SLICES_FILE'] ?? 'slices.json', JSON.stringify(report));
});

/** The first place of this repository in the stack, outside this file. */
function callerOf(): string | undefined {
  const line = new Error().stack
    ?.split('\n')
    .find((each) => each.includes(top) && !each.includes('slices-probe') && !each.includes('node_modules'));
  return line && /([^/ (]+\/)*[^/]+\.ts:\d+/.exec(line.slice(line.indexOf(top) + top.length))?.[0];
}
