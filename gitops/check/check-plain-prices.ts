// Warnings about prices that are those of one token, or of a thousand, where a million is meant.
import type { Config } from '../../schemas/types.ts';
import type { Path } from '../../schemas/validation/path.ts';
import { isTree } from '../../schemas/validation/value-at.ts';
import type { Sources } from '../assemble/sources.ts';
import type { Problem } from '../read/problem.ts';

/** No provider sells a million tokens for less: the cheapest of domain/prices/list-prices.json cost several times as much. US dollars. */
const leastPerMillion = 0.001;

/** Prices of providers' models, and of types. */
export function checkPlainPrices(
  { providers, usage }: Pick<Config, 'providers' | 'usage'>,
  sources: Sources,
): Problem[] {
  const ofModels = Object.entries(providers).flatMap(([name, { models = [] }]) =>
    models.flatMap((model, index) =>
      typeof model === 'string' ? [] : pricesIn(model.pricing, ['providers', name, 'models', index, 'pricing']),
    ),
  );
  const ofTypes = pricesIn(usage.prices, ['usage', 'prices']);
  return [...ofModels, ...ofTypes]
    .filter(({ price }) => price > 0 && price < leastPerMillion)
    .map(({ price, path }) => {
      const perToken = Number((price * 1_000_000).toPrecision(12));
      const message = `is a price for a million tokens, and ${price} looks like that of one; write ${perToken} if it is`;
      return sources.problem(path, message);
    });
}

/** All prices for a million tokens in a tree. */
function pricesIn(value: unknown, path: Path): { price: number; path: Path }[] {
  if (!isTree(value)) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    typeof inner === 'number' && key.endsWith('_per_mtok')
      ? [{ price: inner, path: [...path, key] }]
      : pricesIn(inner, [...path, key]),
  );
}
