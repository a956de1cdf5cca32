// What a provider cannot be told is refused with the exact place in the client's own body, whatever the conversation made of it.
import { test } from 'tap';
import { type Continued, readCall } from '../../../proxy/call/call.ts';
import { type JsonObject, type JsonValue, writeJson } from '../../../proxy/dialects/json/json.ts';
import type { Quirks } from '../../../proxy/dialects/quirks.ts';
import type { ClientDialect } from '../../../proxy/dialects/translation.ts';
import { Refusal } from '../../../proxy/errors.ts';
import { envelope } from '../../../proxy/http/error-envelope.ts';
import { atOnce } from '../../../proxy/pacing/slices.ts';
import { providerDialects, translatedFrom } from '../../../proxy/providers/dialects.ts';
import { conversationOf } from '../../../proxy/translation/conversation-of.ts';
import { translate } from '../../../proxy/translation/translated.ts';

type Target = keyof typeof models;
type Client = 'chat' | 'responses' | 'messages' | 'chat_of_input';
type Case = readonly [what: string, client: Client, targets: readonly Target[], body: JsonObject, param: string];

const models = {
  chat: 'gpt-5',
  responses: 'gpt-5',
  messages: 'claude-sonnet-4-5',
  gemini: 'gemini-3-pro',
  bedrock: 'm',
};
const text = { type: 'text', text: 'Hi' };
const system = { role: 'system', content: 'Be brief.' };
const hello = { role: 'user', content: 'Hello' };
const sound = { type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } };
const chatImage = { type: 'image_url', image_url: { url: 'https://a.example/b.png' } };
const chatFile = { type: 'file', file: { file_id: 'file_1' } };
const image = { type: 'image', source: { type: 'url', url: 'https://a.example/b.png' } };
const tiff = { type: 'image_url', image_url: { url: 'data:image/tiff;base64,AAAA' } };
const kept = { type: 'document', source: { type: 'file', file_id: 'f' } };
const document = { type: 'document', source: { type: 'url', url: 'https://a.example/b.pdf' } };
const inputFile = { type: 'input_file', file_url: 'https://a.example/b.pdf' };
const inputText = { type: 'input_text', text: 'Hi' };
const video = { type: 'video_url', video_url: { url: 'https://a.example/b.mp4' } };
const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
const chatCall = { id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } };
const plain = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } };
const listed = { name: 'g', parameters: { type: 'array', items: {} } };
const list = { type: 'function', ...listed };
const chosen = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'function', name: 'g' }] };
const run = { type: 'code_execution_20250825', name: 'code_execution' };

const chat = (...messages: readonly JsonValue[]): JsonObject => ({ messages });
const user = (...content: readonly JsonValue[]): JsonObject => ({ role: 'user', content });
const input = (...items: readonly JsonValue[]): JsonObject => ({ input: items });
const result = (...content: readonly JsonValue[]): JsonObject => ({ type: 'tool_result', tool_use_id: 'c', content });
const used = { role: 'assistant', content: [{ type: 'tool_use', id: 'c', name: 'f', input: {} }] };

