// Answers of Anthropic are read as a whole and as a stream, to the same end, and its clients get them as they were.
import { test } from 'tap';
import type { Part } from '../../../../proxy/dialects/conversation/parts.ts';
import type { StreamEvent } from '../../../../proxy/dialects/conversation/stream-event.ts';
import { packSignature } from '../../../../proxy/dialects/foreign-signature.ts';
import { readAnswer } from '../../../../proxy/dialects/messages/read/read-answer.ts';
import { readRequest } from '../../../../proxy/dialects/messages/read/read-request.ts';
import { writeAnswer } from '../../../../proxy/dialects/messages/write-answer.ts';
import { answerOf, cases, context, eventsOf, fold, plain, recorded, written } from './recorded.ts';

await test('a stream folded is the answer as a whole', (t) => {
  for (const name of cases) {
    const folded = fold(eventsOf([recorded(`${name}.sse`)]));
    t.same(plain(folded.answer()), plain(readAnswer(answerOf(name))), name);
    t.equal(folded.isFinished, true);
  }
  t.end();
});

await test('a client of Anthropic gets an answer of Anthropic as it was, as a whole and as a stream', (t) => {
  for (const name of cases) {
    const answer = answerOf(name);
    t.same(plain(writeAnswer(readAnswer(answer), context)), plain(answer), name);
    const events = eventsOf([recorded(`${name}.sse`)]);
    const again = eventsOf([Buffer.from(written(events))]);
    t.same(plain(fold(again).answer()), plain(fold(events).answer()), `${name} as a stream`);
  }
  t.end();
});

await test('the input of a conversation includes what a cache holds', (t) => {
  const usage = { inputTokens: 2043, outputTokens: 5, cachedTokens: 1800, cacheWriteTokens: 240 };
  t.same(plain(readAnswer(answerOf('caches')).usage), usage);
  t.end();
});

await test('an error in the middle closes what is open and fails', (t) => {
  const events = eventsOf([recorded('error-in-the-middle.sse')]);
  t.same(events.slice(-2), [
    { kind: 'closed', index: 0 },
    { kind: 'failed', failure: { message: 'Overloaded', code: null, type: 'overloaded_error' } },
  ]);
  const said = { type: 'overloaded_error', message: 'Overloaded', code: null, param: null };
  const error = { type: 'error', error: said };
  t.ok(written(events).endsWith(`event: error\ndata: ${JSON.stringify(error)}\n\n`));
  t.end();
});

await test('a stream that breaks off is not finished, unless the reason to stop was told', (t) => {
  const whole = recorded('plain.sse').toString();
  const kinds = (text: string) => eventsOf([Buffer.from(text)]).map(({ kind }) => kind);
  t.notOk(kinds(whole.slice(0, whole.indexOf('event: message_delta'))).includes('finished'));
  t.equal(kinds(whole.slice(0, whole.indexOf('event: message_stop'))).at(-1), 'finished');
  t.end();
});

await test('blocks that are streamed at once are told one after the other', (t) => {
  const event = (type: string, index: number, members: object = {}) => ({ type, index, ...members });
  const begin = (index: number, block: object) =>
    event('content_block_start', index, { content_block: { id: `t${index}`, name: 'f', input: {}, ...block } });
  const grow = (index: number, delta: object) => event('content_block_delta', index, { delta });
  const json = (partial_json: string) => ({ type: 'input_json_delta', partial_json });
  const end = (index: number) => event('content_block_stop', index);
  const apart = [
    [
      begin(0, { type: 'text', text: '' }),
      grow(0, { type: 'text_delta', text: 'Hel' }),
      grow(0, { type: 'text_delta', text: 'lo' }),
      end(0),
    ],
    [begin(1, { type: 'tool_use' }), grow(1, json('{"a":')), grow(1, json('1}')), end(1)],
    [begin(2, { type: 'tool_use' }), grow(2, json('{"b":')), grow(2, json('2}')), end(2)],
  ];
  const mixed = [0, 1, 2, 3].flatMap((at) => apart.map((events) => events[at]));
  const stop = { type: 'message_delta', delta: { stop_reason: 'tool_use' } };
  const told = (events: readonly unknown[]) =>
    eventsOf([
      Buffer.from(
        [...events, stop, { type: 'message_stop' }].map((said) => `data: ${JSON.stringify(said)}\n\n`).join(''),
      ),
    ]);
  t.same(fold(told(mixed)).answer(), fold(told(apart.flat())).answer());
  const endless = mixed.filter((said) => said?.type !== 'content_block_stop');
  t.same(fold(told(endless)).answer(), fold(told(apart.flat())).answer(), 'without the ends of blocks');
  t.match(
    told(mixed)
      .map(({ kind }) => kind)
      .join(' '),
    /^started( opened( delta)* closed){3} finished$/,
  );
  t.end();
});

await test('the input of a tool may come at once', (t) => {
  const block = (input: object) => ({ type: 'tool_use', id: 'a', name: 'b', input });
  const stream = (input: object) =>
    `data: ${JSON.stringify({ type: 'content_block_start', index: 0, content_block: block(input) })}\n\n` +
    'data: {"type":"content_block_stop","index":0}\n\ndata: {"type":"message_stop"}\n\n';
  for (const input of [{}, { a: [1] }]) {
    const [call] = fold(eventsOf([Buffer.from(stream(input))])).answer().parts;
    t.match(call, { kind: 'tool_call', input: JSON.stringify(input) });
  }
  t.end();
});

