// What is known of an endpoint of a provider by its path alone: what it answers with, and the model where the path names it.
import type { ClientDialectName } from '../dialects/names.ts';

/** What the gateway understands the answers of. */
type Understood = ClientDialectName | 'embeddings' | 'count_tokens';

/** Endpoints whose answers are understood, by their path below the base URL. */
const operations: ReadonlyMap<string, Understood> = new Map([
  ['chat/completions', 'chat'],
  ['completions', 'completions'],
  ['responses', 'responses'],
  ['messages', 'messages'],
  ['messages/count_tokens', 'count_tokens'],
  ['embeddings', 'embeddings'],
  // The OpenAI format of Gemini.
  ['openai/chat/completions', 'chat'],
  ['openai/embeddings', 'embeddings'],
]);

/** Others that take the model from the member `model` of their body. */
const modelInBody: ReadonlySet<string> = new Set([
  'moderations',
  'images/generations',
  'audio/speech',
  'rerank',
  'fim/completions',
  'responses/compact',
  'responses/input_tokens',
]);

/** Gemini (`models/{model}:generateContent`), Bedrock (`model/{model}/converse`) and Azure (`deployments/{model}/chat/completions`). */
const modelInPath: readonly RegExp[] = [
  /^(?:openai\/)?models\/([^/:]+):[A-Za-z]+$/,
  /^publishers\/[^/]+\/models\/([^/:]+):[A-Za-z]+$/,
  /^model\/([^/]+)\/[a-z-]+$/,
  /^(?:openai\/)?deployments\/([^/]+)\/.+$/,
];

/** The model that the path names, decoded; undefined: it names none. */
export function modelOfPath(endpoint: string): string | undefined {
  for (const pattern of modelInPath) {
    const found = pattern.exec(endpoint)?.[1];
    if (found !== undefined) return decodeURIComponent(found);
  }
  return undefined;
}

/** Whether the endpoint asks the model that the body names, and no other. */
export function takesModelFromBody(endpoint: string): boolean {
  return operations.has(endpoint) || modelInBody.has(endpoint);
}

/** What is asked for; undefined: nothing that the gateway understands. */
export function operationOf(endpoint: string): Understood | undefined {
  const azure = /^(?:openai\/)?deployments\/[^/]+\/(.+)$/.exec(endpoint)?.[1];
  return operations.get(azure ?? endpoint);
}
