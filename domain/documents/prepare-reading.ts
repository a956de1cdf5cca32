// Loads what only some documents need before they are read: the compiler of JSON Schemas for a guardrail with a schema, the parser of conditions
// for an alias with one.

import { loadFormCompiler } from '../../schemas/validation/answer-form.ts';
import { loadExpressionParser } from '../../schemas/validation/parse-expression.ts';
import { manualAliasKind } from '../aliases/manual-alias.ts';
import { manualGuardrailKind } from '../guardrails/manual-guardrail.ts';

interface Unread {
  readonly kind: string;
  readonly body: unknown;
}

function hasCondition({ kind, body }: Unread): boolean {
  return kind === manualAliasKind && JSON.stringify(body ?? null).includes('"when":');
}

/** Resolves when all of `documents` can be read. Rejects when the compiler cannot be loaded. */
export async function prepareReading(documents: readonly Unread[]): Promise<void> {
  const hasForm = ({ kind, body }: Unread): boolean => {
    if (kind !== manualGuardrailKind) return false;
    const { guardrail } = (body ?? {}) as { readonly guardrail?: { readonly schema?: unknown } | null };
    return guardrail?.schema !== undefined;
  };
  if (documents.some(hasForm)) await loadFormCompiler();
  if (documents.some(hasCondition)) await loadExpressionParser();
}