const cases: readonly Case[] = [
  ['sound', 'chat', ['messages'], chat(system, user(text, sound)), 'messages[1].content[1]'],
  ['a bare text before it', 'chat', ['messages'], chat(hello, user('a', sound)), 'messages[1].content[1]'],
  [
    'a sound of its own',
    'chat',
    ['messages'],
    chat(hello, { role: 'assistant', audio: { id: 'a' } }),
    'messages[1].audio',
  ],
  ['an image by URL', 'chat', ['bedrock'], chat(hello, hello, user(chatImage)), 'messages[2].content[0]'],
  ['an image type', 'chat', ['messages', 'bedrock'], chat(user(text, tiff)), 'messages[0].content[1]'],
  [
    'a kept file',
    'chat',
    ['messages', 'gemini', 'bedrock'],
    chat(system, hello, user(chatFile)),
    'messages[2].content[0]',
  ],
  ['video', 'chat', ['responses', 'messages', 'gemini', 'bedrock'], chat(user(text, video)), 'messages[0].content[1]'],
  [
    'the second result of a turn',
    'chat',
    ['bedrock'],
    chat(
      hello,
      { role: 'assistant', tool_calls: [chatCall, { ...chatCall, id: 'd' }] },
      { role: 'tool', tool_call_id: 'c', content: 'a' },
      { role: 'tool', tool_call_id: 'd', content: [text, chatImage] },
    ),
    'messages[3].content[1]',
  ],
  ['a provider tool', 'chat', ['messages', 'gemini'], { ...chat(hello), tools: [plain, { type: 'x' }] }, 'tools[1]'],
  ['a list as input', 'chat', ['messages'], { ...chat(hello), tools: [plain, list] }, 'tools[1]'],
  [
    'the older functions',
    'chat',
    ['messages'],
    { ...chat(hello), tools: [plain], functions: [listed] },
    'functions[0]',
  ],
  [
    'one of the allowed',
    'chat',
    ['messages'],
    { ...chat(hello), tools: [plain, list], tool_choice: chosen },
    'tools[1]',
  ],
  [
    'sound',
    'responses',
    ['messages'],
    input({ ...hello, role: 'developer' }, user(inputText, sound)),
    'input[1].content[1]',
  ],
  [
    'a file by URL',
    'responses',
    ['chat', 'bedrock'],
    { ...input(hello, user(inputFile)), instructions: 'a' },
    'input[1].content[0]',
  ],
  [
    'a file in a later system message',
    'responses',
    ['bedrock'],
    input(hello, { ...user(inputFile), role: 'system' }),
    'input[1].content[0]',
  ],
  [
    'the result of a tool',
    'responses',
    ['chat', 'bedrock'],
    input(
      hello,
      call,
      { ...call, call_id: 'd' },
      { type: 'function_call_output', call_id: 'd', output: [inputText, inputFile] },
    ),
    'input[3].output[1]',
  ],
  [
    'an item in a turn of several',
    'responses',
    ['chat', 'messages', 'gemini', 'bedrock'],
    input(hello, { role: 'assistant', content: 'a' }, call, { type: 'compaction', id: 'c', encrypted_content: 'x' }),
    'input[3]',
  ],
  [
    'one of the allowed',
    'responses',
    ['messages'],
    { input: 'a', tools: [plain, list], tool_choice: chosen },
    'tools[1]',
  ],
  [
    'a tool that must be called',
    'responses',
    ['chat', 'messages', 'gemini', 'bedrock'],
    {
      input: 'a',
      tools: [plain, { type: 'file_search' }],
      tool_choice: { type: 'allowed_tools', mode: 'required', tools: [{ type: 'file_search' }] },
    },
    'tools[1]',
  ],
  ['sound', 'chat_of_input', ['messages'], input(hello, user(sound)), 'input[1].content[0]'],
  ['an image by URL', 'messages', ['bedrock'], chat(user(text, image)), 'messages[0].content[1]'],
  ['a document by URL', 'messages', ['chat', 'bedrock'], chat(hello, user(document)), 'messages[1].content[0]'],
  [
    'a kept file',
    'messages',
    ['responses', 'gemini', 'bedrock'],
    chat(hello, user(text, kept)),
    'messages[1].content[1]',
  ],
  [
    'an own block',
    'messages',
    ['chat', 'responses', 'gemini', 'bedrock'],
    chat(user(text, { type: 'container_upload' })),
    'messages[0].content[1]',
  ],
  [
    'a result in a message',
    'messages',
    ['chat', 'bedrock'],
    chat(hello, used, user(text, result(text, document))),
    'messages[2].content[1].content[1]',
  ],
  [
    'an own block in it',
    'messages',
    ['responses', 'gemini'],
    chat(hello, used, user(result({ type: 'x' }))),
    'messages[2].content[0].content[0]',
  ],
  [
    'a first system message',
    'messages',
    ['gemini', 'bedrock'],
    chat({ ...user(text, image), role: 'system' }, hello),
    'messages[0].content[1]',
  ],
  [
    'a provider tool',
    'messages',
    ['chat', 'responses', 'gemini', 'bedrock'],
    { ...chat(hello), tools: [{ name: 'f', input_schema: {} }, run] },
    'tools[1]',
  ],
];

