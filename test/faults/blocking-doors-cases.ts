// Requests at all other doors that are as long as they may be, or hold as much as they may: a row for each door and shape.
import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from 'node:zlib';
import { extent } from '../support/extent.ts';
import type { Sent } from '../support/measured-gateway.ts';

const mebibyte = 2 ** 20;
/** Just within the default of `server.body_limit`; less of it in a short run. */
const most = extent(31, 7) * mebibyte;
/** Just within what counts as members. */
const mostEntries = extent(19_000, 9_000);

const json = JSON.stringify;
const times = (text: string, bytes: number): string => text.repeat(Math.floor(bytes / Buffer.byteLength(text)));
const list = <Entry>(length: number, entry: (index: number) => Entry): Entry[] =>
  Array.from({ length }, (_, index) => entry(index));
const listOf = (entry: string, length = mostEntries): string => `[${list(length, () => entry).join(',')}]`;
const members = (length: number): string => list(length, (index) => `"k${index}":${index}`).join(',');
const base64 = (bytes: number): string => times('iVBORw0K', bytes);

/** Models of every dialect. */
export const everyModel = ['chat/m', 'anthropic/claude-3-5-sonnet', 'gemini/m', 'bedrock/m', 'responses/m'];

export interface DoorRow {
  readonly path: string;
  /** Asked of each of them; absent: the body says what it wants. */
  readonly models?: readonly string[];
  /** What stands beside the model, or the whole body. */
  readonly inside: () => string | Buffer;
  readonly more?: Partial<Sent>;
}

const at = (
  path: string,
  models: readonly string[],
  shapes: Readonly<Record<string, () => string>>,
): [string, DoorRow][] =>
  Object.entries(shapes).map(([name, inside]) => [`${path}: ${name}`, { path, models, inside }]);

const anyText = (bytes: number): string => times('\\n\\u00e4\\"', bytes);
const question = '{"role":"user","content":"q"}';
const block = (inside: string): string => `"max_tokens":9,"messages":[{"role":"user","content":${inside}}]`;
const used = (input: string, length = 1): string =>
  `"max_tokens":9,"messages":[${question},{"role":"assistant","content":[${list(length, (index) => `{"type":"tool_use","id":"c${index}","name":"f","input":${input}}`).join(',')}]},{"role":"user","content":[${list(length, (index) => `{"type":"tool_result","tool_use_id":"c${index}","content":"q"}`).join(',')}]}]`;
const toolOfMany = (member: string): string =>
  `[{"type":"function","name":"f","${member}":{"type":"object","properties":{${list(extent(16_000, 8_000), (index) => `"p${index}":{"type":"string"}`).join(',')}}}}]`;

const messagesShapes: Readonly<Record<string, () => string>> = {
  'a long text': () => block(`"${times('word ', most)}"`),
  escapes: () => block(`"${anyText(most)}"`),
  'wide letters': () => block(`"${times('漢', most)}"`),
  'a long system text': () => `"system":"${anyText(most)}",${block('"q"')}`,
  'many system blocks': () => `"system":${listOf('{"type":"text","text":"q"}')},${block('"q"')}`,
  'many messages': () => `"max_tokens":9,"messages":${listOf(question)}`,
  'many blocks': () => block(listOf('{"type":"text","text":"q"}')),
  'an image': () =>
    block(`[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"${base64(3 * mebibyte)}"}}]`),
  'a document': () =>
    block(`[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"${base64(most)}"}}]`),
  'a document of text': () =>
    block(`[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"${anyText(most)}"}}]`),
  'many members in the input of a tool': () => used(`{${members(60_000)}}`),
  'a long input of a tool': () => used(`{"a":"${anyText(most)}"}`),
  'numbers in the input of a tool': () => used(`{"a":[${times('1,', most)}1]}`),
  'many uses of tools': () => used('{"a":1}', 5_000),
  'a long result of a tool': () =>
    `"max_tokens":9,"messages":[${question},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"${anyText(most)}"}]}]`,
  'long thoughts': () =>
    `"max_tokens":9,"messages":[${question},{"role":"assistant","content":[{"type":"thinking","thinking":"${anyText(most / 2)}","signature":"${base64(most / 3)}"}]},${question}]`,
  'a large schema': () => `"tools":${toolOfMany('input_schema').replace('"type":"function",', '')},${block('"q"')}`,
  'many tools': () =>
    `"tools":[${list(mostEntries / 3, (index) => `{"name":"f${index}","input_schema":{"type":"object"}}`).join(',')}],${block('"q"')}`,
  'a long description': () =>
    `"tools":[{"name":"f","description":"${anyText(most)}","input_schema":{"type":"object"}}],${block('"q"')}`,
  'many stop sequences': () => `"stop_sequences":${listOf('"a"', 80_000)},${block('"q"')}`,
  'long metadata': () => `"metadata":{"user_id":"${anyText(most)}"},${block('"q"')}`,
};

