// Keeps `process.nextTick` fast, which streams call seven times for each request. Node makes an object with computed keys for each call. V8 compiles
// that well as long as it has seen a single shape of it. A collection of garbage frees the shape while no call waits: from then on each call
// takes six times as long (Node 26: 410 ns instead of 70, for the rest of the process). An object that stays keeps its shape alive.
import { executionAsyncResource } from 'node:async_hooks';

const kept: object[] = [];

/** To be called once, before there is much to do. */
export function keepTickShape(): void {
  process.nextTick(() => kept.push(executionAsyncResource()));
}
