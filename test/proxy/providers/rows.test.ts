// What is known of each provider type: laws that hold for all rows, and the address of each thing that each type can be asked.

import { isAbsolute } from 'node:path/posix';
import { test } from 'tap';
import { modelListPath, speechPath } from '../../../proxy/providers/paths.ts';
import type { Row, Speakable, Speech } from '../../../proxy/providers/row.ts';
import { rowOf, rows } from '../../../proxy/providers/rows.ts';
import providersSchema from '../../../schemas/config/providers.schema.json' with { type: 'json' };
import {
  defaultAddresses,
  exampleAddresses,
  type ProviderType,
  typesWithoutModelList,
} from '../../../schemas/provider-addresses.ts';

const types = Object.keys(rows) as ProviderType[];
const addresses: Readonly<Record<string, string | undefined>> = { ...defaultAddresses, ...exampleAddresses };
const addressOf = (type: string): string => addresses[type] ?? '';
const speechesOf = ({ speeches }: Row) => Object.entries(speeches) as [Speakable, Speech][];

/** Where each speech of a provider goes, for the model `m`; streams where they go elsewhere. */
function addressesOf(type: ProviderType, baseUrl: string): Record<string, string> {
  const { origin, pathname, search: query } = new URL(baseUrl);
  const base = { basePath: pathname.replace(/\/+$/, ''), query };
  const row = rowOf(type, baseUrl);
  const said = speechesOf(row).flatMap(([name, speech]) => {
    const [whole, streamed] = [false, true].map((isStream) => origin + speechPath(speech, base, 'm', isStream));
    return whole === streamed
      ? [[name, whole]]
      : [
          [name, whole],
          [`${name} streamed`, streamed],
        ];
  });
  const list = modelListPath(row, base);
  return Object.fromEntries(list === undefined ? said : [...said, ['models', origin + list]]);
}

await test('the config knows the types that have a row', async (t) => {
  t.same(types, providersSchema.$defs.provider.properties.type.enum);
  for (const type of types) {
    t.equal(rows[type].baseUrl, defaultAddresses[type], type);
    t.equal(rows[type].models === undefined, typesWithoutModelList.has(type), `${type} lists its models`);
    t.ok(URL.canParse(addressOf(type)), `${type} has an address, or an example of one`);
  }
});

await test('every row keeps the laws of rows', async (t) => {
  for (const type of types) {
    const row = rowOf(type, addressOf(type));
    const spoken = speechesOf(row);
    t.ok(
      spoken.some(([name]) => name !== 'embeddings' && name !== 'count_tokens'),
      `${type} answers`,
    );
    t.notOk('count_tokens' in row.speeches && !('messages' in row.speeches), `${type} counts what it can be asked`);
    for (const [name, { path, streamPath = path, headers = [], quirks = {} }] of spoken) {
      const what = `${type} ${name}`;
      t.ok(isAbsolute(path) && isAbsolute(streamPath), `${what}: its path begins with a slash`);
      t.equal(
        path.includes('{model}'),
        quirks.isModelInPath === true,
        `${what}: the model is in the path or in the body`,
      );
      t.equal(streamPath.includes('{model}'), path.includes('{model}'), `${what}: streams name the model alike`);
      t.equal((headers.length + (row.headers?.length ?? 0)) % 2, 0, `${what}: headers have a name and a value`);
      t.equal(new Set(quirks.without).size, quirks.without?.length ?? 0, `${what}: a member is named once`);
    }
  }
});

