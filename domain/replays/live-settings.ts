// What operators have set, as a file of traffic has it: made of stored documents, and with other names.
import { budgetKey } from '../budgets/budget.ts';
import { managedKeys, manualAliases, manualBudgets, manualRules, targetDrains } from '../documents/kinds.ts';
import { readKind, type StoredDocument, written } from '../documents/managed-kind.ts';
import { inOrder } from '../documents/order.ts';
import { type HashName, renamedPath } from '../records/hash-names.ts';
import type { Authorship } from '../rules/authorship.ts';
import { expiryMs } from '../rules/authorship.ts';
import { ruleKey } from '../rules/rule.ts';
import { timestamp } from '../timestamp.ts';
import { isReplayed, type LiveSettings, type SpentBefore, type TrafficHead } from './traffic-head.ts';

/** `documents`: all that the state store has, sorted. `nowMs`: Unix milliseconds. No secret, and no digest of one, is in it. */
export function liveSettingsOf(documents: readonly StoredDocument[], nowMs: number): LiveSettings {
  const ended = new Set<string>();
  for (const managed of [manualRules, manualBudgets, targetDrains])
    for (const each of readKind<Pick<Authorship, 'expiresAt'> & { readonly key: string }>(managed, documents).values)
      if (expiryMs(each) <= nowMs) ended.add(`${managed.kind}\n${each.key}`);
  const restricted = readKind(managedKeys, documents).values.filter(({ modelAccess }) => modelAccess !== undefined);
  return {
    at: timestamp(nowMs),
    documents: documents
      .filter((document) => isReplayed(document) && !ended.has(`${document.kind}\n${document.id}`))
      .map(({ kind, id, body }) => ({ kind, id, body })),
    keys: Object.fromEntries(restricted.map(({ id, allowedModels }) => [id, allowedModels])),
  };
}

/** With hashes in the place of names; without authors and reasons. */
export function hashedHead(head: TrafficHead, hash: HashName): TrafficHead {
  return { ...renamedHead(head, hash, anonymous), hashed: true };
}

/** With names in the place of those hashes that `reveal` knows. */
export function revealedHead(head: TrafficHead, reveal: HashName): TrafficHead {
  return renamedHead(head, reveal, (value) => value);
}

type Author = <Value extends Authorship>(value: Value) => Value;

/** A drain must have a reason. */
function anonymous<Value extends Authorship>(value: Value): Value {
  return { ...value, reason: 'not told', updatedBy: 'an operator' };
}

function renamedHead({ live, spent, ...head }: TrafficHead, rename: HashName, author: Author): TrafficHead {
  return {
    ...head,
    ...(live === undefined ? {} : { live: renamedLive(live, rename, author) }),
    ...(spent === undefined ? {} : { spent: spent.map((each) => renamedSpent(each, rename)) }),
  };
}

function renamedSpent(row: SpentBefore, rename: HashName): SpentBefore {
  const subject = (name: string): string => renamedSubject(row.scope, name, rename);
  return { ...row, subject: subject(row.subject), spent: row.spent.map(([name, amount]) => [subject(name), amount]) };
}

function renamedSubject(scope: string, name: string, rename: HashName): string {
  if (scope === 'user_path') return renamedPath(name, rename);
  return scope === 'label' ? rename(name) : name;
}

function renamedLive(live: LiveSettings, rename: HashName, author: Author): LiveSettings {
  const documents = live.documents.flatMap((document) => renamedDocument(document, rename, author) ?? []);
  const leftOut = (live.left_out ?? 0) + live.documents.length - documents.length;
  return {
    ...live,
    documents: documents.sort(inOrder),
    keys: Object.fromEntries(Object.entries(live.keys).map(([id, models]) => [rename(id), models])),
    ...(leftOut === 0 ? {} : { left_out: leftOut }),
  };
}

/** Undefined: it cannot be told without names. */
function renamedDocument(document: StoredDocument, rename: HashName, author: Author): StoredDocument | undefined {
  const { kind, id, body } = document;
  if (kind === manualRules.kind) {
    const rule = manualRules.read(id, body);
    if (rule === undefined) return undefined;
    const { name: _, ...said } = author(rule);
    const subject = renamedSubject(rule.scope, rule.subject, rename);
    return written(manualRules, ruleKey(rule.scope, subject.toLowerCase(), rule.periodSeconds), { ...said, subject });
  }
  if (kind === manualBudgets.kind) {
    const budget = manualBudgets.read(id, body);
    if (budget === undefined) return undefined;
    const { scope, periodSeconds } = budget;
    const subject = renamedSubject(scope, budget.subject, rename);
    const compared = scope === 'user_path' ? subject.toLowerCase() : subject;
    return written(manualBudgets, budgetKey(scope, compared, periodSeconds), { ...author(budget), subject });
  }
  if (kind === targetDrains.kind) {
    const drain = targetDrains.read(id, body);
    return drain && written(targetDrains, id, author(drain));
  }
  return kind === manualAliases.kind ? renamedAlias(document, rename) : document;
}

function renamedAlias({ id, body }: StoredDocument, rename: HashName): StoredDocument | undefined {
  if (JSON.stringify(body).includes('"when":')) return undefined;
  const alias = manualAliases.read(id, body);
  if (alias === undefined) return undefined;
  const { user_paths: paths, ...value } = alias.value;
  const renamed =
    paths === undefined ? value : { ...value, user_paths: paths.map((path) => renamedPath(path, rename)) };
  return written(manualAliases, id, { ...alias, value: renamed, updatedBy: 'an operator' });
}
