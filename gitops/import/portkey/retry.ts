// Reads retries of Portkey, and the status codes after which another target is asked.
import type { DraftAlias } from '../draft.ts';
import type { Source, TreePiece } from '../source.ts';
import { spelled } from './target.ts';

const mostAttempts = 10;

/** What the failures of the configuration are called, by status code. */
function failureOf(status: number): string | undefined {
  if (status === 408 || status === 504) return 'timeout';
  if (status === 429) return 'rate_limit';
  if (status === 404) return 'model_gone';
  if (status === 401 || status === 402 || status === 403) return 'account';
  return status >= 500 && status < 600 ? 'server_error' : undefined;
}

/** `behind`: how many targets follow the first. Undefined: the file says nothing of it. */
export function readRetry(source: Source, node: TreePiece, behind: number, strategy?: TreePiece): DraftAlias['retry'] {
  const retry = source.tree(node, 'retry');
  const attempts = retry === undefined ? undefined : source.number(retry, 'attempts');
  const codes = [retry, strategy].flatMap((tree) =>
    tree === undefined ? [] : source.items(tree, spelled(tree, 'on_status_codes')).map(({ value }) => Number(value)),
  );
  const on = [...new Set(['unreachable', ...codes.flatMap((code) => failureOf(code) ?? [])])];
  if (attempts === undefined && codes.length === 0) return undefined;
  return {
    ...(attempts === undefined
      ? {}
      : { attempts: Math.min(Math.max(1, Math.floor(attempts) + 1 + behind), mostAttempts) }),
    ...(codes.length === 0 ? {} : { on }),
  };
}
