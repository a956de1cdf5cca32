// Resets of the response cache: numbers in the state store. Raising one hides the answers that were kept before.
import { foldCase } from '../selector.ts';
import { foldUserPath, normaliseUserPath } from '../user-path.ts';

/** The kind of their documents. The id says of which answers; the body is `{"epoch": n}`. */
export const cacheResetKind = 'cache_reset';

/** The id of the reset of all answers. */
export const everyAnswer = '';

/** Of so many user paths and models resets are remembered one by one; beyond, one more resets all answers. */
export const mostCacheResets = 1_000;

export interface CacheReset {
  /** The id of the document. */
  readonly id: string;
  readonly epoch: number;
}

/** The id of a reset for a user path and all below it. */
export function pathResetId(userPath: string): string {
  return `user_path ${foldUserPath(userPath)}`;
}

/** The id of a reset for a model, an alias or a bare id, as requests name it or as it was asked. */
export function modelResetId(model: string): string {
  return `model ${foldCase(model)}`;
}

/** Reads a document; undefined when it says nothing of the cache. */
export function readCacheReset(id: string, body: unknown): CacheReset | undefined {
  const epoch = typeof body === 'object' && body !== null && 'epoch' in body ? body.epoch : undefined;
  if (!Number.isSafeInteger(epoch) || (epoch as number) < 1) return undefined;
  return isResetId(id) ? { id, epoch: epoch as number } : undefined;
}

/** The inverse of `readCacheReset`. */
export function cacheResetBody({ epoch }: CacheReset): object {
  return { epoch };
}

function isResetId(id: string): boolean {
  if (id === everyAnswer || /^model ./.test(id)) return true;
  return id.startsWith('user_path ') && normaliseUserPath(id.slice('user_path '.length)).path !== undefined;
}

/** The resets in force, as the keys of answers hold them. */
export interface CacheResets {
  readonly isEmpty: boolean;
  /** A text that changes with every reset that is for this user path, or for one of these models. */
  markOf(userPath: string, models: readonly string[]): string;
}

/** Indexes the resets by id. Of two resets with one id the last counts. */
export function cacheResets(resets: readonly CacheReset[]): CacheResets {
  const epochs = new Map(resets.map(({ id, epoch }) => [id, epoch]));
  return Object.freeze({
    isEmpty: epochs.size === 0,
    markOf(userPath: string, models: readonly string[]) {
      const ids = [everyAnswer, ...lineage(userPath).map(pathResetId), ...models.map(modelResetId)];
      // One that is for others changes nothing.
      return ids.flatMap((id) => (epochs.has(id) ? `${id} ${epochs.get(id)}` : [])).join();
    },
  });
}

/** The root, and every path from there down to this one. */
function lineage(path: string): string[] {
  const paths = ['/'];
  if (path === '/') return paths;
  for (let end = path.indexOf('/', 1); end !== -1; end = path.indexOf('/', end + 1)) paths.push(path.slice(0, end));
  return [...paths, path];
}
