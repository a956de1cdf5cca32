// Tells the proxies what has been found about budgets, when it has changed and once in a while.
import type { BudgetSpends } from '../../domain/budgets/spends.ts';
import type { BudgetVerdicts } from '../../domain/budgets/verdicts.ts';
import { spendsPublication } from '../../store/state/budget-spends.ts';
import { verdictsPublication } from '../../store/state/budget-verdicts.ts';
import type { Publication } from '../../store/state/publication.ts';
import type { StateStore } from '../../store/state/state-store.ts';
import { type BudgetStanding, spendsOf, verdictsOf } from './standing.ts';

/** How often the same is told again: a store that was emptied has it again then. Milliseconds. */
const signMs = 5_000;

/** How long spends stand before others are told: for each row, so that neither the store nor the proxies are busy with them; and at least. Milliseconds. */
const spendRowMs = 1;
const spendsMs = 1_000;

/** The standings of one moment. */
export interface Standings {
  readonly all: readonly BudgetStanding[];
  /** When the records were asked. Unix milliseconds. */
  readonly askedAtMs: number;
}

export interface Telling<Content> {
  readonly publication: Pick<Publication<Content>, 'publish' | 'revision'>;
  readonly contentOf: (standings: readonly BudgetStanding[], askedAtMs: number) => Content;
  /** The least time before another content is told, in milliseconds. */
  readonly paceMs: (content: Content) => number;
}

export const tellingVerdicts: Telling<BudgetVerdicts> = {
  publication: verdictsPublication,
  contentOf: verdictsOf,
  paceMs: () => 0,
};

export const tellingSpends: Telling<BudgetSpends> = {
  publication: spendsPublication,
  contentOf: spendsOf,
  paceMs: ({ windows, spends }) => Math.max(spendsMs, spendRowMs * Math.max(windows.length, spends.length)),
};

/** What was looked at last, and told last. */
interface Told {
  readonly of: Standings;
  readonly revision: string;
  readonly paceMs: number;
  /** Unix milliseconds. */
  readonly lookedAtMs: number;
  readonly toldAtMs: number;
}

/**
 * Returns a function that tells the content of these standings, when it is time and the content is another or was told a while ago. It resolves to
 * the content, or undefined when it was not computed; it rejects with `StoreUnavailable`.
 */
export function createTeller<Content>(
  store: Pick<StateStore, 'writeHeartbeat'>,
  { publication, contentOf, paceMs }: Telling<Content>,
): (standings: Standings, nowMs: number) => Promise<Content | undefined> {
  let told: Told | undefined;
  return async (of, nowMs) => {
    // Without budgets there is nothing to tell, but that there is nothing any more.
    if (told === undefined && of.all.length === 0) return undefined;
    const isFresh = told !== undefined && isWithin(nowMs - told.toldAtMs, Math.max(signMs, told.paceMs));
    if (told !== undefined && isFresh && (told.of === of || isWithin(nowMs - told.lookedAtMs, told.paceMs)))
      return undefined;
    const content = contentOf(of.all, of.askedAtMs);
    const revision = publication.revision(content);
    const isTold = isFresh && told?.revision === revision;
    if (!isTold) await publication.publish(store, { ...content, revision }, nowMs);
    const toldAtMs = isTold ? (told?.toldAtMs ?? nowMs) : nowMs;
    told = { of, revision, paceMs: paceMs(content), lookedAtMs: nowMs, toldAtMs };
    return content;
  };
}

/** A clock that was set back has no time to wait for. */
function isWithin(elapsedMs: number, mostMs: number): boolean {
  return elapsedMs >= 0 && elapsedMs < mostMs;
}
