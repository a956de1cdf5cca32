// Decides writes to managed keys: whether the operator may make them, and the key after the write. Pure.
import { type Budget, labelOfKey } from '../../../domain/budgets/budget.ts';
import { managedKeys, manualBudgets } from '../../../domain/documents/kinds.ts';
import { removed, written } from '../../../domain/documents/managed-kind.ts';
import { type AuthKey, authKey, authKeyBody, isActive } from '../../../domain/keys/auth-key.ts';
import { coversEntry, type EntryNames } from '../../../domain/keys/model-access.ts';
import { mayDo, type Role } from '../../../domain/keys/role.ts';
import { digestOf, redacted } from '../../../domain/keys/secret.ts';
import { isInScope, isScoped, type Operator, refreshOperator, refuseRole } from '../../authenticate.ts';
import { type Refusal, refusal } from '../../errors.ts';
import type { Decided } from '../../managed/commit.ts';
import { type KindState, storedKind } from '../../managed/stored-kind.ts';
import { checkSize } from './check-quota.ts';
import { atEntry, type KeyChange, type KeyDraft } from './read-draft.ts';

/** The result of a write: the key after it, and the changes to store; none when the key stays the same. */
export interface Decision extends Decided {
  readonly key: AuthKey;
}

/** The deletion of a key; undefined: its document cannot be read. */
interface Deletion extends Decided {
  readonly key: AuthKey | undefined;
}

/** The stored keys as an operator sees them, and the operator with the rights of the stored key. */
export interface View {
  readonly operator: Operator;
  /** The key with this id, when the operator may see it. */
  readonly find: (id: string) => AuthKey | undefined;
  /** Where the configuration declares the key with this id, when the operator may see it. */
  readonly placeOf: (id: string) => string | undefined;
  /** Whether a key with this id cannot be read. */
  readonly isUnreadable: (id: string) => boolean;
  /** The names that decide the meaning of entries of `allowed_models`. */
  readonly names: EntryNames;
  /** Labels that carry a budget. */
  readonly budgetLabels: () => ReadonlySet<string>;
}

/** The keys that the configuration declares. */
export interface DeclaredKeys {
  readonly keys: readonly AuthKey[];
  /** `<file>:<line>` by name. */
  readonly places: ReadonlyMap<string, string>;
}

/** The parts of the configuration that concern keys. */
export interface KeySurroundings extends Pick<View, 'names'> {
  readonly declared: DeclaredKeys;
  /** The budgets that it declares. */
  readonly budgets: readonly Pick<Budget, 'key'>[];
}

/** The operator of a request, and the role that the request needs. */
export interface Acting {
  readonly operator: Operator;
  readonly needed: Role;
}

/** The stored keys as this operator sees them. Throws 401 and 403 when the operator's key has lost its rights. */
export function viewOf(
  state: KindState,
  { operator, needed }: Acting,
  { names, budgets, declared }: KeySurroundings,
  nowMs: number,
): View {
  const keys = storedKind(managedKeys, state);
  const current = refreshOperator(operator, keys.get, nowMs);
  refuseRole(current, needed);
  let labels: ReadonlySet<string> | undefined;
  return {
    operator: current,
    find(id) {
      const key = keys.get(id);
      return key !== undefined && isInScope(current, key.userPath) ? key : undefined;
    },
    placeOf(id) {
      const key = declared.keys.find((each) => each.id === id && isInScope(current, each.userPath));
      return key && (declared.places.get(key.name) ?? 'the configuration');
    },
    isUnreadable: keys.isUnreadable,
    names,
    budgetLabels() {
      // Also of budgets that cannot be read: their id says what they are about.
      const all = [...storedKind(manualBudgets, state).ids(), ...budgets.map(({ key }) => key)];
      labels ??= new Set(all.flatMap((key) => labelOfKey(key) ?? []));
      return labels;
    },
  };
}

/**
 * The visible stored key with this id. Throws 409 `auth_key_config_owned` for one that the configuration declares, 404 `auth_key_not_found`,
 * also for a key outside of the operator's scope.
 */
export function findKey(view: Pick<View, 'find' | 'placeOf'>, id: string): AuthKey {
  const key = view.find(id);
  if (key !== undefined) return key;
  const place = view.placeOf(id);
  if (place !== undefined) throw refusal('auth_key_config_owned', { fill: { id, place } });
  throw refusal('auth_key_not_found', { fill: { id } });
}

