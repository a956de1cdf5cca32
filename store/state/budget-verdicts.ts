// The verdicts about budgets in the state store.
import { type BudgetVerdicts, readVerdicts, verdictsBody } from '../../domain/budgets/verdicts.ts';
import { type Published, publicationOf } from './publication.ts';

/** Verdicts with the name of their content. */
export type PublishedVerdicts = Published<BudgetVerdicts>;

export const verdictsPublication = publicationOf<BudgetVerdicts>({
  markName: 'budgets mark',
  wholeName: 'budgets verdicts',
  write: verdictsBody,
  read: readVerdicts,
});

export const { publish: publishVerdicts, fetch: fetchVerdicts } = verdictsPublication;
