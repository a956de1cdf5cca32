// The entity tag of a listing: the revision of its documents, for If-Match.
import type { ManagedKind } from '../../domain/documents/managed-kind.ts';
import type { StoredState } from '../../store/state/state-store.ts';
import { refusal } from '../errors.ts';

export function entityTag({ kinds }: Pick<StoredState, 'kinds'>, { kind }: ManagedKind<unknown>): string {
  return `"${kinds.get(kind) ?? 0}"`;
}

/** Throws 412 `precondition_failed` when an If-Match header (RFC 9110, 13.1.1) does not name the current entity tag. */
export function checkPrecondition(ifMatch: string | undefined, current: string): void {
  if (ifMatch === undefined) return;
  if (ifMatch.split(',').some((tag) => tag.trim() === '*' || tag.trim() === current)) return;
  throw refusal('precondition_failed', { fill: { current } });
}
