// Which models a key may use: a list of names and patterns, compared without regard to letter case.
import { foldCase, parseSelector } from '../selector.ts';

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
 * Whether a model at a provider may be used, whatever name led there. An entry with a slash names a provider; only one without is a bare
 * id, which covers the model on any provider.
 */
export function allowsTarget(access: ModelAccess, provider: string, model: string): boolean {
  const [foldedProvider, foldedModel] = [foldCase(provider), foldCase(model)];
  return (
    access.has(`${foldedProvider}/${foldedModel}`) ||
    access.has(`${foldedProvider}/*`) ||
    (!foldedModel.includes('/') && access.has(foldedModel))
  );
}

/** Whether an entry grants nothing beyond what `access` grants: nobody hands on more than they have. */
export function coversEntry(access: ModelAccess | undefined, entry: string): boolean {
  if (access === undefined || allowsName(access, entry)) return true;
  const { provider, model = '' } = parseSelector(entry) ?? {};
  return provider !== undefined && model !== '*' && allowsTarget(access, provider, model);
}
