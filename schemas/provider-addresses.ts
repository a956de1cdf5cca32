// Where the API of each provider type is: the default base URL, and an example for each type that needs one in the configuration.
import type { Provider } from './types.ts';

/** The types of providers, as the config names them. */
export type ProviderType = Provider['type'];

/** Base URLs by type; undefined: each customer has an address of its own. */
export const defaultAddresses: Readonly<Record<ProviderType, string | undefined>> = {
  openai: 'https://api.openai.com/v1',
  anthropic: 'https://api.anthropic.com/v1',
  gemini: 'https://generativelanguage.googleapis.com/v1beta',
  azure: undefined,
  bedrock: undefined,
  vertex: undefined,
  openrouter: 'https://openrouter.ai/api/v1',
  groq: 'https://api.groq.com/openai/v1',
  xai: 'https://api.x.ai/v1',
  mistral: 'https://api.mistral.ai/v1',
  deepseek: 'https://api.deepseek.com',
  together: 'https://api.together.ai/v1',
  fireworks: 'https://api.fireworks.ai/inference/v1',
  perplexity: 'https://api.perplexity.ai/v1',
  cohere: 'https://api.cohere.ai/compatibility/v1',
  cerebras: 'https://api.cerebras.ai/v1',
  deepinfra: 'https://api.deepinfra.com/v1/openai',
  ollama: 'http://localhost:11434/v1',
  vllm: 'http://localhost:8000/v1',
};

/** Types whose servers people run themselves, mostly without a key. */
export const typesWithOptionalKey: ReadonlySet<ProviderType> = new Set(['ollama', 'vllm'] as const);

/** An example base URL for each type without a common address. */
export const exampleAddresses = {
  azure: 'https://my-resource.openai.azure.com/openai/v1',
  bedrock: 'https://bedrock-runtime.us-east-1.amazonaws.com',
  vertex: 'https://us-central1-aiplatform.googleapis.com/v1/projects/my-project/locations/us-central1',
} as const satisfies Partial<Record<ProviderType, string>>;

/** Types that have no list of the models that a key may use, so the config has to list them. */
export const typesWithoutModelList: ReadonlySet<ProviderType> = new Set(['azure', 'bedrock', 'vertex'] as const);
