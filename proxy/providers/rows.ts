// The provider types, a row each, and which row is in force at an address.
import type { ProviderType } from '../../schemas/provider-addresses.ts';
import type { DialectName } from '../dialects/names.ts';
import { azure, azureAt, bedrock, vertex, vertexAt } from './clouds.ts';
import { cerebras, deepinfra, fireworks, groq, openrouter, together } from './hosts.ts';
import { anthropic, cohere, deepseek, gemini, mistral, openai, perplexity, xai } from './makers.ts';
import { declaredMedia, isMedia, type MediaDialect } from './media.ts';
import { compatible, ollama, vllm } from './own-servers.ts';
import type { Row, Speakable, Speech } from './row.ts';
import { plainSpeeches } from './speeches.ts';

/** By the name of the type in the config. */
export const rows: Readonly<Record<ProviderType, Row>> = {
  openai,
  anthropic,
  gemini,
  azure,
  bedrock,
  vertex,
  openrouter,
  groq,
  xai,
  mistral,
  deepseek,
  together,
  fireworks,
  perplexity,
  cohere,
  cerebras,
  deepinfra,
  ollama,
  vllm,
};

/** The dialects that the configuration declares for a server. */
export type DeclaredDialects = readonly (TextDialect | MediaDialect)[];

type TextDialect = DialectName | 'embeddings' | 'realtime';

/**
 * The row of a provider. Its address counts, because `type: openai` stands for every compatible server, and because clouds have several
 * forms of address. `declared` replaces what the server is said to speak: where the row does not know a dialect, the usual path counts.
 */
export function rowOf(type: ProviderType, baseUrl: string, declared?: DeclaredDialects): Row {
  const row = rowAt(type, new URL(baseUrl));
  if (declared === undefined) return row;
  const spoken = declared.filter((name): name is TextDialect => !isMedia(name));
  return { ...row, speeches: speechesOf(row, spoken), media: declaredMedia(row, declared.filter(isMedia)) };
}

function rowAt(type: ProviderType, url: URL): Row {
  if (type === 'openai') return isOpenAi(url) ? openai : compatible;
  if (type === 'azure') return azureAt(url);
  return type === 'vertex' ? vertexAt(url) : rows[type];
}

/** With the hosts of its regions, such as `eu.api.openai.com`. */
function isOpenAi({ hostname }: URL): boolean {
  return hostname === 'api.openai.com' || hostname.endsWith('.api.openai.com');
}

function speechesOf({ speeches }: Row, declared: readonly TextDialect[]): Row['speeches'] {
  const chosen: [Speakable, Speech][] = declared.map((name) => [name, speeches[name] ?? plainSpeeches[name]]);
  const { count_tokens: counting } = speeches;
  if (counting !== undefined && declared.includes('messages')) chosen.push(['count_tokens', counting]);
  // A server that has neither says so itself.
  if (declared.includes('responses'))
    for (const name of ['compact', 'input_tokens'] as const) chosen.push([name, speeches[name] ?? plainSpeeches[name]]);
  return Object.fromEntries(chosen) as Row['speeches'];
}