const expected: Record<string, Record<string, string>> = {
  openai: {
    chat: 'https://api.openai.com/v1/chat/completions',
    responses: 'https://api.openai.com/v1/responses',
    compact: 'https://api.openai.com/v1/responses/compact',
    input_tokens: 'https://api.openai.com/v1/responses/input_tokens',
    completions: 'https://api.openai.com/v1/completions',
    embeddings: 'https://api.openai.com/v1/embeddings',
    realtime: 'https://api.openai.com/v1/realtime',
    models: 'https://api.openai.com/v1/models',
  },
  anthropic: {
    messages: 'https://api.anthropic.com/v1/messages',
    count_tokens: 'https://api.anthropic.com/v1/messages/count_tokens',
    models: 'https://api.anthropic.com/v1/models?limit=1000',
  },
  gemini: {
    gemini: 'https://generativelanguage.googleapis.com/v1beta/models/m:generateContent',
    'gemini streamed': 'https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse',
    chat: 'https://generativelanguage.googleapis.com/v1beta/openai/chat/completions',
    embeddings: 'https://generativelanguage.googleapis.com/v1beta/openai/embeddings',
    models: 'https://generativelanguage.googleapis.com/v1beta/models?pageSize=1000',
  },
  azure: {
    chat: 'https://my-resource.openai.azure.com/openai/v1/chat/completions',
    responses: 'https://my-resource.openai.azure.com/openai/v1/responses',
    compact: 'https://my-resource.openai.azure.com/openai/v1/responses/compact',
    input_tokens: 'https://my-resource.openai.azure.com/openai/v1/responses/input_tokens',
    completions: 'https://my-resource.openai.azure.com/openai/v1/completions',
    embeddings: 'https://my-resource.openai.azure.com/openai/v1/embeddings',
    realtime: 'https://my-resource.openai.azure.com/openai/v1/realtime',
  },
  bedrock: {
    bedrock: 'https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse',
    'bedrock streamed': 'https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse-stream',
  },
  vertex: {
    messages: `${addressOf('vertex')}/publishers/anthropic/models/m:rawPredict`,
    'messages streamed': `${addressOf('vertex')}/publishers/anthropic/models/m:streamRawPredict`,
    gemini: `${addressOf('vertex')}/publishers/google/models/m:generateContent`,
    'gemini streamed': `${addressOf('vertex')}/publishers/google/models/m:streamGenerateContent?alt=sse`,
    count_tokens: `${addressOf('vertex')}/publishers/anthropic/models/count-tokens:rawPredict`,
  },
  openrouter: {
    chat: 'https://openrouter.ai/api/v1/chat/completions',
    responses: 'https://openrouter.ai/api/v1/responses',
    messages: 'https://openrouter.ai/api/v1/messages',
    completions: 'https://openrouter.ai/api/v1/completions',
    embeddings: 'https://openrouter.ai/api/v1/embeddings',
    models: 'https://openrouter.ai/api/v1/models',
  },
  groq: {
    chat: 'https://api.groq.com/openai/v1/chat/completions',
    responses: 'https://api.groq.com/openai/v1/responses',
    models: 'https://api.groq.com/openai/v1/models',
  },
  xai: {
    responses: 'https://api.x.ai/v1/responses',
    chat: 'https://api.x.ai/v1/chat/completions',
    embeddings: 'https://api.x.ai/v1/embeddings',
    realtime: 'https://api.x.ai/v1/realtime',
    models: 'https://api.x.ai/v1/models',
  },
  mistral: {
    chat: 'https://api.mistral.ai/v1/chat/completions',
    embeddings: 'https://api.mistral.ai/v1/embeddings',
    models: 'https://api.mistral.ai/v1/models',
  },
  deepseek: {
    chat: 'https://api.deepseek.com/chat/completions',
    messages: 'https://api.deepseek.com/anthropic/v1/messages',
    models: 'https://api.deepseek.com/models',
  },
  together: {
    chat: 'https://api.together.ai/v1/chat/completions',
    completions: 'https://api.together.ai/v1/completions',
    embeddings: 'https://api.together.ai/v1/embeddings',
    models: 'https://api.together.ai/v1/models',
  },
  fireworks: {
    chat: 'https://api.fireworks.ai/inference/v1/chat/completions',
    responses: 'https://api.fireworks.ai/inference/v1/responses',
    messages: 'https://api.fireworks.ai/inference/v1/messages',
    completions: 'https://api.fireworks.ai/inference/v1/completions',
    embeddings: 'https://api.fireworks.ai/inference/v1/embeddings',
    models: 'https://api.fireworks.ai/inference/v1/models',
  },
  perplexity: {
    responses: 'https://api.perplexity.ai/v1/responses',
    embeddings: 'https://api.perplexity.ai/v1/embeddings',
    models: 'https://api.perplexity.ai/v1/models',
  },
  cohere: {
    chat: 'https://api.cohere.ai/compatibility/v1/chat/completions',
    embeddings: 'https://api.cohere.ai/compatibility/v1/embeddings',
    models: 'https://api.cohere.ai/v1/models?page_size=1000',
  },
  cerebras: {
    chat: 'https://api.cerebras.ai/v1/chat/completions',
    completions: 'https://api.cerebras.ai/v1/completions',
    models: 'https://api.cerebras.ai/v1/models',
  },
  deepinfra: {
    chat: 'https://api.deepinfra.com/v1/openai/chat/completions',
    completions: 'https://api.deepinfra.com/v1/openai/completions',
    embeddings: 'https://api.deepinfra.com/v1/openai/embeddings',
    models: 'https://api.deepinfra.com/v1/openai/models',
  },
  ollama: {
    chat: 'http://localhost:11434/v1/chat/completions',
    responses: 'http://localhost:11434/v1/responses',
    messages: 'http://localhost:11434/v1/messages',
    completions: 'http://localhost:11434/v1/completions',
    embeddings: 'http://localhost:11434/v1/embeddings',
    models: 'http://localhost:11434/v1/models',
  },
  vllm: {
    chat: 'http://localhost:8000/v1/chat/completions',
    responses: 'http://localhost:8000/v1/responses',
    messages: 'http://localhost:8000/v1/messages',
    completions: 'http://localhost:8000/v1/completions',
    embeddings: 'http://localhost:8000/v1/embeddings',
    count_tokens: 'http://localhost:8000/v1/messages/count_tokens',
    models: 'http://localhost:8000/v1/models',
  },
};

