// The models that a key may use: a list of names and patterns; letter case does not matter.
import { foldCase, isQualified, parseSelector } from '../selector.ts';

/** The entries of a restricting list, in lower case. */
export type ModelAccess = ReadonlySet<string>;

/**
 * Compiles a list of `*`, `provider/*`, `provider/model`, bare model ids and alias names. Undefined when it restricts nothing: an empty
 * list, or one with `*`.
 */
export function modelAccess(allowedModels: readonly string[]): ModelAccess | undefined {
  if (allowedModels.length === 0 || allowedModels.includes('*')) return undefined;
  return new Set(allowedModels.map(foldCase));
}

/** Whether the requested name is an entry: an entry with the name of an alias also grants the targets of the alias. */
export function allowsName(access: ModelAccess, requestedName: string): boolean {
  return access.has(foldCase(requestedName));
}

/**
 * Whether a model of a provider may be used, for any requested name. An entry `a/b` means the provider `a` when it is configured,
 * otherwise the bare id `a/b`; a bare id grants the model on every provider. `providers`: the configured names, in lower case.
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

/** The names that decide what an entry means: of providers and of aliases, in lower case. */
export interface EntryNames {
  readonly providers: ReadonlySet<string>;
  readonly aliases: ReadonlySet<string>;
}

/**
 * Whether `access` grants everything that the entry grants, so that a key cannot grant more than it has. The name of an alias, also of one
 * that is called like a model, grants whatever the alias leads to, so only the same entry covers it.
 */
export function coversEntry(
  access: ModelAccess | undefined,
  entry: string,
  { providers, aliases }: EntryNames,
): boolean {
  if (access === undefined || allowsName(access, entry)) return true;
  if (aliases.has(foldCase(entry)) || !isQualified(entry, providers)) return false;
  const { provider, model = '' } = parseSelector(entry) ?? {};
  return provider !== undefined && model !== '*' && allowsTarget(access, provider, model, providers);
}
