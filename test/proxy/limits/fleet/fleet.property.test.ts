// A simulated fleet in which everything fails: no trailing period holds more than the cap, and nearly nothing is refused that there is room for.
import { test } from 'tap';
import { extent, isFull } from '../../../support/extent.ts';
import { type Kind, kinds, type Telling, tell } from './story.ts';

const firstSeed = Number(process.env['FLEET_SEED'] ?? (isFull ? Date.now() % 2 ** 31 : 20_261_122));
const worlds = process.env['FLEET_SEED'] === undefined ? extent(100, 6) : 1;
const wanted = process.env['FLEET_KIND'];
const requests = extent(3_000, 600);

/** How often what a client was told about when to come back was right, at least. */
const leastExact = 0.996;

class Totals {
  events = 0;
  exchanges = 0;
  asked = 0;
  admitted = 0;
  refused = 0;
  lost = 0;
  timed = 0;
  exact = 0;
  worstRoom = 0;
  longestWaitMs = 0;
  worst = 0;

  add({ events, exchanges, traffic, worst }: Telling): void {
    this.events += events;
    this.exchanges += exchanges;
    this.asked += traffic.asked;
    this.admitted += traffic.admitted;
    this.refused += traffic.refused;
    this.lost += traffic.lost;
    this.timed += traffic.timed;
    this.exact += traffic.exactSeconds;
    this.worstRoom = Math.max(this.worstRoom, traffic.worstRoom);
    this.longestWaitMs = Math.max(this.longestWaitMs, Math.round(traffic.longestWaitMs));
    this.worst = Math.max(this.worst, worst);
  }
}

async function tellAll(kind: Kind): Promise<{ readonly totals: Totals; readonly faults: readonly string[] }> {
  const totals = new Totals();
  const faults: string[] = [];
  for (let seed = firstSeed; seed < firstSeed + worlds; seed += 1) {
    const telling = await tell(kind, seed, requests);
    totals.add(telling);
    for (const fault of telling.faults) faults.push(`FLEET_KIND=${kind} FLEET_SEED=${seed}: ${fault}`);
  }
  return { totals, faults };
}

for (const kind of kinds) {
  if (wanted !== undefined && wanted !== kind) continue;
  await test(`in ${kind} worlds all that is promised holds`, { timeout: 600_000 }, async (t) => {
    const { totals, faults } = await tellAll(kind);
    t.comment(JSON.stringify(totals));
    t.same(faults, []);
    if (wanted !== undefined) return;
    t.ok(totals.admitted > 0 && totals.refused > 0, 'some were admitted and some refused');
    if (kind === 'calm') t.ok(totals.exact >= leastExact * totals.timed, `${totals.exact} of ${totals.timed} moments`);
  });
}
