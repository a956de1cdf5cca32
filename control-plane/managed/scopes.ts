// The scopes that a quota holds for: an operator cannot gain room by issuing dashboard keys for paths below its own. Pure.
import { foldUserPath, spelledAs } from '../../domain/user-path.ts';
import { isScoped, type Operator } from '../authenticate.ts';
import { type KeyIndex, pathsAbove } from './key-index.ts';

/** The path of a scoped operator, and those above it that dashboard keys, people or tokens administer; none for an operator of the whole gateway. */
export function scopesOf(operator: Operator, keys: Pick<KeyIndex, 'hasDashboard'>): readonly string[] {
  if (!isScoped(operator)) return [];
  const [own, ...above] = pathsAbove(foldUserPath(operator.userPath));
  const administered = above.filter((path) => path !== '/' && keys.hasDashboard(path));
  return [own ?? '/', ...administered].map((path) => spelledAs(operator.userPath, path));
}
