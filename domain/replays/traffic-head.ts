// The first line of a file of traffic: the time that it is of, and what a plan has to know besides the requests.
import { parseMoment } from '../../schemas/formats/moment.ts';
import { type BudgetScope, budgetScopes } from '../budgets/budget.ts';
import { budgetSettings, manualAliases, manualBudgets, manualRules, targetDrains } from '../documents/kinds.ts';
import type { StoredDocument } from '../documents/managed-kind.ts';
import { inOrder } from '../documents/order.ts';
import type { NanoDollars } from '../records/usage.ts';

export interface TrafficHead {
  readonly traffic: 1;
  /** RFC 3339: from the first moment to just before the second. */
  readonly from: string;
  readonly to: string;
  /** The share of the requests that is in it, 0 to 1. */
  readonly share: number;
  /** User paths, keys, labels and sessions are replaced by hashes. */
  readonly hashed: boolean;
  /** RFC 3339: requests from this moment to `from` only fill the windows of limits. */
  readonly warm_from?: string;
  /** Absent: not known. */
  readonly live?: LiveSettings;
  /** What budgets had spent before the first line. Of others it is not known. */
  readonly spent?: readonly SpentBefore[];
}

/** What operators had set outside of git when the file was written. */
export interface LiveSettings {
  /** RFC 3339. */
  readonly at: string;
  /** Rules, budgets, aliases and drains as the state store has them, sorted; those that had ended are left out. */
  readonly documents: readonly StoredDocument[];
  /** What issued keys may ask for, by id; those that are not listed: every model. */
  readonly keys: Readonly<Record<string, readonly string[]>>;
  /** How many are left out, such as aliases in whose conditions hashes cannot stand. */
  readonly left_out?: number;
}

/** A budget in a window that began before the first line. */
export interface SpentBefore {
  readonly scope: BudgetScope;
  /** To compare. */
  readonly subject: string;
  readonly per_child: boolean;
  readonly period_seconds: number;
  /** When the window began. Unix milliseconds. */
  readonly window_ms: number;
  /** By subject: of a template, the child. Nothing spent: not listed. */
  readonly spent: readonly (readonly [subject: string, amount: NanoDollars])[];
}

/** Unix milliseconds of a moment of a head. */
export function momentOf(text: string): number {
  return parseMoment(text) ?? 0;
}

/** The kinds of documents that change what a replay decides. */
export const replayedKinds = [manualRules, manualAliases, manualBudgets, budgetSettings, targetDrains] as const;
const kindNames: ReadonlySet<string> = new Set(replayedKinds.map(({ kind }) => kind));

export function isReplayed({ kind }: Pick<StoredDocument, 'kind'>): boolean {
  return kindNames.has(kind);
}

/** The head of a file of traffic; or what is wrong with it, as the end of a sentence. Unknown members are ignored. */
export function readTrafficHead(value: unknown): TrafficHead | string {
  const { traffic, from, to, share, hashed, warm_from: warmFrom, live, spent } = membersOf(value);
  if (traffic !== 1)
    return 'is not the head of a file of traffic: {"traffic":1,…}, as model-gateway export traffic writes it';
  if (!isMoment(from)) return 'has no valid "from": RFC 3339';
  if (!isMoment(to)) return 'has no valid "to": RFC 3339';
  if (typeof share !== 'number' || !(share > 0 && share <= 1)) return 'has no valid "share": above 0, at most 1';
  if (warmFrom !== undefined && !(isMoment(warmFrom) && momentOf(warmFrom) <= momentOf(from)))
    return 'has a wrong "warm_from": RFC 3339, not after "from"';
  const settings = live === undefined ? undefined : readLive(live);
  if (typeof settings === 'string') return settings;
  if (spent !== undefined && !(Array.isArray(spent) && spent.every(isSpentBefore)))
    return 'has a wrong "spent": a list of {"scope", "subject", "per_child", "period_seconds", "window_ms", "spent"}';
  return {
    traffic,
    from,
    to,
    share,
    hashed: hashed === true,
    ...(warmFrom === undefined ? {} : { warm_from: warmFrom }),
    ...(settings === undefined ? {} : { live: settings }),
    ...(spent === undefined ? {} : { spent: spent as readonly SpentBefore[] }),
  };
}

function readLive(value: unknown): LiveSettings | string {
  const { at, documents, keys, left_out: leftOut } = membersOf(value);
  if (!isMoment(at)) return 'has no valid "live.at": RFC 3339';
  if (!Array.isArray(documents) || !documents.every(isDocument))
    return 'has wrong "live.documents": a list of {"kind", "id", "body"}';
  if (!Object.values(membersOf(keys)).every(isTexts))
    return 'has wrong "live.keys": lists of models, by the id of a key';
  return {
    at,
    documents: documents.filter(isReplayed).sort(inOrder),
    keys: membersOf(keys) as LiveSettings['keys'],
    ...(isAmount(leftOut) ? { left_out: leftOut } : {}),
  };
}

function isDocument(value: unknown): value is StoredDocument {
  const { kind, id, body } = membersOf(value);
  return typeof kind === 'string' && typeof id === 'string' && typeof body === 'object' && body !== null;
}

function isSpentBefore(value: unknown): boolean {
  const { scope, subject, per_child: perChild, period_seconds: seconds, window_ms: atMs, spent } = membersOf(value);
  const isRow = (row: unknown): boolean =>
    Array.isArray(row) && row.length === 2 && typeof row[0] === 'string' && isAmount(row[1]);
  return (
    budgetScopes.some((each) => each === scope) &&
    typeof subject === 'string' &&
    typeof perChild === 'boolean' &&
    isAmount(seconds) &&
    isAmount(atMs) &&
    Array.isArray(spent) &&
    spent.every(isRow)
  );
}

function isTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

function isMoment(value: unknown): value is string {
  return typeof value === 'string' && parseMoment(value) !== undefined;
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER;
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
