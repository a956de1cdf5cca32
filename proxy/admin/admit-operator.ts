// The operator of a request under /admin that this proxy answers itself, by the same table of rights as the control plane.
import { lackOf } from '../../domain/keys/role.ts';
import type { KeyUses } from '../../plane/access/key-uses.ts';
import { rightOf } from '../../schemas/admin-rights.ts';
import { refusal } from '../errors.ts';
import type { Exchange } from '../http/exchange.ts';
import { adminAccess, authenticateAdmin } from './authenticate-admin.ts';

export type AdmitParts = Parameters<typeof adminAccess>[0] & { readonly keyUses: KeyUses };

interface Admitted {
  /** Whom the memory of its body is charged to. */
  readonly consumer: string;
  /** What the operator may see: this user path and those below it. */
  readonly userPath: string;
}

/**
 * The operator, when it has the right of this route, such as `GET /admin/explain`. Throws what `authenticateAdmin` throws, 403
 * `dashboard_access_denied`, `role_denied` and `admin_scope_denied`.
 */
export async function admitOperator(
  exchange: Exchange,
  gateway: AdmitParts,
  [method, url]: readonly [string, string],
): Promise<Admitted> {
  const { kind, key } = await authenticateAdmin(exchange, adminAccess(gateway));
  gateway.keyUses.note(key?.id, exchange.startedAtMs);
  if (key !== undefined && key.role === undefined) {
    gateway.failedLogins.note('denied');
    exchange.caller = { reason: 'denied', keyId: key.id };
    throw refusal('dashboard_access_denied');
  }
  const right = rightOf(method, url);
  if (right === undefined) throw new Error(`${method} ${url} has no row in schemas/admin-rights.ts`);
  const { role = 'admin', userPath = '/' } = key ?? {};
  const lack = lackOf({ role, userPath }, right);
  if (lack === 'role') throw refusal('role_denied', { fill: { needed: right.role, role } });
  if (lack === 'scope')
    throw refusal('admin_scope_denied', { fill: { what: 'use this route: it needs a key for the whole gateway' } });
  return { consumer: key?.id ?? kind, userPath };
}
