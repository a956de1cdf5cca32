// Which provider a model of LiteLLM means: by the first part of its name, by `custom_llm_provider`, or by the name alone.
import type { ProviderType } from '../../../schemas/provider-addresses.ts';

export interface Kind {
  readonly type: ProviderType;
  /** The address, where it is not that of the type. */
  readonly address?: string;
  /** The usual variable of its key, where it is not that of the type. */
  readonly key?: string;
}

/** docs.litellm.ai/docs/providers */
const kinds: Readonly<Record<string, Kind>> = {
  openai: { type: 'openai' },
  'text-completion-openai': { type: 'openai' },
  custom_openai: { type: 'openai' },
  anthropic: { type: 'anthropic' },
  anthropic_text: { type: 'anthropic' },
  gemini: { type: 'gemini' },
  azure: { type: 'azure' },
  azure_text: { type: 'azure' },
  azure_ai: { type: 'azure', key: 'AZURE_AI_API_KEY' },
  bedrock: { type: 'bedrock' },
  bedrock_converse: { type: 'bedrock' },
  vertex_ai: { type: 'vertex' },
  vertex_ai_beta: { type: 'vertex' },
  openrouter: { type: 'openrouter' },
  groq: { type: 'groq' },
  xai: { type: 'xai' },
  mistral: { type: 'mistral' },
  deepseek: { type: 'deepseek' },
  together_ai: { type: 'together' },
  fireworks_ai: { type: 'fireworks' },
  perplexity: { type: 'perplexity' },
  cohere: { type: 'cohere' },
  cohere_chat: { type: 'cohere' },
  cerebras: { type: 'cerebras' },
  deepinfra: { type: 'deepinfra' },
  ollama: { type: 'ollama' },
  ollama_chat: { type: 'ollama' },
  vllm: { type: 'vllm' },
  hosted_vllm: { type: 'vllm' },
  nvidia_nim: { type: 'openai', address: 'https://integrate.api.nvidia.com/v1', key: 'NVIDIA_NIM_API_KEY' },
  sambanova: { type: 'openai', address: 'https://api.sambanova.ai/v1', key: 'SAMBANOVA_API_KEY' },
  moonshot: { type: 'openai', address: 'https://api.moonshot.ai/v1', key: 'MOONSHOT_API_KEY' },
  nebius: { type: 'openai', address: 'https://api.studio.nebius.ai/v1', key: 'NEBIUS_API_KEY' },
};

/** Servers with an API like that of OpenAI, which need `api_base`. */
const compatible = new Set(
  'openai_like litellm_proxy lm_studio llamafile xinference infinity nscale lemonade docker_model_runner'.split(' '),
);

/** Names without a provider, as LiteLLM knows them. */
const plainNames: readonly (readonly [RegExp, string])[] = [
  [
    /^(ft:)?(gpt-|chatgpt-|o[1-9](-|$)|text-embedding-|davinci|babbage|dall-e|whisper-|tts-|omni-moderation|codex)/i,
    'openai',
  ],
  [/^claude-/i, 'anthropic'],
  [/^(gemini-|text-bison|chat-bison)/i, 'vertex_ai'],
  [/^(command|embed-(english|multilingual)|rerank-)/i, 'cohere'],
  [/^(anthropic|amazon|meta|cohere|mistral|ai21)\.|^(us|eu|apac|global)\.[a-z0-9]+\./i, 'bedrock'],
  [/^(mistral|codestral|ministral|pixtral)-/i, 'mistral'],
  [/^deepseek-/i, 'deepseek'],
];

export interface Meant {
  /** As LiteLLM calls it. */
  readonly provider: string;
  readonly kind: Kind;
  /** As the provider knows it; may be a pattern. */
  readonly model: string;
}

/** Undefined: the provider is not one that the gateway can ask. `custom`: `custom_llm_provider`. `hasAddress`: there is an `api_base`. */
export function meantBy(text: string, custom: string | undefined, hasAddress: boolean): Meant | undefined {
  const [head = '', ...rest] = text.split('/');
  const known = (provider: string, model: string): Meant | undefined => {
    const kind = Object.hasOwn(kinds, provider) ? kinds[provider] : undefined;
    if (kind !== undefined) return { provider, kind, model };
    return compatible.has(provider) && hasAddress ? { provider, kind: { type: 'openai' }, model } : undefined;
  };
  const tail = rest.join('/');
  if (custom !== undefined) return known(custom, head === custom ? tail : text);
  if (rest.length > 0) return known(head, tail) ?? (hasAddress ? known('openai', text) : undefined);
  const [, provider] = plainNames.find(([form]) => form.test(text)) ?? [];
  if (hasAddress) return known('openai', text);
  return provider === undefined ? undefined : known(provider, text);
}

/** A model of Bedrock without what LiteLLM puts before it: the way of asking, and the region. */
export function bedrockModel(model: string): { model: string; region?: string | undefined } {
  const parts = model.split('/');
  const ways = new Set(['converse', 'converse_like', 'invoke', 'bedrock']);
  let region: string | undefined;
  while (parts.length > 1) {
    const [first = ''] = parts;
    if (/^(?:[a-z]{2}|us-gov)-[a-z]+-\d$/.test(first)) region = first;
    else if (!ways.has(first)) break;
    parts.shift();
  }
  return { model: parts.join('/'), region };
}

/** Whether Vertex is asked for a model that the gateway speaks to there: those of Google and of Anthropic. */
export function isVertexModel(model: string): boolean {
  return /^(gemini|claude|gemma|text-embedding|textembedding|text-multilingual|imagen)/i.test(model);
}
