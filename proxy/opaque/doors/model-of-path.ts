// The facts of a provider's endpoint by its path alone: the format of its answers, and the model where the path names it.
import type { ClientDialectName } from '../../dialects/names.ts';

/** Operations whose answers the gateway understands. */
type Understood = ClientDialectName | 'embeddings' | 'count_tokens';

/** Endpoints whose answers are understood, by their path below the base URL. */
const operations: ReadonlyMap<string, Understood> = new Map([
  ['chat/completions', 'chat'],
  ['completions', 'completions'],
  ['responses', 'responses'],
  ['messages', 'messages'],
  ['messages/count_tokens', 'count_tokens'],
  ['embeddings', 'embeddings'],
]);

/** The format of OpenAI at Gemini, and at Azure and Groq below a base URL without a path. */
const compatible = /^openai\/(?:v1\/)?/;

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

/** Operations that take the model from the field `model` of a form, or from that member of JSON. */
const modelInForm: ReadonlySet<string> = new Set([
  'audio/transcriptions',
  'audio/translations',
  'images/edits',
  'images/variations',
]);

/** Where a body at an endpoint names its model. */
export type ModelContract = 'json' | 'form';

/** Where bytes are kept, and no model does anything: a file may be far too long to be searched for one. */
const keepsBytes: readonly RegExp[] = [/^files$/, /^containers\/[^/]+\/files$/, /^uploads\/[^/]+\/parts$/];

/**
 * Gemini and Vertex (`models/{model}:generateContent`), Bedrock (`model/{model}/converse`, where it may be an ARN with slashes) and Azure
 * (`deployments/{model}/chat/completions`), behind a version of the API where the base URL has none.
 */
const modelInPath: readonly RegExp[] = [
  /^(?:openai\/)?(?:v\d\w*\/)?(?:models|tunedModels)\/([^/:]+):[A-Za-z]+$/i,
  /^(?:.+\/)?publishers\/[^/]+\/models\/([^/:]+):[A-Za-z]+$/i,
  /^model\/(.+)\/[a-z-]+$/i,
  /^(?:openai\/)?deployments\/([^/]+)\/.+$/i,
];
/** How Gemini may be told a model in a body, and Bedrock in a path: `models/{model}`, and the ARN of a model that everyone has. */
const longForms: Readonly<Record<string, RegExp>> = {
  gemini: /^models\/(?=.)/i,
  bedrock: /^arn:[^/]+:(?:foundation-model|inference-profile)\/(?=.)/i,
};

/** The model that a path names; undefined: it names none. `endpoint`: here and below as its provider reads it, without escapes. */
export function modelOfPath(endpoint: string): string | undefined {
  for (const pattern of modelInPath) {
    const found = pattern.exec(endpoint)?.[1];
    if (found !== undefined) return found;
  }
  return undefined;
}

/** A name as rules and keys say it, of a provider of this type. */
export function plainModel(type: string, name: string): string {
  const longForm = longForms[type];
  return longForm === undefined ? name : name.replace(longForm, '');
}

/** The parameters `model` of a query, as some providers of speech are told the model. */
export function modelsOfQuery(query: string): readonly string[] {
  if (query === '') return [];
  return [...new URLSearchParams(query)].flatMap(([name, value]) => (name.toLowerCase() === 'model' ? [value] : []));
}

/** Where the body names the model, which the endpoint asks and no other; undefined: that is not known. */
export function modelContract(endpoint: string): ModelContract | undefined {
  if (takesModelFromBody(endpoint)) return 'json';
  return modelInForm.has(plainPath(endpoint)) ? 'form' : undefined;
}

/** Whether the endpoint asks the model that the member `model` of a JSON body names, and no other. */
export function takesModelFromBody(endpoint: string): boolean {
  const plain = plainPath(endpoint);
  return operations.has(plain) || modelInBody.has(plain);
}

/** Whether the endpoint takes bytes to keep them. */
export function keepsItsBody(endpoint: string): boolean {
  return keepsBytes.some((pattern) => pattern.test(endpoint));
}

/** The operation that is asked for; undefined: none that the gateway understands. */
export function operationOf(endpoint: string): Understood | undefined {
  const plain = plainPath(endpoint);
  const azure = /^(?:openai\/)?deployments\/[^/]+\/(.+)$/.exec(plain)?.[1];
  return operations.get(azure ?? plain);
}

/** Some servers read paths in any letter case. */
function plainPath(endpoint: string): string {
  return endpoint.toLowerCase().replace(compatible, '');
}