/** The parts of a new key. */
export interface Making {
  readonly id: string;
  readonly secret: string;
  /** The operator. */
  readonly by: string;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

/** A new key. Throws 403 `admin_scope_denied` when it would grant more than the operator has, 400 when it is too large. */
export function issueKey(draft: KeyDraft, making: Making, view: View): Decision {
  checkLabels([], draft.labels, view);
  return makeKey(draft, making, view);
}

/** New keys, all or none. Throws what `issueKey` throws, naming the entry. */
export function issueKeys(
  orders: readonly { readonly draft: KeyDraft; readonly making: Making }[],
  view: View,
): Decided & { readonly keys: readonly AuthKey[] } {
  const issued = orders.map(({ draft, making }, index) => atEntry(index, () => issueKey(draft, making, view)));
  return { keys: issued.map(({ key }) => key), changes: issued.flatMap(({ changes }) => changes) };
}

function makeKey(draft: KeyDraft, { id, secret, by, nowMs }: Making, view: View): Decision {
  const { operator } = view;
  if (draft.anyUserPath && isScoped(operator)) throw beyond('any_user_path', 'issue a key with any_user_path');
  if (!isInScope(operator, draft.userPath)) throw beyond('user_path', `issue a key outside of ${operator.userPath}`);
  checkModels(draft.allowedModels, view);
  checkExpiry(draft.expiresAtMs, operator);
  checkRole(draft.role, operator);
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

/**
 * A new key in the place of `key`, which works until then and no longer. Throws 409 `auth_key_inactive`, and what `issueKey` throws: an operator
 * does not get the secret of a key with more rights than its own.
 */
export function rotateKey(key: AuthKey, untilMs: number, making: Making, view: View): Decision {
  const { nowMs } = making;
  if (!isActive(key, nowMs)) throw refusal('auth_key_inactive', { fill: { id: key.id } });
  // The labels are those that the key had, and so are their budgets.
  const issued = makeKey(key, making, view);
  const old =
    untilMs <= nowMs
      ? deactivateKey(key, nowMs)
      : changed(key, { expiresAtMs: Math.min(key.expiresAtMs, untilMs) }, nowMs);
  return { key: issued.key, changes: [...issued.changes, ...old.changes] };
}

/** The key, inactive from now on; its document stays. */
export function deactivateKey(key: AuthKey, nowMs: number): Decision {
  if (!key.enabled) return { key, changes: [] };
  return changed(key, { enabled: false, deactivatedAtMs: nowMs }, nowMs);
}

/**
 * Deletes the document of a key. An operator of the whole gateway may also delete a document that cannot be read, because its user path
 * is unknown. Throws 404 `auth_key_not_found`.
 */
export function deleteKey(view: View, id: string): Deletion {
  const isUnreadable = isInScope(view.operator, undefined) && view.isUnreadable(id);
  return { key: isUnreadable ? undefined : findKey(view, id), changes: [removed(managedKeys, id)] };
}

/**
 * Replaces the labels of a key. Throws 403 `admin_scope_denied` for one that carries a budget, when the operator has no right over it; 400
 * when the key would become too large.
 */
export function relabelKey(key: AuthKey, labels: readonly string[], view: View, nowMs: number): Decision {
  checkLabels(key.labels, labels, view);
  checkSize({ ...key, labels });
  return changed(key, { labels }, nowMs);
}

/**
 * Replaces the allowed models of a key. Throws 403 `admin_scope_denied` for models that the operator's own key may not use, and for new
 * models of a key that expires later than the operator's; 400 when the key would become too large.
 */
export function restrictKey(key: AuthKey, allowedModels: readonly string[], view: View, nowMs: number): Decision {
  checkModels(allowedModels, view);
  checkSize({ ...key, allowedModels });
  if (isWidened(key, allowedModels, view)) checkExpiry(key.expiresAtMs, view.operator);
  return changed(key, { allowedModels }, nowMs);
}

/**
 * Changes some members of a key; a user path ends `anyUserPath`. Throws 403 `admin_scope_denied` where the key would be granted more than
 * the operator has: a path outside of its scope; models that it may not use; another path, more models or a later end for a key that has
 * more rights than the operator; labels that carry a budget, as `relabelKey`. Throws 400 when the key would become too large.
 */
export function amendKey(key: AuthKey, change: KeyChange, view: View, nowMs: number): Decision {
  const { operator } = view;
  const next = { ...key, ...change, anyUserPath: key.anyUserPath && !('userPath' in change) };
  checkSize(next);
  checkLabels(key.labels, next.labels, view);
  const isMoved = next.userPath !== key.userPath;
  if (isMoved && !isInScope(operator, next.userPath)) {
    throw beyond('user_path', `move a key outside of ${operator.userPath}`);
  }
  const isWider = isMoved || next.expiresAtMs > key.expiresAtMs || isWidened(key, next.allowedModels, view);
  if (isWider || change.allowedModels !== undefined) checkModels(next.allowedModels, view);
  if (isWider) checkExpiry(next.expiresAtMs, operator);
  return changed(key, next, nowMs);
}

/**
 * Grants a role on the admin API, or withdraws it (undefined); null: that of the key, or admin. Throws 403 `admin_scope_denied` for a role above
 * the operator's own, and when the key has more rights than the operator: with a higher role it could use them for others.
 */
export function openDashboard(key: AuthKey, wanted: Role | null | undefined, view: View, nowMs: number): Decision {
  const role = wanted === null ? (key.role ?? 'admin') : wanted;
  if (role !== undefined && (key.role === undefined || !mayDo(key.role, role))) {
    checkRole(role, view.operator);
    checkModels(key.allowedModels, view);
    checkExpiry(key.expiresAtMs, view.operator);
  }
  return changed(key, { role }, nowMs);
}

/** The key with `part` changed; a write that changes nothing stores nothing. */
function changed(key: AuthKey, part: Partial<AuthKey>, nowMs: number): Decision {
  const next = authKey({ ...key, ...part });
  if (JSON.stringify(authKeyBody(next)) === JSON.stringify(authKeyBody(key))) return { key, changes: [] };
  // Always later than before, also when clocks differ: the time identifies a state of the key.
  return stored(authKey({ ...next, updatedAtMs: Math.max(nowMs, key.updatedAtMs + 1) }));
}

function stored(key: AuthKey): Decision {
  return { key, changes: [written(managedKeys, key.id, key)] };
}

function checkModels(allowedModels: readonly string[], { operator, names }: View): void {
  const access = operator.key?.modelAccess;
  if (access === undefined) return;
  if (allowedModels.length === 0) throw beyond('allowed_models', 'grant every model: list models in allowed_models');
  for (const entry of allowedModels) {
    if (!coversEntry(access, entry, names)) throw beyond('allowed_models', `grant the model ${JSON.stringify(entry)}`);
  }
}

/**
 * A label with a budget is a lever: given to a key it spends the money of others, taken away it escapes the cap. Budgets of labels belong to
 * the whole gateway.
 */
function checkLabels(before: readonly string[], after: readonly string[], { operator, budgetLabels }: View): void {
  if (isInScope(operator, undefined)) return;
  const given = after.filter((label) => !before.includes(label));
  const taken = before.filter((label) => !after.includes(label));
  if (given.length + taken.length === 0) return;
  const levers = budgetLabels();
  const lever = [...given, ...taken].find((label) => levers.has(label));
  if (lever !== undefined)
    throw beyond('labels', `give or take away the label ${JSON.stringify(lever)}, which carries a budget`);
}

function checkRole(role: Role | undefined, operator: Operator): void {
  if (role === undefined || mayDo(operator.role, role)) return;
  throw beyond('role', `grant the role ${role}: its own is ${operator.role}`);
}

function checkExpiry(expiresAtMs: number, { key }: Operator): void {
  // The end of a token is not that of its person's rights.
  if (key?.token !== undefined || expiresAtMs <= (key?.expiresAtMs ?? Number.POSITIVE_INFINITY)) return;
  throw beyond('expires_at', 'grant rights for longer than its own expires_at');
}

/** Whether the list grants something that the key does not have. */
function isWidened({ modelAccess }: AuthKey, allowedModels: readonly string[], { names }: View): boolean {
  if (modelAccess === undefined) return false;
  return allowedModels.length === 0 || allowedModels.some((entry) => !coversEntry(modelAccess, entry, names));
}

function beyond(param: string, what: string): Refusal {
  return refusal('admin_scope_denied', { param, fill: { what } });
}
