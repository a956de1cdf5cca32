// Requests and answers that are as long as they may be, or hold as much as they may: a row for each kind, at each door that reads it.
import { converseFrame } from '../support/aws-frames.ts';
import { extent } from '../support/extent.ts';

const mebibyte = 2 ** 20;
/** Just within the default of `server.body_limit`; half of it in a short run. */
const most = extent(31, 15) * mebibyte;
/** Just within what is read of a whole answer, and what a stream may take that is not ended before. */
const mostAnswer = 15 * mebibyte;

const json = JSON.stringify;
const times = (text: string, bytes: number): string => text.repeat(Math.floor(bytes / Buffer.byteLength(text)));
const list = <Entry>(length: number, entry: (index: number) => Entry): Entry[] =>
  Array.from({ length }, (_, index) => entry(index));
const members = (length: number): string => list(length, (index) => `"k${index}":${index}`).join(',');
const asked = (inside: string): string => `"max_tokens":9,"messages":[{"role":"user","content":${inside}}]`;
const called = (input: string, length = 1): string => {
  const calls = list(length, (index) => ({
    id: `c${index}`,
    type: 'function',
    function: { name: 'f', arguments: input },
  }));
  const results = list(length, (index) => ({ role: 'tool', tool_call_id: `c${index}`, content: input }));
  return `"messages":${json([{ role: 'user', content: 'q' }, { role: 'assistant', tool_calls: calls }, ...results])}`;
};
/** A web of references whose every path is another one: 8 to the power of 60. */
const web = Object.fromEntries([
  ...list(60, (index) => [
    `d${index}`,
    {
      type: 'object',
      properties: Object.fromEntries(list(8, (key) => [`p${key}`, { $ref: `#/$defs/d${index + 1}` }])),
    },
  ]),
  ['d60', { type: 'string' }],
]);
const tool = (parameters: object): string =>
  `"tools":${json([{ type: 'function', function: { name: 'f', parameters } }])}`;

/** What stands in a chat request beside its model. */
export const requests: Readonly<Record<string, () => string>> = {
  'a long text': () => asked(`"${times('word ', most)}"`),
  escapes: () => asked(`"${times('\\n\\u00e4\\"', most)}"`),
  backslashes: () => asked(`"${times('\\\\', most)}"`),
  // One half of its code is that of a quote.
  'wide letters': () => asked(`"${times('漢', most)}"`),
  digits: () => asked(`"${times('4111 1111 1111 1112 ', most)}"`),
  addresses: () => asked(`"${times('a@a.', most)}"`),
  'a data URL': () =>
    asked(`[{"type":"image_url","image_url":{"url":"data:image/png;base64,${times('iVBORw0K', most)}"}}]`),
  'an odd data URL': () => asked(`[{"type":"image_url","image_url":{"url":"data:${times('a;', most)}"}}]`),
  'many messages': () => `"messages":[${list(19_000, () => '{"role":"user","content":"q"}').join(',')}]`,
  'many more messages': () => `"messages":[${list(80_000, () => '{"role":"user","content":"q"}').join(',')}]`,
  'many parts': () => asked(`[${list(19_000, () => '{"type":"text","text":"q"}').join(',')}]`),
  'many members': () => `"x":{${members(240_000)}},${asked('"q"')}`,
  'colliding members': () =>
    `"x":{${list(49_000, (index) => `"${(index % 32) * 2 ** 19 + Math.floor(index / 32)}":1`).join(',')}},${asked('"q"')}`,
  'many numbers': () => `"x":[${times('1,', most)}1],${asked('"q"')}`,
  'white space': () => `${asked('"q"')}${times(' ', most)}`,
  'a long name': () => `"${times('k', most)}":1,${asked('"q"')}`,
  'members in the input of a tool': () => called(`{${members(40_000)}}`),
  'many more members in the input of a tool': () => called(`{${members(700_000)}}`),
  'numbers in the input of a tool': () => called(`[${times('1,', 8 * mebibyte)}1]`),
  'depth in the input of a tool': () => called(times('[', 7 * mebibyte)),
  'quotes in the input of a tool': () => called(json(times('"', 3 * mebibyte))),
  'many calls of tools': () => called('{"a":1}', 5_000),
  'many invalid calls of tools': () => called('{"a":', 5_000),
  'a web of schemas': () =>
    `${tool({ type: 'object', properties: { a: { $ref: '#/$defs/d0' } }, $defs: web })},${asked('"q"')}`,
  'a large schema': () =>
    `${tool({ type: 'object', properties: Object.fromEntries(list(16_000, (index) => [`p${index}`, { type: 'string' }])) })},${asked('"q"')}`,
  'long options of the stream': () => `"stream":true,"stream_options":{"x":[${times('1,', most)}1]},${asked('"q"')}`,
};

