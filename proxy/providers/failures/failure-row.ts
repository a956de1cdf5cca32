// One row of the table of failures: the error of a vendor, and what it means.
import type { FailureKind, TargetTrouble } from '../../../domain/targets/failure-kind.ts';
import type { ProviderWords } from '../../dialects/dialect.ts';

/**
 * A row holds for every provider type: servers pass on the errors of those behind them, and an OpenAI-compatible server may be anyone's. All
 * that it names must hold.
 */
export interface FailureRow {
  /** `final`: the request is wrong, and no other target is asked. */
  readonly means: FailureKind | 'final';
  /** Why the next calls will fail, too; absent: it may be about this request alone. */
  readonly trouble?: TargetTrouble;
  /** Whose error it is. */
  readonly vendor: string;
  /** Where that is written, or was seen. */
  readonly source: string;
  /** HTTP statuses. Absent: any but 401 and 429, also none (an error within an answer of success). */
  readonly statuses?: readonly number[];
  /** One of its codes and types, that of an inner error of Azure included. */
  readonly codes?: RegExp;
  /** Its message. */
  readonly words?: RegExp;
}

/** The error of a provider. */
export interface SaidFailure {
  /** Of the answer, or of the error within it; undefined: an error in an answer of success that names none. */
  readonly status: number | undefined;
  readonly words: Pick<ProviderWords, 'message' | 'code' | 'type' | 'further'>;
}

/** The number of characters of a message that are searched. */
const mostWords = 2000;

/** These statuses have one meaning, whatever the words: only rows that name them hold. */
const plain: ReadonlySet<number | undefined> = new Set([401, 429]);

/** The first row that holds; undefined: none does. */
export function rowOf({ status, words }: SaidFailure, rows: readonly FailureRow[]): FailureRow | undefined {
  const codes = codesOf(words);
  const message = words.message.slice(0, mostWords);
  return rows.find((row) => {
    const hasStatus =
      row.statuses === undefined ? !plain.has(status) : status !== undefined && row.statuses.includes(status);
    if (!hasStatus || (row.words !== undefined && !row.words.test(message))) return false;
    const { codes: wanted } = row;
    return wanted === undefined || codes.some((code) => wanted.test(code));
  });
}

function codesOf({ code, type, further }: SaidFailure['words']): string[] {
  // learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter
  const inner = further['innererror'] as { readonly code?: unknown } | null | undefined;
  return [code, type, inner?.code].filter((said) => typeof said === 'string');
}
