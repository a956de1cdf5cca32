// Whether `process.nextTick` is as fast after collections of garbage as before, in a process that keeps the shape of its objects. Ends with
// `as fast`, or `slower` when it is not within some seconds. To be run with `--expose-gc`.
import { setTimeout as pause } from 'node:timers/promises';
import { keepTickShape } from '../../plane/keep-tick-shape.ts';

/** Where the shape was lost, a call takes five to six times as long. */
const most = 3;
const triesMs = 5_000;
const calls = 10_000;

async function nanosecondsOfCall(): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 60; round += 1) {
    const from = performance.now();
    await new Promise<void>((resolve) => {
      for (let call = 0; call < calls; call += 1) process.nextTick(() => undefined);
      process.nextTick(resolve);
    });
    least = Math.min(least, ((performance.now() - from) * 1e6) / calls);
  }
  return least;
}

keepTickShape();
const before = await nanosecondsOfCall();
// V8 frees a shape that nothing uses at the third collection.
for (let round = 0; round < 6; round += 1) {
  await pause(1);
  globalThis.gc?.();
}
const end = performance.now() + triesMs;
let after = await nanosecondsOfCall();
while (after > most * before && performance.now() < end) after = await nanosecondsOfCall();
console.log(after > most * before ? 'slower' : 'as fast', Math.round(before), Math.round(after));
