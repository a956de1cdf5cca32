// What a write to managed keys means: who may do it, and the key as it is afterwards. Nothing here knows of stores or sockets.
import { managedKeys } from '../../../schemas/documents/kinds.ts';
import { readKind, removed, written } from '../../../schemas/documents/managed-kind.ts';
import { type AuthKey, authKey, authKeyBody } from '../../../schemas/keys/auth-key.ts';
import { coversEntry } from '../../../schemas/keys/model-access.ts';
import { digestOf, redacted } from '../../../schemas/keys/secret.ts';
import type { StoredState } from '../../../store/state/state-store.ts';
import { isInScope, isScoped, lookAgain, type Operator } from '../../authenticate.ts';
import { type Refusal, refusal } from '../../errors.ts';
import type { Decided } from '../commit.ts';
import type { KeyDraft } from './read-draft.ts';
import { checkSize } from './room.ts';

/** What a write gives: the key as it is then, and what has to be stored for that; nothing when it was so already. */
export interface Decision extends Decided {
  readonly key: AuthKey;
}

/** What an operator may see of the stored keys, and the operator as the store knows it. */
export interface View {
  readonly operator: Operator;
  /** In no order. */
  readonly keys: readonly AuthKey[];
  /** The names of the providers that are configured, folded. */
  readonly providers: ReadonlySet<string>;
}

/** What is stored, through the operator's eyes. Throws 401 and 403 when the operator's own key has lost its rights meanwhile. */
export function viewOf(
  { documents }: Pick<StoredState, 'documents'>,
  operator: Operator,
  providers: ReadonlySet<string>,
  nowMs: number,
): View {
  const keys = readKind(managedKeys, documents).values;
  const current = lookAgain(operator, keys, nowMs);
  const visible = keys.filter(({ userPath }) => isInScope(current, userPath));
  return { operator: current, keys: visible, providers };
}

/** The visible key with this id. Throws 404 `auth_key_not_found`, outside of the operator's scope too. */
export function findKey({ keys }: View, id: string): AuthKey {
  const key = keys.find((each) => each.id === id);
  if (key === undefined) throw refusal('auth_key_not_found', { fill: { id } });
  return key;
}

/** A new key. Throws 403 `admin_scope_denied` when it would grant more than the operator has, 400 when it is too large. */
export function issueKey(
  draft: KeyDraft,
  { id, secret, by, nowMs }: { id: string; secret: string; by: string; nowMs: number },
  view: View,
): Decision {
  const { operator } = view;
  if (draft.anyUserPath && isScoped(operator)) throw beyond('any_user_path', 'A key that names any user path');
  if (!isInScope(operator, draft.userPath)) throw beyond('user_path', `A key outside of ${operator.userPath}`);
  checkModels(draft.allowedModels, view);
  checkExpiry(draft.expiresAtMs, operator);
  const key = authKey({
    ...draft,
    id,
    digest: digestOf(secret),
    redactedValue: redacted(secret),
    enabled: true,
    deactivatedAtMs: undefined,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    createdBy: by,
  });
  checkSize(key);
  return stored(key);
}

/** The key without access from now on; the document stays. */
export function deactivateKey(key: AuthKey, nowMs: number): Decision {
  if (!key.enabled) return { key, changes: [] };
  return changed(key, { enabled: false, deactivatedAtMs: nowMs }, nowMs);
}

/**
 * The document is gone. Also one that cannot be read, which nobody else could remove: whose it is is not known, so that is up to who
 * may see the whole gateway. Throws 404 `auth_key_not_found`.
 */
export function deleteKey(state: Pick<StoredState, 'documents' | 'skipped'>, view: View, id: string): Decided {
  const { unreadable } = readKind(managedKeys, state.documents, state.skipped);
  if (!isInScope(view.operator, undefined) || !unreadable.includes(id)) findKey(view, id);
  return { changes: [removed(managedKeys, id)] };
}

/** Throws 400 when the key would become too large. */
export function relabelKey(key: AuthKey, labels: readonly string[], nowMs: number): Decision {
  checkSize({ ...key, labels });
  return changed(key, { labels }, nowMs);
}

/** Throws 403 `admin_scope_denied` when the key could then use what the operator's own may not, or gain something for longer; 400 when it is too large. */
export function restrictKey(key: AuthKey, allowedModels: readonly string[], view: View, nowMs: number): Decision {
  checkModels(allowedModels, view);
  checkSize({ ...key, allowedModels });
  if (isWidened(key, allowedModels, view)) checkExpiry(key.expiresAtMs, view.operator);
  return changed(key, { allowedModels }, nowMs);
}

/**
 * Opens or closes the admin API to a key. Throws 403 `admin_scope_denied` when it is opened to a key that has more than the operator's
 * own: with it, keys could be made that the operator may not make.
 */
export function openDashboard(key: AuthKey, dashboardAccess: boolean, view: View, nowMs: number): Decision {
  if (dashboardAccess && !key.dashboardAccess) {
    checkModels(key.allowedModels, view);
    checkExpiry(key.expiresAtMs, view.operator);
  }
  return changed(key, { dashboardAccess }, nowMs);
}

/** The same key with something changed; a write that changes nothing stores nothing. */
function changed(key: AuthKey, part: Partial<AuthKey>, nowMs: number): Decision {
  const next = authKey({ ...key, ...part });
  if (JSON.stringify(authKeyBody(next)) === JSON.stringify(authKeyBody(key))) return { key, changes: [] };
  // Never earlier than before, even where clocks differ: it tells one state of the key from another.
  return stored(authKey({ ...next, updatedAtMs: Math.max(nowMs, key.updatedAtMs + 1) }));
}

function stored(key: AuthKey): Decision {
  return { key, changes: [written(managedKeys, key.id, key)] };
}

function checkModels(allowedModels: readonly string[], { operator, providers }: View): void {
  const access = operator.key?.modelAccess;
  if (access === undefined) return;
  if (allowedModels.length === 0) throw beyond('allowed_models', 'A key for every model');
  for (const entry of allowedModels) {
    if (!coversEntry(access, entry, providers)) throw beyond('allowed_models', `The model ${JSON.stringify(entry)}`);
  }
}

function checkExpiry(expiresAtMs: number, { key }: Operator): void {
  if (expiresAtMs <= (key?.expiresAtMs ?? Number.POSITIVE_INFINITY)) return;
  throw beyond('expires_at', 'A key that outlives your own');
}

/** Whether the list grants something that the key does not have. */
function isWidened({ modelAccess }: AuthKey, allowedModels: readonly string[], { providers }: View): boolean {
  if (modelAccess === undefined) return false;
  return allowedModels.length === 0 || allowedModels.some((entry) => !coversEntry(modelAccess, entry, providers));
}

function beyond(param: string, what: string): Refusal {
  return refusal('admin_scope_denied', { param, fill: { what } });
}

/** The order of the listing: newest first, then by name, then by id. */
export function newestFirst(one: AuthKey, other: AuthKey): number {
  return other.createdAtMs - one.createdAtMs || compare(one.name, other.name) || compare(one.id, other.id);
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}
