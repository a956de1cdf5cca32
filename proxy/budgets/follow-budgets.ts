// Reads what the control plane tells of budgets from the state store, twice a second: those that are used up, and what all have spent. An outage
// takes no verdict out of force before its window ends.
import { singleFlight } from '../../store/single-flight.ts';
import { spendsPublication } from '../../store/state/budget-spends.ts';
import { verdictsPublication } from '../../store/state/budget-verdicts.ts';
import type { Publication } from '../../store/state/publication.ts';
import type { StateStore } from '../../store/state/state-store.ts';
import type { Budgets } from './budgets.ts';

const pollMs = 500;

/**
 * Resolves when both were read once, or could not be: the follower of the managed state tells of outages. Reading ends with the process; a
 * store that is closed is one that does not answer. `nowMs`: Unix milliseconds.
 */
export async function followBudgets(
  store: Pick<StateStore, 'heartbeats'>,
  budgets: Budgets,
  nowMs: () => number,
): Promise<void> {
  const verdicts = reader(store, verdictsPublication, (found) => budgets.verdicts.put(found.verdicts));
  const spends = reader(store, spendsPublication, (found) => budgets.ledgers.records.put(found, Math.floor(nowMs())));
  const reading = singleFlight(async () => {
    await Promise.all([verdicts(), spends()]);
  });
  await reading.join();
  setInterval(() => void reading.join(), pollMs).unref();
}

/** Gives what is new to `take`. */
function reader<Content>(
  store: Pick<StateStore, 'heartbeats'>,
  { fetch }: Pick<Publication<Content>, 'fetch'>,
  take: (content: Content) => void,
): () => Promise<void> {
  let known: string | undefined;
  return async () => {
    const found = await fetch(store, known).catch(() => undefined);
    if (found === undefined) return;
    known = found.revision;
    take(found);
  };
}
