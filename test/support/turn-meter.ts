// How long the turns of the event loop of a started process take: it is loaded with block-meter.ts, and asked before and after.
import { join } from 'node:path';
import { freePort } from './ports.ts';
import { fetch } from './undici.ts';

export interface TurnMeter {
  /** What the process is started with. */
  readonly execArgv: string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Does this; gives what comes of it, and the longest turn that the process took meanwhile. */
  during(action: () => Promise<number>): Promise<Measured>;
}

export interface Measured {
  readonly status: number;
  readonly longestMs: number;
}

/** What a turn may take: of processor time, on a machine of usual speed. Milliseconds. */
export const mostMs = 50;
/** What is not yet compiled, and the collection of garbage, may hold up one try. */
const tries = 8;
/** What `calibrate` of block-meter.ts takes where a turn may take 50 ms: a slower machine gets more. Milliseconds. */
const usualCalibrationMs = 8;

export async function createMeter(): Promise<TurnMeter> {
  const port = await freePort();
  const look = async (): Promise<{ longestMs: number; calibrationMs: number }> =>
    (await fetch(`http://127.0.0.1:${port}/`)).json() as Promise<{ longestMs: number; calibrationMs: number }>;
  return {
    execArgv: ['--import', join(import.meta.dirname, 'block-meter.ts')],
    env: { BLOCK_METER_PORT: String(port), NODE_V8_COVERAGE: undefined },
    async during(action) {
      const before = await look();
      const status = await action();
      const after = await look();
      const slowdown = Math.max(usualCalibrationMs, before.calibrationMs, after.calibrationMs) / usualCalibrationMs;
      return { status, longestMs: after.longestMs / slowdown };
    },
  };
}

/** The quickest of a few tries, as soon as one is quick enough. */
export async function quickestOf(measure: () => Promise<Measured>): Promise<Measured> {
  let best = await measure();
  for (let count = 1; count < tries && best.longestMs >= mostMs; count += 1) {
    const tried = await measure();
    if (tried.longestMs < best.longestMs) best = tried;
  }
  return best;
}
