// What the error of a provider means: the one place where status, codes and words become a kind of failure.
import type { Diagnosis, FailureKind } from '../../../domain/targets/failure-kind.ts';
import { forbidden, refusedKeys, usedUpAccounts } from './account.ts';
import { contentFilter } from './content-filter.ts';
import { contextLength } from './context-length.ts';
import { type FailureRow, rowOf, type SaidFailure } from './failure-row.ts';
import { missingModels, missingThings } from './model-gone.ts';
import { byStatus, notNow } from './not-now.ts';

/** In the order in which they are tried: what says most comes first. */
export const failureRows: readonly FailureRow[] = [
  ...contextLength,
  ...contentFilter,
  ...usedUpAccounts,
  ...notNow,
  ...missingModels,
  ...refusedKeys,
  ...forbidden,
  ...missingThings,
  ...byStatus,
];

/** The status of an error that comes with none, in an answer of success. */
const statuses: Readonly<Partial<Record<FailureKind, number>>> = {
  context_length: 400,
  content_filter: 400,
  account: 402,
  model_gone: 404,
  rate_limit: 429,
};

const refusedKey: Diagnosis = Object.freeze({ kind: 'account', trouble: 'key_refused' });

/** What an error of a complete answer means for the request and for its target. */
export function diagnose(said: SaidFailure): Diagnosis {
  const { status } = said;
  if (status === 401) return refusedKey;
  const row = rowOf(said, failureRows);
  if (row !== undefined) {
    const kind = row.means === 'final' ? undefined : row.means;
    return { kind, trouble: row.trouble, waitMs: status === 429 ? delayMs(said.words.further) : undefined };
  }
  if (status === undefined) return { kind: 'invalid_answer', trouble: undefined };
  return { kind: status >= 500 ? 'server_error' : undefined, trouble: undefined };
}

const seconds = /^(\d{1,6}(?:\.\d{1,9})?)s$/;

/** The delay that Google names in a body and not in a header: cloud.google.com/apis/design/errors (RetryInfo). Milliseconds. */
function delayMs({ retryDelay, details }: SaidFailure['words']['further']): number | undefined {
  const infos: readonly unknown[] = Array.isArray(details) ? details : [];
  const told = [{ retryDelay }, ...infos] as readonly ({ readonly retryDelay?: unknown } | null)[];
  const found = told.map((info) => seconds.exec(String(info?.retryDelay))?.[1]).find((text) => text !== undefined);
  return found === undefined ? undefined : Number(found) * 1000;
}

/** The status that an error of this kind would have had; undefined: that is not known. */
export function statusOfKind(kind: FailureKind | undefined): number | undefined {
  return kind === undefined ? undefined : statuses[kind];
}
