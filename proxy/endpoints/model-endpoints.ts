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
  /** Its answers can be asked for later. */
  readonly keepsAnswers: boolean;
  /** Requests can go on from an answer that was kept. */
  readonly goesOn: boolean;
  /** Where no target of the model can be asked. */
  readonly refusedAs: 'unsupported_operation' | 'endpoint_not_supported';
}

export interface ModelEndpoint extends ModelRow {
  /** The row for calls that have one member and lack another. */
  readonly otherwise?: { readonly has: string; readonly lacks: string; readonly row: ModelRow };
}

const counted = { isCounted: true, keepsAnswers: false, goesOn: false, refusedAs: 'unsupported_operation' } as const;
/** Below the path of one response, but no id of one. */
const ofResponses = { ...counted, surface: 'openai', goesOn: true, refusedAs: 'endpoint_not_supported' } as const;
const chat = { path: '/v1/chat/completions', operation: 'chat', surface: 'openai', ...counted } as const;

export const modelEndpoints: readonly ModelEndpoint[] = [
  { ...chat, otherwise: { has: 'input', lacks: 'messages', row: { ...chat, operation: 'chat_of_input' } } },
  { path: '/v1/completions', operation: 'completions', surface: 'openai', ...counted },
  { ...counted, path: '/v1/responses', operation: 'responses', surface: 'openai', keepsAnswers: true, goesOn: true },
  { ...ofResponses, path: '/v1/responses/compact', operation: 'compact' },
  // It asks no model, as the counting of messages.
  { ...ofResponses, path: '/v1/responses/input_tokens', operation: 'input_tokens', isCounted: false },
  { path: '/v1/messages', operation: 'messages', surface: 'anthropic', ...counted },
  // It asks no model, and providers charge nothing for it.
  {
    ...counted,
    path: '/v1/messages/count_tokens',
    operation: 'count_tokens',
    surface: 'anthropic',
    isCounted: false,
  },
  { path: '/v1/embeddings', operation: 'embeddings', surface: 'openai', ...counted },
];

/** Whose requests ask for words, so that those of two models can be compared. */
export const mirroredOperations: ReadonlySet<Operation> = new Set([
  'chat',
  'chat_of_input',
  'completions',
  'messages',
  'responses',
]);
