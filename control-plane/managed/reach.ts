// Whether what an operator writes reaches beyond the models that its own key may use (`allowed_models`). Pure.
import { coversEntry, type EntryNames } from '../../domain/keys/model-access.ts';
import type { Operator } from '../authenticate.ts';
import { type Refusal, refusal } from '../errors.ts';

/** Whether the operator's own key is limited to some models. */
export function isRestricted({ key }: Operator): boolean {
  return key?.modelAccess !== undefined;
}

/**
 * Whether the operator's own key may use everything that an entry of `allowed_models` would grant: a model, a bare id on every provider, all
 * models of a provider (`openai/*`), or an alias.
 */
export function reaches({ key }: Operator, entry: string, names: EntryNames): boolean {
  return coversEntry(key?.modelAccess, entry, names);
}

/** The refusal of a write that would reach further. `param`: the member at fault. */
export function beyondModels(what: string, param?: string): Refusal {
  const said = `${what}, because its own allowed_models do not cover that`;
  return refusal('admin_scope_denied', { ...(param === undefined ? {} : { param }), fill: { what: said } });
}
