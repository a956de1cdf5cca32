// Checks the quotas of managed keys: their total number, the number in one scope, the bytes of one key. Pure.
import { managedKeys } from '../../../domain/documents/kinds.ts';
import { readKind } from '../../../domain/documents/managed-kind.ts';
import { type AuthKey, authKeyBody } from '../../../domain/keys/auth-key.ts';
import { isWithin } from '../../../domain/user-path.ts';
import type { StoredState } from '../../../store/state/state-store.ts';
import type { Operator } from '../../authenticate.ts';
import { refusal } from '../../errors.ts';
import { longestDocumentBytes, type Quotas } from '../../managed/quotas.ts';
import { invalid } from '../../managed/read-body.ts';
import { scopesOf } from '../../managed/scopes.ts';

/**
 * Throws 409 `too_many_auth_keys` when no further key fits: in the gateway, including unreadable documents, or in a scope of the
 * operator.
 */
export function checkQuota(
  state: Pick<StoredState, 'documents' | 'skipped'>,
  operator: Operator,
  quotas: Quotas,
): void {
  const { values, unreadable } = readKind(managedKeys, state.documents, state.skipped);
  refuse(values.length + unreadable.length, quotas.max_keys, 'in all');
  for (const scope of scopesOf(operator, values)) {
    const count = values.filter(({ userPath }) => isWithin(userPath ?? '/', scope)).length;
    refuse(count, quotas.max_keys_per_scope, `at and below ${scope}`);
  }
}

/** Throws 400 naming the longest member when the document of the key is too large. */
export function checkSize(key: AuthKey): void {
  const body = authKeyBody(key);
  const bytes = bytesOf(body);
  if (bytes <= longestDocumentBytes) return;
  const [longest = ''] = Object.keys(body).sort((one, other) => bytesOf(body[other]) - bytesOf(body[one]));
  throw invalid(longest, `is too long: the key would take ${bytes} bytes, and one may take ${longestDocumentBytes}`);
}

function refuse(count: number, limit: number, where: string): void {
  if (count >= limit) throw refusal('too_many_auth_keys', { fill: { count, limit, where } });
}

/** The stored size: JSON in UTF-8. */
function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
