// Callers who are easily taken for one another, and what the cache may tell of each to the others.
import * as fc from 'fast-check';
import { foldUserPath } from '../../../domain/user-path.ts';
import type { CacheSettings } from '../../../proxy/snapshot/snapshot.ts';
import type { Principal } from '../../../proxy/stages/authenticate.ts';

export type Asker = Principal;
type Scope = CacheSettings['scope'];

export const scopes: readonly Scope[] = ['gateway', 'user_path', 'key'];

const segment = fc.constantFrom('team', 'team-alpha', 'tea', 'team a', 'Team', 'app', 'a', 'b');
const userPath = fc.array(segment, { maxLength: 3 }).map((segments) => `/${segments.join('/')}`);
export const askers: fc.Arbitrary<Asker> = fc
  .record({
    kind: fc.constantFrom('managed' as const, 'master_key' as const) as fc.Arbitrary<Principal['kind']>,
    keyId: fc.option(fc.constantFrom('k', 'k1', 'k11', 'k 1'), { nil: undefined }),
    shownPath: userPath,
    allowedModels: fc.constant(undefined),
  })
  .map((asker) => ({ ...asker, userPath: foldUserPath(asker.shownPath) }));

/** The same text for callers who may have each other's answers. */
export function scopeOf(scope: Scope, { kind, keyId, userPath: path }: Asker): string {
  const ofPath = path === '/' && keyId !== undefined ? ['key', keyId] : [path];
  return JSON.stringify(scope === 'gateway' ? [] : scope === 'user_path' ? ofPath : [kind, keyId, path]);
}

/** Nothing fails unexpectedly. */
export function reportFailure(error: unknown): never {
  throw error;
}
