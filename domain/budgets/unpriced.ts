// The models whose cost no budget counts, because they have no price.

import type { Config } from '../../schemas/types.ts';
import { modelId } from '../listed-models.ts';
import { pricingIn } from '../prices/price-book.ts';

/** The most models that a sentence names. */
const mostNamed = 5;

/** `<provider>/<model>` of every listed model without a price, in order. Of models that providers are asked for, nothing is known here. */
export function unpricedModels({ providers, usage }: Pick<Config, 'providers' | 'usage'>): string[] {
  return Object.entries(providers).flatMap(([name, provider]) =>
    (provider.models ?? [])
      .filter((model) => pricingIn(provider, model, usage) === undefined)
      .map((model) => `${name}/${modelId(model)}`),
  );
}

/**
 * A sentence about the models without a price, without a full stop; undefined when all have one, or when a caller under
 * a budget cannot use those without (`budgets.unpriced: refuse`). Of models that providers are asked for, some may have one.
 */
export function sayUnpriced(config: Pick<Config, 'providers' | 'usage' | 'budgets'>): string | undefined {
  const models = unpricedModels(config);
  const offered = Object.values(config.providers);
  const isAll = models.length > 0 && models.length === offered.flatMap(({ models: own }) => own ?? ['?']).length;
  if (config.budgets.unpriced === 'refuse')
    return isAll ? 'no model has a price, so with unpriced: refuse every request under a budget is refused' : undefined;
  if (isAll)
    return 'no model has a price, so no budget ever counts anything; give the models pricing, or set budgets.unpriced to refuse';
  if (models.length === 0) return undefined;
  const more = models.length > mostNamed ? ` and ${models.length - mostNamed} more` : '';
  const isOne = models.length === 1;
  const named = `${isOne ? 'the model' : 'the models'} ${models.slice(0, mostNamed).join(', ')}${more}`;
  const free = `give ${isOne ? 'it' : 'them'} pricing, of 0 where nothing is to be paid, or set budgets.unpriced to refuse`;
  return `${named} ${isOne ? 'has' : 'have'} no price, so no budget counts what requests for ${isOne ? 'it' : 'them'} cost; ${free}`;
}
