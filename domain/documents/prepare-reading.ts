// What documents need before they can be read: the compiler of forms is loaded only where a guardrail has one.

import { loadFormCompiler } from '../../schemas/validation/answer-form.ts';
import { manualGuardrailKind } from '../guardrails/manual-guardrail.ts';

interface Unread {
  readonly kind: string;
  readonly body: unknown;
}

export async function prepareReading(documents: readonly Unread[]): Promise<void> {
  const hasForm = ({ kind, body }: Unread): boolean => {
    if (kind !== manualGuardrailKind) return false;
    const { guardrail } = (body ?? {}) as { readonly guardrail?: { readonly schema?: unknown } | null };
    return guardrail?.schema !== undefined;
  };
  if (documents.some(hasForm)) await loadFormCompiler();
}
