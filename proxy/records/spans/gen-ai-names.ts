// The words of the semantic conventions for generative AI: what an endpoint does, and who a provider is.
// https://github.com/open-telemetry/semantic-conventions-genai, in the state of 2026 ("development"); names without a well-known value are custom ones.

const operations: ReadonlyMap<string, string> = new Map([
  ['/v1/chat/completions', 'chat'],
  ['/v1/responses', 'chat'],
  ['/v1/messages', 'chat'],
  ['/v1/completions', 'text_completion'],
  ['/v1/embeddings', 'embeddings'],
  ['/p/*', 'passthrough'],
]);

/** `gen_ai.operation.name` of an endpoint, as metrics say it; one of few. */
export function operationOf(endpoint: string): string {
  const known = operations.get(endpoint);
  if (known !== undefined) return known;
  const words = endpoint.split('/').filter((word) => /^[a-z_]+$/.test(word));
  return words.join('_');
}

/** By provider type; the others are called by their type. */
const providers: ReadonlyMap<string, string> = new Map([
  ['azure', 'azure.ai.openai'],
  ['bedrock', 'aws.bedrock'],
  ['gemini', 'gcp.gemini'],
  ['mistral', 'mistral_ai'],
  ['vertex', 'gcp.vertex_ai'],
  ['xai', 'x_ai'],
]);

/** `gen_ai.provider.name` of a provider type. */
export function providerNameOf(type: string): string {
  return providers.get(type) ?? type;
}
