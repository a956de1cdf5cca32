// Reads the verdicts about budgets from the state store, twice a second. An outage takes none out of force before its window ends.
import { singleFlight } from '../../store/single-flight.ts';
import { fetchVerdicts } from '../../store/state/budget-verdicts.ts';
import type { StateStore } from '../../store/state/state-store.ts';
import { BudgetsInForce } from './budgets-in-force.ts';

const pollMs = 500;

/**
 * Resolves when they were read once, or could not be: the follower of the managed state tells of outages. Reading ends with the process; a
 * store that is closed is one that does not answer.
 */
export async function followVerdicts(store: Pick<StateStore, 'heartbeats'>): Promise<BudgetsInForce> {
  const budgets = new BudgetsInForce();
  let known: string | undefined;
  const reading = singleFlight(async () => {
    const found = await fetchVerdicts(store, known).catch(() => undefined);
    if (found === undefined) return;
    known = found.revision;
    budgets.put(found.verdicts);
  });
  await reading.join();
  setInterval(() => void reading.join(), pollMs).unref();
  return budgets;
}
