// Warnings about names of models in guardrails and in the cache that lead nowhere. They are not problems: an operator may add an alias of the name.
import { knownModels, mayBeDiscovered, type Offer } from '../../domain/rules/known-models.ts';
import { foldCase } from '../../domain/selector.ts';
import type { Config } from '../../schemas/types.ts';
import type { Path } from '../../schemas/validation/path.ts';
import { didYouMean } from '../../schemas/validation/suggest.ts';
import type { Sources } from '../assemble/sources.ts';
import type { Problem } from '../read/problem.ts';

interface NamedModel {
  readonly model: string;
  readonly path: Path;
  /** What follows when there is no such model. */
  readonly consequence: string;
}

/** Limits the number of warnings, because each suggestion costs time. */
const enough = 100;

/** A warning for each of the first names that are neither an alias nor a model. */
export function checkModelNames(
  config: Pick<Config, 'guardrails' | 'cache'>,
  offer: Offer,
  sources: Sources,
): Problem[] {
  const all = knownModels(offer);
  const families = [...all.aliases].flatMap((source) => (source.endsWith('/*') ? [source.slice(0, -1)] : []));
  const isKnown = (name: string): boolean =>
    all.models.has(name) ||
    all.aliases.has(name) ||
    mayBeDiscovered(name, all) ||
    families.some((prefix) => name.startsWith(prefix));
  const unknown = namedModels(config).filter(
    ({ model, path }) => !isKnown(foldCase(model)) && !sources.isUnknown(path),
  );
  return unknown.slice(0, enough).map(({ model, path, consequence }) => {
    const guess = didYouMean(model, [...all.aliases, ...all.models]);
    return sources.problem(
      path,
      `no alias and no provider's model is called ${sources.quoted(path)}${consequence}${guess}`,
    );
  });
}

function namedModels({ guardrails, cache }: Pick<Config, 'guardrails' | 'cache'>): NamedModel[] {
  const ofGuardrails = guardrails.flatMap(({ models = [], llm, mode }, index): NamedModel[] => {
    const refuses = llm?.fail === 'closed' && mode === 'enforce';
    const verdict = refuses ? 'so every request that the guardrail is for is refused' : 'so the guardrail never judges';
    return [
      ...models.map((model, at) => ({ model, path: ['guardrails', index, 'models', at], consequence: '' })),
      ...(llm === undefined
        ? []
        : [{ model: llm.model, path: ['guardrails', index, 'llm', 'model'], consequence: `, ${verdict}` }]),
    ];
  });
  if (cache.semantic === undefined) return ofGuardrails;
  const path = ['cache', 'semantic', 'model'];
  return [
    ...ofGuardrails,
    { model: cache.semantic.model, path, consequence: ', so the semantic layer never has an answer' },
  ];
}
