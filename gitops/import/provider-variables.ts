// The environment variables in which people keep the keys and addresses of each type of provider, the most usual name first.
import type { ProviderType } from '../../schemas/provider-addresses.ts';

interface ProviderVariables {
  readonly keys: readonly string[];
  /** Of the address; what `path` says is added to it. */
  readonly addresses: readonly string[];
  /** What the address lacks of a base URL. */
  readonly path: string;
}

/** Names as the libraries of the providers and LiteLLM have them. Bedrock and Vertex have several parts: `cloudVariables`. */
export const providerVariables: Readonly<Record<ProviderType, ProviderVariables>> = {
  openai: { keys: ['OPENAI_API_KEY'], addresses: ['OPENAI_BASE_URL', 'OPENAI_API_BASE'], path: '' },
  anthropic: { keys: ['ANTHROPIC_API_KEY'], addresses: ['ANTHROPIC_BASE_URL', 'ANTHROPIC_API_BASE'], path: '/v1' },
  gemini: { keys: ['GEMINI_API_KEY', 'GOOGLE_API_KEY'], addresses: ['GEMINI_API_BASE'], path: '/v1beta' },
  azure: {
    keys: ['AZURE_API_KEY', 'AZURE_OPENAI_API_KEY'],
    addresses: ['AZURE_API_BASE', 'AZURE_OPENAI_ENDPOINT'],
    path: '',
  },
  bedrock: { keys: ['AWS_BEARER_TOKEN_BEDROCK'], addresses: [], path: '' },
  vertex: { keys: ['VERTEX_ACCESS_TOKEN'], addresses: [], path: '' },
  openrouter: { keys: ['OPENROUTER_API_KEY'], addresses: ['OPENROUTER_API_BASE'], path: '' },
  groq: { keys: ['GROQ_API_KEY'], addresses: ['GROQ_API_BASE'], path: '' },
  xai: { keys: ['XAI_API_KEY'], addresses: ['XAI_API_BASE'], path: '' },
  mistral: { keys: ['MISTRAL_API_KEY'], addresses: ['MISTRAL_API_BASE'], path: '' },
  deepseek: { keys: ['DEEPSEEK_API_KEY'], addresses: ['DEEPSEEK_API_BASE'], path: '' },
  together: { keys: ['TOGETHERAI_API_KEY', 'TOGETHER_API_KEY'], addresses: [], path: '' },
  fireworks: { keys: ['FIREWORKS_API_KEY', 'FIREWORKS_AI_API_KEY'], addresses: ['FIREWORKS_API_BASE'], path: '' },
  perplexity: { keys: ['PERPLEXITYAI_API_KEY', 'PERPLEXITY_API_KEY'], addresses: [], path: '' },
  cohere: { keys: ['COHERE_API_KEY', 'CO_API_KEY'], addresses: [], path: '' },
  cerebras: { keys: ['CEREBRAS_API_KEY'], addresses: ['CEREBRAS_API_BASE'], path: '' },
  deepinfra: { keys: ['DEEPINFRA_API_KEY', 'DEEPINFRA_TOKEN'], addresses: [], path: '' },
  ollama: { keys: ['OLLAMA_API_KEY'], addresses: ['OLLAMA_API_BASE'], path: '/v1' },
  vllm: {
    keys: ['HOSTED_VLLM_API_KEY', 'VLLM_API_KEY'],
    addresses: ['HOSTED_VLLM_API_BASE', 'VLLM_BASE_URL'],
    path: '',
  },
};

/** The usual name of the variable that holds the key of a type. */
export function keyVariable(type: ProviderType): string {
  return providerVariables[type].keys[0] ?? `${type.toUpperCase()}_API_KEY`;
}

/** The parts of the keys and addresses of clouds. */
export const cloudVariables = {
  awsId: 'AWS_ACCESS_KEY_ID',
  awsSecret: 'AWS_SECRET_ACCESS_KEY',
  awsToken: 'AWS_SESSION_TOKEN',
  awsRegions: ['AWS_REGION_NAME', 'AWS_REGION', 'AWS_DEFAULT_REGION'],
  vertexProjects: ['VERTEXAI_PROJECT', 'GOOGLE_CLOUD_PROJECT'],
  vertexLocations: ['VERTEXAI_LOCATION', 'GOOGLE_CLOUD_LOCATION'],
  azureVersions: ['AZURE_API_VERSION', 'OPENAI_API_VERSION'],
} as const;
