// Money of a request that has left before the state store said whether there is some.
import { test } from 'tap';
import { MoneyHold } from '../../../proxy/budgets/money-hold.ts';
import { LedgerStand, pathBudget } from './ledger-stand.ts';

await test('what is set aside for a request that is over is given back at once', async (t) => {
  const stand = new LedgerStand({ user_paths: [pathBudget('/team', 1, { mode: 'hard' })] }, Date.UTC(2026, 9, 1));
  const taken = await stand.take('/team', () => 0.8);
  const hold = new MoneyHold();
  hold.release();
  t.match((await stand.take('/team', () => 0.8)).spent, { wanted: 8e8 });
  if (taken.spent === undefined) hold.take(taken.aside);
  const again = await stand.take('/team', () => 0.8);
  if (again.spent !== undefined) throw new Error('it is free again');
  const other = new MoneyHold();
  other.take(again.aside);
  t.notOk(other.isEmpty);
  other.release();
  other.release();
  t.equal((await stand.take('/team', () => 1)).spent, undefined, 'it is given back once');
});
