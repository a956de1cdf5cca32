// Which models a key may use: a list of names and patterns, compared without regard to letter case.
import { foldCase, isQualified, parseSelector } from '../selector.ts';

/** The entries of a list that restricts, folded. */
export type ModelAccess = ReadonlySet<string>;

/**
 * Compiles a list of `*`, `provider/*`, `provider/model`, bare model ids and alias names. Undefined when it restricts nothing: an empty
 * list, or one with `*`.
 */
export function modelAccess(allowedModels: readonly string[]): ModelAccess | undefined {
  if (allowedModels.length === 0 || allowedModels.includes('*')) return undefined;
  return new Set(allowedModels.map(foldCase));
}

/** Whether the name a client asks for is itself an entry: an alias granted by name grants its targets. */
export function allowsName(access: ModelAccess, requestedName: string): boolean {
  return access.has(foldCase(requestedName));
}

/**
 * Whether a model at a provider may be used, whatever name led there. An entry `a/b` is about the provider `a` where it is configured, else
 * about the bare id `a/b`; a bare id covers the model on any provider. `providers`: the names of all that are configured, folded.
 */
export function allowsTarget(
  access: ModelAccess,
  provider: string,
  model: string,
  providers: ReadonlySet<string>,
): boolean {
  const [foldedProvider, foldedModel] = [foldCase(provider), foldCase(model)];
  return (
    access.has(`${foldedProvider}/${foldedModel}`) ||
    access.has(`${foldedProvider}/*`) ||
    (access.has(foldedModel) && !isQualified(foldedModel, providers))
  );
}

/** Whether an entry grants nothing beyond what `access` grants: nobody hands on more than they have. `providers` as above. */
export function coversEntry(access: ModelAccess | undefined, entry: string, providers: ReadonlySet<string>): boolean {
  if (access === undefined || allowsName(access, entry)) return true;
  if (!isQualified(entry, providers)) return false;
  const { provider, model = '' } = parseSelector(entry) ?? {};
  return provider !== undefined && model !== '*' && allowsTarget(access, provider, model, providers);
}
