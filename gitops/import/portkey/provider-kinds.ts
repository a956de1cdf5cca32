// Which type of provider a name of Portkey means: as it calls providers, or as people name their virtual keys.
import type { ProviderType } from '../../../schemas/provider-addresses.ts';

/** portkey.ai/docs/integrations/llms */
const types: Readonly<Record<string, ProviderType>> = {
  openai: 'openai',
  anthropic: 'anthropic',
  google: 'gemini',
  'azure-openai': 'azure',
  'azure-ai': 'azure',
  bedrock: 'bedrock',
  'vertex-ai': 'vertex',
  openrouter: 'openrouter',
  groq: 'groq',
  'x-ai': 'xai',
  'mistral-ai': 'mistral',
  deepseek: 'deepseek',
  'together-ai': 'together',
  'fireworks-ai': 'fireworks',
  'perplexity-ai': 'perplexity',
  cohere: 'cohere',
  cerebras: 'cerebras',
  deepinfra: 'deepinfra',
  ollama: 'ollama',
};

/** Words in names of virtual keys; the first that occurs counts. */
const words: readonly (readonly [string, ProviderType])[] = [
  ['azure', 'azure'],
  ['openrouter', 'openrouter'],
  ['openai', 'openai'],
  ['anthropic', 'anthropic'],
  ['claude', 'anthropic'],
  ['bedrock', 'bedrock'],
  ['vertex', 'vertex'],
  ['gemini', 'gemini'],
  ['google', 'gemini'],
  ['groq', 'groq'],
  ['xai', 'xai'],
  ['x-ai', 'xai'],
  ['grok', 'xai'],
  ['mistral', 'mistral'],
  ['deepseek', 'deepseek'],
  ['together', 'together'],
  ['fireworks', 'fireworks'],
  ['perplexity', 'perplexity'],
  ['cohere', 'cohere'],
  ['cerebras', 'cerebras'],
  ['deepinfra', 'deepinfra'],
  ['ollama', 'ollama'],
];

/** The type of a provider that Portkey calls so; `hasAddress`: an unknown one counts as compatible with OpenAI. */
export function typeOf(provider: string, hasAddress: boolean): ProviderType | undefined {
  const known = Object.hasOwn(types, provider) ? types[provider] : undefined;
  return known ?? (hasAddress ? 'openai' : undefined);
}

/** The type that the name of a virtual key, or of an integration, suggests. */
export function guessedType(slug: string): ProviderType | undefined {
  const folded = slug.toLowerCase();
  return words.find(([word]) => folded.includes(word))?.[1];
}
