// Loads the compiler of JSON Schemas before documents are read, only where a stored guardrail has a schema.

import { loadFormCompiler } from '../../schemas/validation/answer-form.ts';
import { manualGuardrailKind } from '../guardrails/manual-guardrail.ts';

interface Unread {
  readonly kind: string;
  readonly body: unknown;
}

/** Resolves when all of `documents` can be read. Rejects when the compiler cannot be loaded. */
export async function prepareReading(documents: readonly Unread[]): Promise<void> {
  const hasForm = ({ kind, body }: Unread): boolean => {
    if (kind !== manualGuardrailKind) return false;
    const { guardrail } = (body ?? {}) as { readonly guardrail?: { readonly schema?: unknown } | null };
    return guardrail?.schema !== undefined;
  };
  if (documents.some(hasForm)) await loadFormCompiler();
}
