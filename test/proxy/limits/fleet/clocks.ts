// Clocks of a proxy and of the store that run differently: is the true time always within the bounds that the proxy knows?
import { StoreTime } from '../../../../proxy/limits/fleet/store-time.ts';
import { createRandom } from '../../../support/random.ts';

/** What is wrong with the bounds in the world of a seed; undefined: nothing. */
export function wrongBounds(seed: number): string | undefined {
  const random = createRandom(seed);
  const time = new StoreTime();
  const rate = 1 + (random() * 2 - 1) * 190e-6;
  const aheadMs = (random() * 2 - 1) * 5_000;
  const mostMs = random() < 0.5 ? 0.2 : 20;
  const own = (ms: number): number => Math.floor(1_000_000 + ms * rate + aheadMs);
  let nowMs = 0;
  for (let count = 0; count < 200; count += 1) {
    const storeMs = nowMs + random() * mostMs;
    const answeredMs = storeMs + random() * mostMs;
    time.note(own(nowMs), own(answeredMs), Math.floor(storeMs));
    nowMs = answeredMs + random() * 500;
    const [earliest, latest] = [time.earliest(own(nowMs)), time.latest(own(nowMs))];
    if (earliest > nowMs || Math.floor(nowMs) > latest) return `${nowMs} is not between ${earliest} and ${latest}`;
    if (latest - earliest > 2 * mostMs + 6) return `${earliest} to ${latest} is wide`;
  }
  return undefined;
}
