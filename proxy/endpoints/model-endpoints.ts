// The model endpoints: a row each, data and no callbacks. pipeline.ts serves them all.
import type { Operation, Surface } from '../dialects/dialect.ts';

/** How calls of an endpoint are served. */
export interface ModelRow {
  readonly path: string;
  readonly operation: Operation;
  /** Whose clients ask here: that decides some headers. */
  readonly surface: Surface;
  /** Rules count its requests and tokens, and refuse them (spec, Limits 1). */
  readonly isCounted: boolean;
  /** Its answers can be asked for later, and requests can go on from them. */
  readonly keepsAnswers: boolean;
}

export interface ModelEndpoint extends ModelRow {
  /** The row for calls that have one member and lack another. */
  readonly otherwise?: { readonly has: string; readonly lacks: string; readonly row: ModelRow };
}

const counted = { isCounted: true, keepsAnswers: false } as const;
const chat = { path: '/v1/chat/completions', operation: 'chat', surface: 'openai', ...counted } as const;

export const modelEndpoints: readonly ModelEndpoint[] = [
  { ...chat, otherwise: { has: 'input', lacks: 'messages', row: { ...chat, operation: 'chat_of_input' } } },
  { path: '/v1/completions', operation: 'completions', surface: 'openai', ...counted },
  { path: '/v1/responses', operation: 'responses', surface: 'openai', isCounted: true, keepsAnswers: true },
  { path: '/v1/messages', operation: 'messages', surface: 'anthropic', ...counted },
  // It asks no model, and providers charge nothing for it.
  {
    path: '/v1/messages/count_tokens',
    operation: 'count_tokens',
    surface: 'anthropic',
    isCounted: false,
    keepsAnswers: false,
  },
  { path: '/v1/embeddings', operation: 'embeddings', surface: 'openai', ...counted },
];