const item = (inside: string): string => `"input":[{"role":"user","content":${inside}}]`;
const itemCall = (input: string, index = 0): string =>
  `{"type":"function_call","call_id":"c${index}","name":"f","arguments":${json(input)}},{"type":"function_call_output","call_id":"c${index}","output":"q"}`;
const responsesShapes: Readonly<Record<string, () => string>> = {
  'a long text': () => `"input":"${times('word ', most)}"`,
  escapes: () => `"input":"${anyText(most)}"`,
  'long instructions': () => `"instructions":"${anyText(most)}","input":"q"`,
  'many items': () => `"input":${listOf(question)}`,
  'many parts': () => item(listOf('{"type":"input_text","text":"q"}')),
  'a file': () =>
    item(
      `[{"type":"input_file","filename":"f.pdf","file_data":"data:application/pdf;base64,${base64(3 * mebibyte)}"}]`,
    ),
  'members in the arguments': () => `"input":[${question},${itemCall(`{${members(40_000)}}`)}]`,
  'escapes in the arguments': () => `"input":[${question},${itemCall(`{"a":"${anyText(most / 4)}"}`)}]`,
  'many calls': () => `"input":[${question},${list(mostEntries / 4, (index) => itemCall('{"a":1}', index)).join(',')}]`,
  'many invalid calls': () =>
    `"input":[${question},${list(mostEntries / 4, (index) => itemCall('{"a":', index)).join(',')}]`,
  'a long output': () =>
    `"input":[${question},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"${anyText(most)}"}]`,
  'a long reasoning': () =>
    `"input":[${question},{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"${anyText(most / 2)}"}],"encrypted_content":"${base64(most / 3)}"},${question}]`,
  'many references': () => `"input":${listOf('{"type":"item_reference","id":"m"}')}`,
  'a large schema': () => `"tools":${toolOfMany('parameters')},"input":"q"`,
  'a large format': () =>
    `"text":{"format":{"type":"json_schema","name":"f","schema":{"type":"object","properties":{${list(extent(16_000, 8_000), (index) => `"p${index}":{"type":"string"}`).join(',')}}}}},"input":"q"`,
  'long metadata': () => `"metadata":{"a":"${anyText(most)}"},"input":"q"`,
  'many entries of metadata': () => `"metadata":{${members(60_000)}},"input":"q"`,
};

const embeddingsShapes: Readonly<Record<string, () => string>> = {
  'a long text': () => `"input":"${anyText(most)}"`,
  'many texts': () => `"input":${listOf('"q"', 100_000)}`,
  'many more texts': () => `"input":[${times('"q",', most)}"q"]`,
  tokens: () => `"input":[${times('1,', most)}1]`,
  'many lists of tokens': () => `"input":[${times('[1],', most)}[1]]`,
};