const sse = (event: unknown): string => `data: ${typeof event === 'string' ? event : json(event)}\n\n`;
const chunk = (delta: object): object => ({ id: 'a', model: 'm', choices: [{ index: 0, delta }] });
const chat = (message: object): string =>
  json({ id: 'a', model: 'm', choices: [{ index: 0, message, finish_reason: 'stop' }] });
const message = (content: readonly object[]): string =>
  json({ id: 'a', model: 'm', content, stop_reason: 'end_turn', usage: { input_tokens: 1, output_tokens: 1 } });
const gemini = (parts: readonly object[]): string =>
  json({ candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }] });
const toolCalls = (length: number, input: string): object => ({
  role: 'assistant',
  tool_calls: list(length, (index) => ({
    index,
    id: `c${index}`,
    type: 'function',
    function: { name: 'f', arguments: input },
  })),
});
const begun = sse(chunk({ content: 'a' }));
const named = (type: string, more: object): string => `event: ${type}\n${sse({ type, ...more })}`;
const started = named('message_start', {
  message: { id: 'a', model: 'm', usage: { input_tokens: 1, output_tokens: 1 } },
});
const block = (index: number, content: object): string =>
  named('content_block_start', { index, content_block: content }) + named('content_block_stop', { index });

export interface AnswerCase {
  /** Who answers so. */
  readonly model: string;
  readonly isStream: boolean;
  readonly body: () => string | Buffer;
}

const whole = (model: string, body: () => string): AnswerCase => ({ model, isStream: false, body });
const stream = (model: string, body: () => string | Buffer): AnswerCase => ({ model, isStream: true, body });

export const answers: Readonly<Record<string, AnswerCase>> = {
  'a long text': whole('chat/m', () => chat({ role: 'assistant', content: times('word ', mostAnswer) })),
  escapes: whole('chat/m', () => chat({ role: 'assistant', content: times('a"\\\n', mostAnswer / 2) })),
  'wide letters': whole('chat/m', () => chat({ role: 'assistant', content: times('漢', mostAnswer) })),
  'many calls': whole('chat/m', () => chat(toolCalls(7_000, '{"a":1}'))),
  'many invalid calls': whole('chat/m', () => chat(toolCalls(7_000, '{"a":'))),
  'many more invalid calls': whole('chat/m', () => chat(toolCalls(60_000, '{"a":'))),
  'members in a call': whole('chat/m', () => chat(toolCalls(1, `{${members(700_000)}}`))),
  'depth in a call': whole('chat/m', () => chat(toolCalls(1, times('[', 7 * mebibyte)))),
  'many blocks of Anthropic': whole('anthropic/m', () => message(list(16_000, () => ({ type: 'text', text: 'q' })))),
  'an image of Gemini': whole('gemini/m', () =>
    gemini([{ inlineData: { mimeType: 'image/png', data: times('iVBORw0K', mostAnswer) } }]),
  ),
  'many parts of Gemini': whole('gemini/m', () => gemini(list(24_000, () => ({ text: 'q' })))),
  'a text of Bedrock': whole('bedrock/m', () =>
    json({
      output: { message: { role: 'assistant', content: [{ text: times('word ', mostAnswer) }] } },
      stopReason: 'end_turn',
    }),
  ),
  'a long event': stream('chat/m', () => sse(chunk({ content: times('word ', 4 * mebibyte - 200) }))),
  'an event that is too long': stream('chat/m', () => begun + sse(chunk({ content: times('word ', mostAnswer) }))),
  'tiny events': stream('chat/m', () => times(begun, mostAnswer)),
  'empty events': stream('chat/m', () => begun + times('data: {}\n\n', mostAnswer)),
  comments: stream('chat/m', () => begun + times(':\n', mostAnswer)),
  'empty lines': stream('chat/m', () => begun + times('\n', mostAnswer)),
  'a line without an end': stream('chat/m', () => `${begun}data: ${times('a', mostAnswer)}`),
  'an event of many choices': stream('chat/m', () =>
    sse({ choices: list(19_000, (index) => ({ index, delta: { content: 'a' } })) }),
  ),
  'the input of a tool in pieces': stream('chat/m', () => {
    const piece = (input: string): string => sse(chunk({ tool_calls: [{ index: 0, function: { arguments: input } }] }));
    const first = sse(chunk({ tool_calls: [{ index: 0, id: 'c', function: { name: 'f', arguments: '[' } }] }));
    return first + times(piece('1,'.repeat(2_000)), mostAnswer) + piece('1]') + sse('[DONE]');
  }),
  'many blocks in a stream': stream(
    'anthropic/m',
    () => started + list(20_000, (index) => block(index, { type: 'text', text: 'a' })).join(''),
  ),
  'an endless signature': stream('anthropic/m', () => {
    const piece = named('content_block_delta', {
      index: 0,
      delta: { type: 'signature_delta', signature: 'a'.repeat(4_000) },
    });
    const thinking = named('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '' } });
    return started + thinking + times(piece, mostAnswer) + named('content_block_stop', { index: 0 });
  }),
  'an image in a stream': stream('gemini/m', () =>
    sse(gemini([{ inlineData: { mimeType: 'image/png', data: times('iVBORw0K', 4 * mebibyte - 200) } }])),
  ),
  'items that never end': stream('responses/m', () =>
    list(20_000, (index) =>
      named('response.output_item.added', {
        output_index: index,
        item: { type: 'function_call', call_id: `c${index}`, name: 'f', arguments: '' },
      }),
    ).join(''),
  ),
  'frames of Bedrock': stream('bedrock/m', () => {
    const one = converseFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: 'a' } });
    return Buffer.concat(list(60_000, () => one));
  }),
  'escapes in an event': stream('chat/m', () => sse(chunk({ content: times('a"\\\n', mebibyte * 2 - 200) }))),
  'a long proof of thoughts': stream('gemini/m', () =>
    sse(gemini([{ text: 'a', thoughtSignature: times('iVBORw0K', 4 * mebibyte - 200) }])),
  ),
  'escapes in a call of Gemini': stream('gemini/m', () =>
    sse(gemini([{ functionCall: { name: 'f', args: { a: times('a"\\\n', ((4 * mebibyte - 200) / 7) * 4) } } }])),
  ),
  'many calls in an event': stream('chat/m', () => sse(chunk(toolCalls(7_000, '{"a":1}')))),
};