await test('each type is asked at its documented addresses, the preferred dialect first', async (t) => {
  for (const type of types) {
    const found = addressesOf(type, addressOf(type));
    t.same(found, expected[type], type);
    t.same(Object.keys(found), Object.keys(expected[type] ?? {}), `${type}: the order`);
  }
});

/** Where each is asked for something else than text, by the last part of the path. */
const media: Record<string, string> = {
  openai: 'audio/speech audio/transcriptions audio/translations images/generations images/edits moderations',
  gemini: 'openai/images/generations',
  azure: ['audio/speech', 'audio/transcriptions', 'audio/translations', 'images/generations', 'images/edits']
    .map((path) => `${path}?api-version=preview`)
    .join(' '),
  openrouter: 'audio/speech rerank',
  groq: 'audio/speech audio/transcriptions audio/translations',
  xai: 'images/generations',
  mistral: 'audio/transcriptions moderations',
  together: 'audio/speech audio/transcriptions audio/translations images/generations rerank',
  fireworks: 'rerank',
  cohere: 'https://api.cohere.ai/v2/audio/transcriptions https://api.cohere.ai/v2/rerank',
  deepinfra: 'audio/speech audio/transcriptions audio/translations images/generations images/edits',
  ollama: 'images/generations',
  vllm: 'audio/transcriptions audio/translations rerank',
};

await test('each type is asked for sound, images, moderation and ranking where it has them', async (t) => {
  for (const type of types) {
    const address = addressOf(type);
    const { origin, pathname, search: query } = new URL(address);
    const base = { basePath: pathname.replace(/\/+$/, ''), query };
    const spoken = Object.values(rowOf(type, address).media ?? {});
    const found = spoken.map((speech) => origin + speechPath(speech, base, 'm', false));
    const paths = (media[type] ?? '').split(' ').filter((path) => path !== '');
    t.same(
      found,
      paths.map((path) => new URL(path, `${address.replace(/\/+$/, '')}/`).href),
      type,
    );
  }
  const declared = rowOf('cohere', addressOf('cohere'), ['chat', 'rerank', 'moderations']);
  t.same(declared.media, { rerank: { path: '/v2/rerank', isFromRoot: true }, moderations: { path: '/moderations' } });
  t.same(rowOf('vllm', addressOf('vllm'), ['chat']).media, {}, 'what is declared stands in place of the row');
});