/** Forms. */
const multipart = 'multipart/form-data; boundary=B';
const field = (name: string, value: string, more = ''): string =>
  `--B\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
const form = (...fields: string[]): string => `${fields.join('')}--B--\r\n`;
const line = (inside: string): string =>
  `{"custom_id":"c","method":"POST","url":"/v1/chat/completions","body":{"model":"m",${inside}}}\n`;
const sentAsForm = { type: multipart };
const formRow = (path: string, name: string, inside: () => string): [string, DoorRow] => [
  `${path}: a form with ${name}`,
  { path, inside, more: sentAsForm },
];
const named = field('model', 'chat/m');
const audio = (text: string): string => field('file', text, '; filename="f.wav"');
const formsAt = (path: string, model: string): [string, DoorRow][] => [
  formRow(path, 'a long file', () => form(model, audio(times('abcdefgh', most)))),
  formRow(path, 'beginnings of boundaries', () => form(model, audio(times('\r\n--', most)))),
  formRow(path, 'line ends', () => form(model, audio(times('\r\n', most)))),
  formRow(path, 'many fields', () => form(model, times(field('a', 'b'), most))),
  formRow(path, 'many fields before the model', () => form(times(field('a', 'b'), most), model)),
  formRow(path, 'a long prompt', () => form(model, field('prompt', anyText(most)), audio('a'))),
  formRow(path, 'a long name', () => form(model, field(times('n', most), 'b'), audio('a'))),
  formRow(path, 'long parameters', () => form(model, field('a', 'b', times('; a="b"', most)), audio('a'))),
  formRow(path, 'many headers of a part', () => form(model, field('a', 'b', times('\r\nA: b', most)), audio('a'))),
];
const uploads = (path: string): [string, DoorRow][] => {
  const purpose = field('purpose', 'batch') + field('provider', 'chat');
  const file = (text: () => string) => (): string => form(purpose, field('file', text(), '; filename="f.jsonl"'));
  return [
    formRow(
      path,
      'lines of a batch',
      file(() => times(line('"messages":[{"role":"user","content":"q"}]'), most)),
    ),
    formRow(
      path,
      'one long line',
      file(() => line(`"messages":[{"role":"user","content":"${anyText(most)}"}]`)),
    ),
    formRow(
      path,
      'empty lines',
      file(() => times('\n', most)),
    ),
    formRow(
      path,
      'tiny lines',
      file(() => times('{}\n', most)),
    ),
    formRow(
      path,
      'opened lines',
      file(() => times('{"a":[\n', most)),
    ),
    formRow(
      path,
      'a line of many messages',
      file(() => line(`"messages":${listOf(question)}`)),
    ),
  ];
};

/** Bodies that are packed. */
const zeros = (): Buffer => Buffer.alloc(extent(512, 48) * mebibyte, 32);
const brotli = (bytes: Buffer): Buffer =>
  brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } });
const chatOf = (text: string): Buffer => Buffer.from(`{"model":"chat/m",${block(`"${text}"`)}}`);
const packed = (path: string): [string, DoorRow][] =>
  Object.entries<readonly [coding: string, inside: () => Buffer]>({
    'a bomb of gzip': ['gzip', () => gzipSync(zeros(), { level: 1 })],
    'a bomb of Brotli': ['br', () => brotli(zeros())],
    'a bomb of zstd': ['zstd', () => zstdCompressSync(zeros())],
    'a text in gzip': ['gzip', () => gzipSync(chatOf(times('word ', most)))],
    'escapes in Brotli': ['br', () => brotli(chatOf(anyText(most)))],
    'escapes in zstd': ['zstd', () => zstdCompressSync(chatOf(anyText(most)))],
  }).map(([name, [coding, inside]]) => [
    `${path}: ${name}`,
    { path, inside, more: { headers: { 'content-encoding': coding } } },
  ]);

/** Heads. */
const kibibyte = 1_024;
const short = `{"model":"chat/m",${block('"q"')}}`;
const head = (name: string, path: string, headers: Readonly<Record<string, string>> = {}): [string, DoorRow] => [
  `the head: ${name}`,
  { path, inside: () => short, more: { headers } },
];
const heads: readonly [string, DoorRow][] = [
  head('a long query', `/v1/chat/completions?${times('a=%41&', 14 * kibibyte)}`),
  head('a query of separators', `/v1/chat/completions?${times('&', 14 * kibibyte)}`),
  head('a long path', `/v1/${times('a/', 14 * kibibyte)}`),
  head('a long path of a provider', `/p/chat/${times('a/', 14 * kibibyte)}`),
  head('a path of escapes', `/p/chat/${times('%41', 14 * kibibyte)}`),
  head('a path of dots', `/p/chat/${times('a/../', 14 * kibibyte)}`),
  head('a query of ids', `/p/chat/files?${times('file_id=x%41&', 14 * kibibyte)}`),
  head('many headers', '/v1/chat/completions', Object.fromEntries(list(900, (index) => [`x-a-${index}`, 'b']))),
  head('a long user path', '/v1/chat/completions', { 'x-gateway-user-path': times('/a', 14 * kibibyte) }),
  head('a long cookie', '/v1/chat/completions', { cookie: times('a=b; ', 14 * kibibyte) }),
  head('long directives of the cache', '/v1/chat/completions', { 'cache-control': times('a=b,', 14 * kibibyte) }),
  head('long addresses', '/v1/chat/completions', { 'x-forwarded-for': times('1.2.3.4, ', 14 * kibibyte) }),
  head('a long type', '/v1/chat/completions', { 'content-type': `application/json${times('; a=b', 14 * kibibyte)}` }),
  head('long accepted codings', '/v1/chat/completions', { 'accept-encoding': times('gzip;q=0.1,', 14 * kibibyte) }),
  head('a long trace', '/v1/chat/completions', { baggage: times('a=b,', 14 * kibibyte), traceparent: '00-' }),
];

const media = ['chat/m'];
const batchRequest = (inside: string, length: number): string =>
  `{"requests":[${list(length, (index) => `{"custom_id":"c${index}","params":{"model":"anthropic/claude-3-5-sonnet",${inside}}}`).join(',')}]}`;
const batchRow = (name: string, inside: () => string): [string, DoorRow] => [
  `/v1/messages/batches: ${name}`,
  { path: '/v1/messages/batches', inside },
];

export const doorRows: Readonly<Record<string, DoorRow>> = Object.fromEntries([
  ...at('/v1/messages', everyModel, messagesShapes),
  ...at('/v1/messages/count_tokens', everyModel, {
    escapes: () => block(`"${anyText(most)}"`),
    'many messages': () => `"messages":${listOf(question)}`,
    'many blocks': () => block(listOf('{"type":"text","text":"q"}')),
  }),
  ...at('/v1/responses', everyModel, responsesShapes),
  ...at('/v1/responses/compact', ['responses/m'], responsesShapes),
  ...at('/v1/responses/input_tokens', ['responses/m'], responsesShapes),
  ...at('/v1/completions', everyModel, {
    escapes: () => `"prompt":"${anyText(most)}"`,
    'many prompts': () => `"prompt":${listOf('"q"', 100_000)}`,
    tokens: () => `"prompt":[${times('1,', most)}1]`,
  }),
  ...at('/v1/chat/completions', everyModel, {
    'an input of many items': () => `"input":${listOf(question)}`,
    'a long input': () => `"input":"${anyText(most)}"`,
  }),
  ...at('/v1/embeddings', ['chat/m', 'gemini/m'], embeddingsShapes),
  ...at('/v1/moderations', media, embeddingsShapes),
  ...at('/v1/rerank', media, {
    'many documents': () => `"query":"q","documents":${listOf('"q"', 100_000)}`,
    'a long document': () => `"query":"q","documents":["${anyText(most)}"]`,
  }),
  ...at('/v1/images/generations', media, { 'a long prompt': () => `"prompt":"${anyText(most)}"` }),
  ...at('/v1/audio/speech', media, {
    'a long text': () => `"voice":"a","input":"${anyText(most)}"`,
    'a text of wide letters': () => `"voice":"a","input":"${times('漢', most)}"`,
  }),
  ...formsAt('/v1/audio/transcriptions', named),
  ...formsAt('/v1/images/edits', named),
  ...uploads('/v1/files'),
  batchRow('many requests', () => batchRequest(block('"q"'), extent(100_000, 20_000))),
  batchRow('one long request', () => batchRequest(block(`"${anyText(most)}"`), 1)),
  batchRow('a request of many messages', () => batchRequest(`"max_tokens":9,"messages":${listOf(question)}`, 1)),
  batchRow('members', () => `{"requests":[{"custom_id":"c","params":{${members(200_000)}}}]}`),
  [
    '/v1/batches: members',
    { path: '/v1/batches', inside: () => `{"input_file_id":"file-a","x":{${members(200_000)}}}` },
  ],
  [
    '/v1/batches: metadata',
    { path: '/v1/batches', inside: () => `{"input_file_id":"file-a","metadata":{"a":"${anyText(most)}"}}` },
  ],
  ...packed('/v1/chat/completions'),
  ...packed('/p/chat/files'),
  ...heads,
]);
