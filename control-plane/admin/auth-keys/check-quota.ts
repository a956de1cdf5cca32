// Checks the quotas of managed keys: their total number, the number in one scope, the bytes of one key. Pure.
import { managedKeys } from '../../../domain/documents/kinds.ts';
import { type AuthKey, authKeyBody } from '../../../domain/keys/auth-key.ts';
import { isScoped, type Operator } from '../../authenticate.ts';
import { refusal } from '../../errors.ts';
import { keysOf } from '../../managed/key-index.ts';
import { longestDocumentBytes, type Quotas } from '../../managed/quotas.ts';
import { invalid } from '../../managed/read-body.ts';
import { scopesOf } from '../../managed/scopes.ts';
import { type KindState, storedKind } from '../../managed/stored-kind.ts';

/**
 * Throws 409 `too_many_auth_keys` when so many further keys do not fit: in the gateway, including unreadable documents, or in a scope of the
 * operator.
 */
export function checkQuota(state: KindState, operator: Operator, quotas: Quotas, further: number): void {
  refuse(storedKind(managedKeys, state).count, quotas.max_keys, further, 'in all');
  if (!isScoped(operator)) return;
  const keys = keysOf(state);
  for (const scope of scopesOf(operator, keys))
    refuse(keys.countWithin(scope), quotas.max_keys_per_scope, further, `at and below ${scope}`);
}

/** Throws 400 naming the longest member when the document of the key is too large. */
export function checkSize(key: AuthKey): void {
  const body = authKeyBody(key);
  const bytes = bytesOf(body);
  if (bytes <= longestDocumentBytes) return;
  const [longest = ''] = Object.keys(body).sort((one, other) => bytesOf(body[other]) - bytesOf(body[one]));
  throw invalid(longest, `is too long: the key would take ${bytes} bytes, and one may take ${longestDocumentBytes}`);
}

function refuse(count: number, limit: number, further: number, where: string): void {
  if (count + further > limit) throw refusal('too_many_auth_keys', { fill: { count, limit, where } });
}

/** The stored size: JSON in UTF-8. */
function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