await test('an answer that is none is told so', (t) => {
  const bad = [{}, { content: 'a' }, { content: [1] }, { content: [{}] }, { content: [{ type: 'tool_use', id: 'a' }] }];
  for (const body of bad) t.throws(() => readAnswer(body), { name: 'InvalidAnswer' }, JSON.stringify(body));
  t.throws(() => eventsOf([Buffer.from('data: {"type":\n\n')]), { name: 'InvalidAnswer' });
  t.end();
});

/** The answer of another provider, in pieces. */
const started: StreamEvent = { kind: 'started', id: 'chatcmpl-1', model: '' };

await test('an answer of another provider becomes the complete sequence of events', (t) => {
  const signature = { family: 'google', value: 'sig' } as const;
  const events: readonly StreamEvent[] = [
    started,
    { kind: 'opened', index: 0, part: { kind: 'text' } },
    { kind: 'delta', index: 0, delta: { kind: 'text', text: '' } },
    { kind: 'closed', index: 0 },
    { kind: 'opened', index: 1, part: { kind: 'tool_call', id: 'c1', name: 'f', isFreeText: false } },
    { kind: 'delta', index: 1, delta: { kind: 'text', text: '{"a":' } },
    { kind: 'delta', index: 1, delta: { kind: 'signature', signature } },
    { kind: 'delta', index: 1, delta: { kind: 'text', text: '1}' } },
    { kind: 'closed', index: 1 },
    { kind: 'usage', usage: { inputTokens: 9, outputTokens: 4, cachedTokens: 5 } },
    { kind: 'finished', finish: { reason: 'stop' } },
  ];
  const usage = (input: number, cached: number, output: number) => ({
    input_tokens: input,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cached,
    output_tokens: output,
  });
  const head = { id: 'msg_chatcmpl-1', type: 'message', role: 'assistant', model: 'fast', content: [] };
  const packed = packSignature(signature, 'anthropic');
  const expected = [
    {
      type: 'message_start',
      message: { ...head, stop_reason: null, stop_sequence: null, usage: usage(0, 0, 0) },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'c1', name: 'f', input: {} } },
    { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '{"a":' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: '1}' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: { type: 'thinking', thinking: '', signature: '' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'signature_delta', signature: packed } },
    { type: 'content_block_stop', index: 1 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: usage(4, 5, 4) },
    { type: 'message_stop' },
  ];
  t.equal(written(events), expected.map((data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`).join(''));
  t.end();
});

await test('what comes as a whole is told in deltas, where clients look for it', (t) => {
  const declined: StreamEvent = {
    kind: 'opened',
    index: 0,
    part: { kind: 'whole', part: { kind: 'refusal', text: 'No.' } },
  };
  const told = written([started, declined, { kind: 'closed', index: 0 }]);
  t.match(told, '"content_block":{"type":"text","text":""}');
  t.match(told, '"delta":{"type":"text_delta","text":"No."}');
  t.end();
});

await test('usage that is known at the beginning stands there', (t) => {
  const usage: StreamEvent = { kind: 'usage', usage: { inputTokens: 9, outputTokens: 0 } };
  t.match(written([started, usage]), '"input_tokens":9');
  t.equal(written([started]), '');
  t.end();
});

await test('a text instead of JSON becomes the input of a tool, as a whole and in pieces', (t) => {
  const call: Part = { kind: 'tool_call', id: 'c1', name: 'patch', input: 'say "hi"\n😀', isFreeText: true };
  const answer = writeAnswer({ id: '', model: '', parts: [call], finish: { reason: 'tool_calls' } }, context);
  t.match(answer, { id: 'msg_0123456789abcdef01234567', content: [{ input: { input: call.input } }] });
  const broken = { ...call, isFreeText: false, input: '{"a":' };
  const again = writeAnswer({ id: 'a', model: 'm', parts: [broken], finish: { reason: 'length' } }, context);
  t.match(again, { stop_reason: 'max_tokens', content: [{ input: { input: '{"a":' } }] });
  const pieces = call.input
    .split('')
    .map((text): StreamEvent => ({ kind: 'delta', index: 0, delta: { kind: 'text', text } }));
  const opened: StreamEvent = { kind: 'opened', index: 0, part: { ...call, kind: 'tool_call' } };
  const folded = fold(eventsOf([Buffer.from(written([started, opened, ...pieces, { kind: 'closed', index: 0 }]))]));
  t.same(JSON.parse((folded.answer().parts[0] as { input: string }).input), { input: call.input });
  t.end();
});

await test('thoughts of other families are kept by the client in a packed form', (t) => {
  const encrypted = { family: 'openai', value: 'gAAAA' } as const;
  const thought: Part = { kind: 'reasoning', text: '', summary: ['First.', 'Then.'], encrypted };
  const { content } = writeAnswer({ id: 'a', model: 'm', parts: [thought], finish: { reason: 'stop' } }, context);
  const assistant = { role: 'assistant', content: content ?? [] };
  const { turns } = readRequest({ max_tokens: 1, messages: [assistant] });
  t.same(plain(turns[0]?.parts), [{ kind: 'reasoning', text: '', summary: ['First.\n\nThen.'], encrypted }]);
  t.end();
});
