// Whose stored objects a caller reaches: those of its user path, or of its key alone where that has no path.
import { foldUserPath } from '../../domain/user-path.ts';

/** The facts of a caller that decide the owner. */
export interface OwningCaller {
  /** Of a caller by a managed key. */
  readonly keyId: string | undefined;
  /** Normalised. */
  readonly userPath: string;
}

/** Compared as it is written. Keys without a path share `/` for rules and budgets, and no object. */
export function ownerOf({ keyId, userPath }: OwningCaller): string {
  if (userPath === '/' && keyId !== undefined) return `key:${keyId}`;
  return foldUserPath(userPath);
}

/** The operator, by the master key or where there is none, in the name of no path. */
export function seesAll({ keyId, userPath }: OwningCaller): boolean {
  return keyId === undefined && userPath === '/';
}
