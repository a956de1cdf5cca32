// The path and query of a request to a provider: those of its base URL, and those of what it is asked. Pure.
import type { Row, Speech } from './row.ts';

/** The parts of a base URL. */
export interface Base {
  /** Without a slash at its end; empty: none. */
  readonly basePath: string;
  /** With `?`, such as Azure's `?api-version=2024-10-21`; empty: none. */
  readonly query: string;
}

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