const encoded = 'application/x-www-form-urlencoded';
const multipart = 'multipart/form-data; boundary=B';
const field = (name: string, value: string, more = ''): string =>
  `--B\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
/** Just within what may pass; less in a short run. */
const mostPassed = extent(31, 4) * mebibyte;
const jsonl = '; filename="f.jsonl"';

/** What a caller may name objects of providers in: it is looked at as it passes. */
export const passed: Readonly<Record<string, readonly [type: string, body: () => string]>> = {
  'empty fields': [encoded, () => times('a=&', mostPassed)],
  'separators alone': [encoded, () => times('&;', mostPassed)],
  'fields that are ids': [encoded, () => times('file_id=x%41&', mostPassed)],
  'escapes that are none': [encoded, () => times('%C3=%&', mostPassed)],
  'one long field': [encoded, () => `file_id=${times('x', mostPassed)}`],
  'JSON with many ids': ['application/json', () => `[${times('{"file_id":"x"},', mostPassed)}1]`],
  'JSON with many names': ['application/json', () => `{${members(240_000)}}`],
  'JSON with many long names': ['application/json', () => `{${times(`"${'k_'.repeat(1_000)}":1,`, mostPassed)}"a":1}`],
  'JSON with addresses': [
    'application/json',
    () => `[${times(`{"url":"${'//'.repeat(1_000)}files/"},`, mostPassed)}1]`,
  ],
  'JSON with escapes': ['application/json', () => `["${times('\\u0041\\/', mostPassed)}"]`],
  'JSON that only opens': ['application/json', () => times('{"a":[', mostPassed)],
  'JSON of single quotes': ['application/json', () => times("{'a':", mostPassed)],
  blanks: ['application/json', () => times(' \n', mostPassed)],
  words: ['text/plain', () => `{${times('abc_ ', mostPassed)}`],
  'a form with long fields': [multipart, () => `${field('prompt', times('x', mostPassed))}--B--\r\n`],
  'a file of lines': [multipart, () => `${field('file', times('{"a":1}\n', mostPassed), jsonl)}--B--\r\n`],
  'a file of line ends': [multipart, () => `${field('file', times('\n', mostPassed), jsonl)}--B--\r\n`],
  'a file of opened lines': [multipart, () => `${field('file', times('{"a":[\n', mostPassed), jsonl)}--B--\r\n`],
  'a file of beginnings of boundaries': [
    multipart,
    () => `${field('file', times('\r\n--', mostPassed), jsonl)}--B--\r\n`,
  ],
};
