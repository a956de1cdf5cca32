// Warnings about rules for providers, models and aliases that do not exist. They are not problems, because a provider may list the model later.
import { modelIds } from '../../domain/listed-models.ts';
import { knownModels, mayBeDiscovered } from '../../domain/rules/known-models.ts';
import { foldCase, parseSelector } from '../../domain/selector.ts';
import type { RateLimits } from '../../schemas/types.ts';
import { didYouMean } from '../../schemas/validation/suggest.ts';
import type { Sources } from '../assemble/sources.ts';
import type { KnownNames } from '../assemble/written-aliases.ts';
import type { Problem } from '../read/problem.ts';

/** Limits the number of warnings, because each suggestion costs time. */
const enough = 100;

/** A warning for each of the first rules for a provider that is not configured. */
export function unknownProviders(config: RateLimits, { providers }: KnownNames, sources: Sources): Problem[] {
  const names = Object.keys(providers);
  const known = new Set(names.map(foldCase));
  const warnings: Problem[] = [];
  config.providers.forEach(({ name }, index) => {
    if (known.has(foldCase(name)) || warnings.length >= enough) return;
    const path = ['rate_limits', 'providers', index, 'name'];
    if (sources.isUnknown(path)) return;
    const guess = didYouMean(name, names);
    const message = `there is no provider ${sources.quoted(path)}, so the rule matches nothing${guess}`;
    warnings.push(sources.problem(path, message));
  });
  return warnings;
}

/** A warning for each of the first rules for a model that no provider lists. */
export function unknownModels(config: RateLimits, { providers, aliases }: KnownNames, sources: Sources): Problem[] {
  const names = new Set(Object.keys(providers).map(foldCase));
  const qualified = Object.entries(providers).flatMap(([name, provider]) =>
    modelIds(provider).map((model) => `${name}/${model}`),
  );
  const bare = Object.values(providers).flatMap(modelIds);
  const known = { qualified: new Set(qualified.map(foldCase)), bare: new Set(bare.map(foldCase)) };
  const all = knownModels({ providers, aliases });
  const warnings: Problem[] = [];
  config.models.forEach(({ model }, index) => {
    const path = ['rate_limits', 'models', index, 'model'];
    const subject = foldCase(model);
    const { provider } = parseSelector(subject) ?? {};
    const isQualified = provider !== undefined && names.has(provider);
    if ((isQualified ? known.qualified : known.bare).has(subject) || mayBeDiscovered(subject, all)) return;
    if (sources.isUnknown(path) || warnings.length >= enough) return;
    const quoted = sources.quoted(path);
    const guess = didYouMean(model, isQualified ? qualified : [...bare, ...qualified]);
    const message = all.aliases.has(subject)
      ? `${quoted} is an alias, so the rule matches nothing; limit the models it leads to`
      : `no provider lists the model ${quoted}, so the rule matches nothing${guess}`;
    warnings.push(sources.problem(path, message));
  });
  return warnings;
}
