// Warnings about names of models in guardrails, in the cache and in keys that lead nowhere. They are not problems: an operator may add an alias of the name.
import { type KnownModels, knownModels, mayBeDiscovered, type Offer } from '../../domain/rules/known-models.ts';
import { foldCase, parseSelector } from '../../domain/selector.ts';
import type { Config, Provider } from '../../schemas/types.ts';
import type { Path } from '../../schemas/validation/path.ts';
import { didYouMean } from '../../schemas/validation/suggest.ts';
import type { Sources } from '../assemble/sources.ts';
import type { Problem } from '../read/problem.ts';

interface NamedModel {
  readonly model: string;
  readonly path: Path;
  /** The gateway itself asks it. */
  readonly isAsked: boolean;
  /** What follows when there is no such model. */
  readonly consequence: string;
}

/** Limits the number of warnings, because each suggestion costs time. */
const enough = 100;

/** What else the files declare. */
interface NamedOffer extends Offer {
  readonly providers: Readonly<Record<string, Pick<Provider, 'models' | 'auth'>>>;
  readonly aliases: readonly (Offer['aliases'][number] & { readonly enabled: boolean })[];
}

/** A warning for each of the first names that are neither an alias nor a model. */
export function checkModelNames(
  config: Pick<Config, 'guardrails' | 'cache' | 'keys'>,
  offer: NamedOffer,
  sources: Sources,
): Problem[] {
  const all = knownModels(offer);
  // One that is not enabled leads nowhere.
  const leading = knownModels({ ...offer, aliases: offer.aliases.filter(({ enabled }) => enabled) });
  const [isKnown, leads] = [namesIn(all), namesIn(leading)];
  const named = [...namedModels(config), ...modelsOfKeys(config.keys, all)];
  const unknown = named.filter(
    ({ model, path, isAsked }) => !(isAsked ? leads : isKnown)(foldCase(model)) && !sources.isUnknown(path),
  );
  const ofClients = named.filter(({ model, isAsked }) => isAsked && isAskedForClients(model, offer));
  const unasked = ofClients.slice(0, enough).map(({ path, consequence }) => {
    const message = `${sources.quoted(path)} is asked with credentials of clients (auth: client), which the gateway itself has not`;
    return sources.problem(path, `${message}${consequence}`);
  });
  const lost = unknown.slice(0, enough).map(({ model, path, consequence }) => {
    const quoted = sources.quoted(path);
    if (isKnown(foldCase(model))) return sources.problem(path, `the alias ${quoted} is not enabled${consequence}`);
    const guess = didYouMean(model, [...leading.aliases, ...leading.models]);
    return sources.problem(path, `no alias and no provider's model is called ${quoted}${consequence}${guess}`);
  });
  return [...lost, ...unasked];
}

/** Whether a name is one of a provider with `auth: client`. */
function isAskedForClients(name: string, { providers }: NamedOffer): boolean {
  const provider = foldCase(parseSelector(name)?.provider ?? '');
  return Object.entries(providers).some(([known, { auth }]) => auth === 'client' && foldCase(known) === provider);
}

/** Whether a model or an alias may have a name, in lower case. */
function namesIn(known: KnownModels): (name: string) => boolean {
  const families = [...known.aliases].flatMap((source) => (source.endsWith('/*') ? [source.slice(0, -1)] : []));
  return (name) =>
    known.models.has(name) ||
    known.aliases.has(name) ||
    mayBeDiscovered(name, known) ||
    families.some((prefix) => name.startsWith(prefix));
}

/** Without what stands for every model, or for every model of a provider that there is. */
function modelsOfKeys(keys: Config['keys'], { providers }: KnownModels): NamedModel[] {
  return keys.flatMap(({ allowed_models: models = [] }, index) =>
    models.flatMap((model, at): NamedModel[] => {
      const isEvery = model === '*' || (model.endsWith('/*') && providers.has(foldCase(model.slice(0, -2))));
      const path = ['keys', index, 'allowed_models', at];
      return isEvery ? [] : [{ model, path, isAsked: false, consequence: ', so the key may use nothing by it' }];
    }),
  );
}

function namedModels({ guardrails, cache }: Pick<Config, 'guardrails' | 'cache'>): NamedModel[] {
  const ofGuardrails = guardrails.flatMap(({ models = [], llm, mode }, index): NamedModel[] => {
    const refuses = llm?.fail === 'closed' && mode === 'enforce';
    const verdict = refuses ? 'so every request that the guardrail is for is refused' : 'so the guardrail never judges';
    return [
      ...models.map((model, at) => ({
        model,
        path: ['guardrails', index, 'models', at],
        isAsked: false,
        consequence: '',
      })),
      ...(llm === undefined
        ? []
        : [
            {
              model: llm.model,
              path: ['guardrails', index, 'llm', 'model'],
              isAsked: true,
              consequence: `, ${verdict}`,
            },
          ]),
    ];
  });
  if (cache.semantic === undefined) return ofGuardrails;
  const path = ['cache', 'semantic', 'model'];
  return [
    ...ofGuardrails,
    { model: cache.semantic.model, path, isAsked: true, consequence: ', so the semantic layer never has an answer' },
  ];
}
