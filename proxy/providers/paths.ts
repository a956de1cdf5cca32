// The path and query of a request to a provider: those of its base URL, and those of what it is asked. Pure.
import type { Row, Speech, StoreName } from './row.ts';

/** The parts of a base URL. */
export interface Base {
  /** Without a slash at its end; empty: none. */
  readonly basePath: string;
  /** With `?`, such as Azure's `?api-version=2024-10-21`; empty: none. */
  readonly query: string;
}

/** Where a provider keeps things of a kind. */
export interface StorePlace {
  /** From the host on, without a query. */
  readonly path: string;
  /** With `?`; empty: none. */
  readonly query: string;
  /** As `StoreSpeech` says. */
  readonly isAssumed: boolean;
}

export type StorePlaces = Readonly<Partial<Record<StoreName, StorePlace>>>;

/** Where a speech is sent. `model`: its id at the provider, any text. */
export function speechPath(speech: Speech, base: Base, model: string, isStream: boolean): string {
  const template = isStream ? (speech.streamPath ?? speech.path) : speech.path;
  // A function, because `$` has a meaning in a text.
  const path = template.replace('{model}', () => segmentOf(model));
  return join(path, base, speech.isFromRoot);
}

/** Where the models of a provider are listed; undefined: nowhere. */
export function modelListPath({ models }: Row, base: Base): string | undefined {
  return models === undefined ? undefined : join(models.path, base, models.isFromRoot);
}

/** Where something that a provider keeps is asked for: `suffix` stands behind its path, such as `/file-1/content`. */
export function storePath({ path, query }: StorePlace, suffix: string, parameters: readonly string[] = []): string {
  const all = [...parameters, query.slice(1)].filter((text) => text !== '');
  return path + suffix + (all.length === 0 ? '' : `?${all.join('&')}`);
}

/** The places of what a provider keeps. */
export function storePlaces({ stores = {} }: Row, { basePath, query }: Base): StorePlaces {
  const places = Object.entries(stores).map(([name, { path, isAssumed = false }]) => {
    return [name, Object.freeze({ path: basePath + path, query, isAssumed })];
  });
  return Object.freeze(Object.fromEntries(places) as StorePlaces);
}

function join(path: string, { basePath, query }: Base, isFromRoot = false): string {
  const [own = '', ownQuery = ''] = path.split('?');
  const parameters = [ownQuery, query.slice(1)].filter((text) => text !== '');
  const top = isFromRoot ? '' : basePath;
  return top + own + (parameters.length === 0 ? '' : `?${parameters.join('&')}`);
}

/** An id as one segment of a path. */
function segmentOf(model: string): string {
  // Servers read `%2E%2E` as `..`, too; what they make of this one is a model that does not exist.
  if (model === '.' || model === '..') return model.replaceAll('.', '%252E');
  return encodeURIComponent(model.toWellFormed());
}
