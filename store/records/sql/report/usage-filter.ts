// Makes a usage filter into numbers: the models, user paths and label that records must have.
import type { Span, UsageFilter } from '../../record-store.ts';
import { isAskedBy } from '../asked-by.ts';
import { allOf, type Condition, condition } from '../condition.ts';
import type { Statements } from '../database.ts';
import { plainText } from '../plain-values.ts';
import { belowUserPath, isSession } from '../search/sought.ts';
import { dictionaries, type NamedColumn } from '../write/usage-names.ts';

export interface SoughtUsage {
  readonly span: Span;
  /** Undefined: all. */
  readonly model: readonly number[] | undefined;
  readonly path: readonly number[] | undefined;
  readonly label: number | undefined;
  readonly sessionId: string | undefined;
  readonly cacheMode: UsageFilter['cacheMode'];
  /** See `UsageFilter`. */
  readonly isRecent: boolean;
}

/** Undefined: nothing can match. A text that is empty asks for nothing. */
export async function seekUsage(statements: Statements, filter: UsageFilter): Promise<SoughtUsage | undefined> {
  const { span, userPath = '', label = '', sessionId = '', askedBy, cacheMode, isRecent = false } = filter;
  const paths = [belowUserPath(userPath, 'folded_path'), isAskedBy(askedBy)];
  const isPath = paths.some((each) => each !== undefined) ? allOf(...paths) : undefined;
  const isModel = modelCondition(filter);
  const model = isModel && (await numbersLike(statements, 'model', isModel));
  const path = isPath && (await numbersLike(statements, 'path', isPath));
  const isLabel = label === '' ? undefined : condition('label = ?', plainText(label));
  const labels = isLabel && (await numbersLike(statements, 'label', isLabel));
  if ([model, path, labels].some((numbers) => numbers?.length === 0) || span.fromMs >= span.toMs) return undefined;
  const session = sessionId === '' ? undefined : sessionId;
  return { span, model, path, label: labels?.[0], sessionId: session, cacheMode, isRecent };
}

function modelCondition({ model = '', provider = '' }: UsageFilter): Condition | undefined {
  if (model === '' && provider === '') return undefined;
  const [name, place] = [plainText(model), plainText(provider)];
  return allOf(
    name === '' ? undefined : condition("model = ? OR provider_name || '/' || model = ?", name, name),
    place === '' ? undefined : condition('provider = ? OR provider_name = ?', place, place),
  );
}

/** The numbers of names that are so. */
export async function numbersLike(statements: Statements, column: NamedColumn, where: Condition): Promise<number[]> {
  const rows = await statements.all(`SELECT id FROM ${dictionaries[column].table} WHERE ${where.sql}`, ...where.values);
  return rows.map(({ id }) => Number(id));
}

/** Of rows of `usage` and of its sums alike: what they have in common. */
export function namesCondition({ dialect }: Statements, { model, path, cacheMode }: SoughtUsage): Condition {
  return allOf(
    model && condition(dialect.isOneOf('model', 'BIGINT'), model),
    path && condition(dialect.isOneOf('path', 'BIGINT'), path),
    cacheMode === 'all' ? undefined : condition(cacheMode === 'cached' ? "cache_type <> ''" : "cache_type = ''"),
  );
}

/** Of rows of `usage`, whose moment is asked for besides. `isShort`: few rows have such a moment. */
export function recordCondition(statements: Statements, sought: SoughtUsage, isShort: boolean): Condition {
  const { label, sessionId } = sought;
  // Where few rows are left, their labels are looked up; otherwise the rows of the label.
  const hasLabel = isShort
    ? 'EXISTS (SELECT 1 FROM usage_label WHERE usage_label.usage = usage.id AND usage_label.label = ?)'
    : 'usage.id IN (SELECT usage_label.usage FROM usage_label WHERE usage_label.label = ?)';
  return allOf(
    namesCondition(statements, sought),
    label === undefined ? undefined : condition(hasLabel, label),
    sessionId === undefined ? undefined : isSession('session_id', sessionId),
  );
}
