// The extent of a test run: `npm test` is short and always the same; `npm run test:long` (RUNS=full) has every store and random seeds.

/** Whether this is the long run. */
export const isFull = process.env['RUNS'] === 'full';

/** Part of the runs of a property that a short run makes; at least so many. */
const shortShare = 1 / 10;
const leastRuns = 100;
const shortSeed = 20_261_122;

/** Stores that a scenario of a fleet is tried on. Both engines pass the same suite of cases (test/contracts), so in short one is enough. */
export const scenarioStores: readonly ('sqlite' | 'redis')[] = isFull ? ['sqlite', 'redis'] : ['redis'];

/** How many: in a full run, and in a short one. */
export const extent = (full: number, short: number): number => (isFull ? full : short);

/** Parameters of a property for fast-check; `full`: runs of a full run. */
export function runs(full: number): { readonly numRuns: number; readonly seed?: number } {
  return isFull
    ? { numRuns: full }
    : { numRuns: Math.min(full, Math.max(leastRuns, full * shortShare)), seed: shortSeed };
}