await test('an OpenAI provider at another host is any compatible server', async (t) => {
  for (const host of ['https://api.openai.com/v1', 'https://eu.api.openai.com/v1']) {
    t.equal(rowOf('openai', host), rows.openai, host);
  }
  for (const host of ['http://10.0.0.1/v1', 'https://r.openai.azure.com/openai/v1', 'https://api.openai.com.test/v1']) {
    const { speeches, keyStyle } = rowOf('openai', host);
    t.same(Object.keys(speeches), ['chat', 'embeddings'], host);
    t.notOk(speeches.chat?.quirks, 'nothing is said of what the inventor alone can do');
    t.equal(keyStyle, 'bearer');
  }
});

await test('an Azure resource is asked at each form of its address', async (t) => {
  const top = 'https://r.openai.azure.com';
  const chatAt = (baseUrl: string) => addressesOf('azure', baseUrl)['chat'];
  for (const base of [top, `${top}/`, `${top}/openai`, `${top}/openai/v1/`])
    t.equal(chatAt(base), `${top}/openai/v1/chat/completions`, base);
  t.equal(chatAt(`${top}?api-version=preview`), `${top}/openai/v1/chat/completions?api-version=preview`);
  const dated = '?api-version=2024-10-21';
  for (const base of [top, `${top}/openai`]) {
    t.equal(rowOf('azure', base + dated).media?.speech?.path.endsWith('/deployments/{model}/audio/speech'), true);
    t.equal(rowOf('azure', base).media?.speech?.path.endsWith('/v1/audio/speech?api-version=preview'), true);
    t.equal(rowOf('azure', `${base}?api-version=preview`).media?.speech?.path.endsWith('/v1/audio/speech'), true);
    t.same(addressesOf('azure', base + dated), {
      chat: `${top}/openai/deployments/m/chat/completions${dated}`,
      completions: `${top}/openai/deployments/m/completions${dated}`,
      embeddings: `${top}/openai/deployments/m/embeddings${dated}`,
    });
  }
  const deployment = `${top}/openai/deployments/d`;
  t.equal(chatAt(deployment + dated), `${deployment}/chat/completions${dated}`);
  t.notOk(addressesOf('azure', deployment + dated)['responses'], 'a deployment knows no responses');
});

await test('Vertex takes an API key where the address has no project, for models of Google alone', async (t) => {
  const express = 'https://aiplatform.googleapis.com/v1';
  t.equal(rowOf('vertex', addressOf('vertex')).keyStyle, 'bearer');
  t.equal(rowOf('vertex', express).keyStyle, 'x-goog-api-key');
  t.same(addressesOf('vertex', express), {
    gemini: `${express}/publishers/google/models/m:generateContent`,
    'gemini streamed': `${express}/publishers/google/models/m:streamGenerateContent?alt=sse`,
  });
});

await test('the config may say what a server speaks', async (t) => {
  const server = rowOf('openai', 'http://10.0.0.1/v1', ['messages', 'chat']);
  t.same(Object.keys(server.speeches), ['messages', 'chat'], 'in its order');
  t.match(server.speeches.messages, { path: '/messages', headers: ['anthropic-version', '2023-06-01'] });
  const vllm = rowOf('vllm', addressOf('vllm'), ['messages']);
  t.same(Object.keys(vllm.speeches), ['messages', 'count_tokens'], 'what belongs to a dialect stays with it');
  const gemini = rowOf('gemini', addressOf('gemini'), ['chat']);
  t.same(gemini.speeches, { chat: rows.gemini.speeches.chat }, 'with the path of the type');
});