interface Given {
  readonly quirks?: Quirks;
  readonly continues?: Continued;
}

function refusalOf(
  client: ClientDialect,
  target: Target,
  body: JsonObject,
  { quirks = {}, continues }: Given = {},
): unknown {
  const provider = providerDialects[target];
  if (provider === undefined) throw new Error(`${target} is not spoken`);
  const asked = readCall(Buffer.from(writeJson({ model: 'm', max_tokens: 100, ...body })));
  const to = { model: models[target], upstream: { name: 'there', unsupported: undefined } };
  try {
    atOnce(translate(atOnce(conversationOf({ ...asked, continues }, client)), to, { quirks }, provider));
  } catch (error) {
    return error instanceof Refusal ? JSON.parse(envelope(error)) : error;
  }
  return undefined;
}

for (const [what, name, targets, body, param] of cases) {
  for (const target of targets) {
    await test(`${name} to ${target}: ${what}`, async (t) => {
      const client = translatedFrom[name];
      if (client === undefined) throw new Error(`${name} is not served`);
      const refused = refusalOf(client, target, body);
      t.match(refused, { error: { code: 'unsupported_parameter', param, type: 'invalid_request_error' } });
      t.match(refused, { error: { message: `"there" cannot be asked for "${param}":` } });
    });
  }
}

await test('an item that nothing is known of is not there for a target that is told it', async (t) => {
  const client = translatedFrom.responses;
  if (client === undefined) throw new Error('responses is not served');
  for (const target of ['chat', 'messages', 'gemini', 'bedrock'] as const) {
    const refused = refusalOf(client, target, input(hello, { id: 'msg_1' }));
    t.match(refused, { error: { code: 'kept_not_found', type: 'not_found_error', param: 'input[1]' } }, target);
  }
});

await test('a server that takes text alone is told no image, and the place is named', async (t) => {
  const client = translatedFrom.messages;
  if (client === undefined) throw new Error('messages is not served');
  const refused = refusalOf(client, 'chat', chat(hello, user(text, image)), { quirks: { hasOnlyTextContent: true } });
  t.match(refused, { error: { code: 'unsupported_parameter', param: 'messages[1].content[1]' } });
});

await test('of a continued response, places count the items that the client sent itself', (t) => {
  const client = translatedFrom.responses;
  if (client === undefined) throw new Error('responses is not served');
  const continues = { id: 'resp_1', itemsBefore: 2 };
  const paramOf = (body: JsonObject): unknown => refusalOf(client, 'bedrock', body, { continues });
  const file = user(inputFile);
  t.match(paramOf(input(hello, hello, hello, file)), { error: { param: 'input[1].content[0]' } });
  t.match(paramOf(input(hello, file, hello)), { error: { param: 'previous_response_id' } });
  const wrong = { error: { code: 'invalid_parameter', param: 'input[0].role', message: 'input[0].role' } };
  t.match(paramOf(input(hello, hello, { role: 'x', content: 'a' })), wrong);
  t.end();
});

await test('an item that is named and not kept is not there for any of them', (t) => {
  const client = translatedFrom.responses;
  if (client === undefined) throw new Error('responses is not served');
  for (const target of ['chat', 'messages', 'gemini', 'bedrock'] as const) {
    for (const named of [{ id: 'msg_1' }, { type: 'item_reference', id: 'msg_1' }]) {
      t.match(
        refusalOf(client, target, input(hello, named)),
        { error: { code: 'kept_not_found', param: 'input[1]', message: 'There is no item with the id "msg_1"' } },
        target,
      );
    }
  }
  t.end();
});
