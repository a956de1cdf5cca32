// A caller under a budget may ask only models with a price, where the configuration says so: what others cost, no budget can count.
import type { BudgetCover } from '../budgets/budget-cover.ts';
import { refusal } from '../errors.ts';
import type { Route } from '../snapshot/snapshot.ts';
import type { Principal } from './authenticate.ts';
import { partOf } from './route-part.ts';

/** Who asks, and whose requests budgets count; `budgeted` undefined: models without a price may be asked. */
export interface Payer {
  readonly principal: Pick<Principal, 'userPath' | 'labels'> | undefined;
  readonly snapshot: { readonly budgeted?: BudgetCover | undefined };
}

/** The part of a route for `model` whose targets this caller may ask. Throws 403 `unpriced_model` when that is none of them. */
export function pricedPart(route: Route, model: string, payer: Payer): Route {
  const subject = subjectOf(payer);
  if (subject === undefined) return route;
  const part = partOf(route, ({ price }) => price !== undefined);
  if (part === undefined) throw refusal('unpriced_model', { param: 'model', fill: { model, subject } });
  return part;
}

/** Throws `unpriced_model` where a budget of the payer refuses models without a price, and this one has none. `target` undefined: none is known. */
export function requirePrice(target: { readonly price?: unknown } | undefined, model: string, payer: Payer): void {
  const subject = target?.price === undefined ? subjectOf(payer) : undefined;
  if (subject !== undefined) throw refusal('unpriced_model', { param: 'model', fill: { model, subject } });
}

function subjectOf({ principal, snapshot: { budgeted } }: Payer): string | undefined {
  return principal && budgeted?.subjectFor(principal.userPath, principal.labels);
}
