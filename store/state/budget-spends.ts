// The spend of budgets in the state store.
import { type BudgetSpends, readSpends, spendsBody } from '../../domain/budgets/spends.ts';
import { type Published, publicationOf } from './publication.ts';

/** Spends with the name of their content. */
export type PublishedSpends = Published<BudgetSpends>;

export const spendsPublication = publicationOf<BudgetSpends>({
  markName: 'budgets spends mark',
  wholeName: 'budgets spends',
  write: spendsBody,
  read: readSpends,
});

export const { publish: publishSpends, fetch: fetchSpends, revision: revisionOfSpends } = spendsPublication;
