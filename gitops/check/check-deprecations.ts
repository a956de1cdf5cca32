// Warnings about models that their provider no longer answers for, or soon will not.
import { modelId } from '../../domain/listed-models.ts';
import { factsIn, modelCatalogue } from '../../domain/models/model-facts.ts';
import { parseSelector } from '../../domain/selector.ts';
import { daysBetween } from '../../domain/timestamp.ts';
import type { Config, Model, Provider } from '../../schemas/types.ts';
import { type Path, quote } from '../../schemas/validation/path.ts';
import type { Sources } from '../assemble/sources.ts';
import { targetsOf } from '../assemble/written-aliases.ts';
import type { Problem } from '../read/problem.ts';

const noticeDays = 30;

interface Named {
  readonly provider: Provider;
  readonly model: Model;
  readonly path: Path;
}

/** The models that providers list, and the targets of aliases at providers without a list. `today`: YYYY-MM-DD. */
export function checkDeprecations(
  { providers, aliases }: Pick<Config, 'providers' | 'aliases'>,
  today: string,
  sources: Sources,
): Problem[] {
  const listed = Object.entries(providers).flatMap(([name, provider]) =>
    (provider.models ?? []).map((model, index): Named => {
      const id = typeof model === 'string' ? [] : ['id'];
      return { provider, model, path: ['providers', name, 'models', index, ...id] };
    }),
  );
  const aimed = aliases.flatMap((alias, index) =>
    targetsOf(alias, index).flatMap(({ model: selector, path }): Named[] => {
      const { provider: name, model } = parseSelector(selector) ?? {};
      const provider = name === undefined ? undefined : providers[name];
      return provider === undefined || model === undefined || provider.models !== undefined
        ? []
        : [{ provider, model, path }];
    }),
  );
  return [...listed, ...aimed].flatMap(({ provider, model, path }) => {
    const end = factsIn(provider, model).deprecation_date;
    if (end === undefined || daysBetween(today, end) > noticeDays) return [];
    const isSaid = typeof model !== 'string' && model.deprecation_date !== undefined;
    const source = isSaid ? 'its deprecation_date says' : `the catalogue of ${modelCatalogue.date} says`;
    const when =
      end <= today
        ? `no longer answers for ${quote(modelId(model))} since`
        : `answers for ${quote(modelId(model))} only until`;
    return [sources.problem(path, `${when} ${end}, as ${source}; use another model`)];
  });
}
