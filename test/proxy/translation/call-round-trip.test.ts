// A name and an id that a target does not take, from each client to each provider: the request fits, and the answer speaks of the client's own tool.
import { test } from 'tap';
import { readCall } from '../../../proxy/call/call.ts';
import { type JsonObject, writeJson } from '../../../proxy/dialects/json/json.ts';
import type { RawEvent } from '../../../proxy/dialects/translation.ts';
import { atOnce } from '../../../proxy/pacing/slices.ts';
import { clientDialects, providerDialects } from '../../../proxy/providers/dialects.ts';
import { conversationOf } from '../../../proxy/translation/conversation-of.ts';
import { eventReader, eventWriter, readAnswer, translate, writeAnswer } from '../../../proxy/translation/translated.ts';

/** Of 131 characters. */
const name = `mcp__files.read one${'_more'.repeat(22)}_2`;
const id = `functions.read:0/${'9'.repeat(60)}`;
const parameters = { type: 'object', properties: {} };

const requests = {
  chat: {
    messages: [
      { role: 'assistant', content: null, tool_calls: [{ id, type: 'function', function: { name, arguments: '{}' } }] },
      { role: 'tool', tool_call_id: id, content: 'r' },
    ],
    tools: [{ type: 'function', function: { name, parameters } }],
    tool_choice: { type: 'function', function: { name } },
  },
  messages: {
    max_tokens: 99,
    messages: [
      { role: 'assistant', content: [{ type: 'tool_use', id, name, input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'r' }] },
    ],
    tools: [{ name, input_schema: parameters }],
    tool_choice: { type: 'tool', name },
  },
  responses: {
    input: [
      { type: 'function_call', call_id: id, name, arguments: '{}' },
      { type: 'function_call_output', call_id: id, output: 'r' },
    ],
    tools: [{ type: 'function', name, parameters }],
    tool_choice: { type: 'function', name },
  },
};

const event = (data: JsonObject, named = data['type']): RawEvent => {
  return { event: typeof named === 'string' ? named : undefined, data: writeJson(data) };
};

interface Provider {
  readonly model: string;
  /** What it takes as a name; how often it is told; and where ids stand. */
  readonly name: RegExp;
  readonly told: number;
  readonly id: RegExp;
  /** An answer that calls the tool without an id, as a whole and as a stream. */
  readonly answer: (called: string) => JsonObject;
  readonly events: (called: string) => readonly RawEvent[];
}

const chatChunk = (delta: JsonObject, finish_reason: string | null = null): RawEvent =>
  event({ id: 'a', choices: [{ index: 0, delta, finish_reason }] });
const geminiAnswer = (called: string): JsonObject => ({
  candidates: [{ content: { parts: [{ functionCall: { name: called, args: {} } }] }, finishReason: 'STOP' }],
});
const providers: Record<'chat' | 'messages' | 'responses' | 'gemini' | 'bedrock', Provider> = {
  chat: {
    model: 'mistral-large',
    name: /^[\w-]{1,64}$/,
    told: 3,
    id: /"(?:id|tool_call_id)":"([A-Za-z0-9]{9})"/g,
    answer: (called) => {
      const calls = [{ type: 'function', function: { name: called, arguments: '{}' } }];
      return { choices: [{ index: 0, message: { tool_calls: calls }, finish_reason: 'tool_calls' }] };
    },
    events: (called) => [
      chatChunk({ tool_calls: [{ index: 0, id: '', function: { name: '', arguments: '' } }] }),
      chatChunk({ tool_calls: [{ index: 0, function: { name: called, arguments: '{' } }] }),
      chatChunk({ tool_calls: [{ index: 0, function: { name: called, arguments: '}' } }] }, 'tool_calls'),
      { event: undefined, data: '[DONE]' },
    ],
  },
  messages: {
    model: 'claude-sonnet-4-5',
    name: /^[\w-]{1,128}$/,
    told: 3,
    id: /"(?:id|tool_use_id)":"([\w-]+)"/g,
    answer: (called) => ({ content: [{ type: 'tool_use', id: '', name: called, input: {} }], stop_reason: 'tool_use' }),
    events: (called) => [
      event({ type: 'message_start', message: {} }),
      event({
        type: 'content_block_start',
        index: 0,
        content_block: { type: 'tool_use', id: '', name: called, input: {} },
      }),
      event({ type: 'content_block_stop', index: 0 }),
      event({ type: 'message_delta', delta: { stop_reason: 'tool_use' } }),
      event({ type: 'message_stop' }),
    ],
  },
  responses: {
    model: 'gpt-5',
    name: /^[\w-]{1,64}$/,
    told: 3,
    id: /"call_id":"(.{1,64}?)"/g,
    answer: (called) => {
      return { status: 'completed', output: [{ type: 'function_call', name: called, arguments: '{}' }] };
    },
    events: (called) => {
      const item = { type: 'function_call', name: called, arguments: '{}' };
      return [
        event({ type: 'response.created', response: {} }),
        event({ type: 'response.output_item.added', output_index: 0, item: { ...item, name: '', arguments: '' } }),
        event({ type: 'response.function_call_arguments.delta', output_index: 0, delta: '{}' }),
        event({ type: 'response.output_item.done', output_index: 0, item }),
        event({ type: 'response.completed', response: { status: 'completed', output: [item] } }),
      ];
    },
  },
  gemini: {
    model: 'gemini-2.5-flash',
    name: /^[A-Za-z_][\w.-]{0,63}$/,
    told: 4,
    id: /"id":"([^"]+)"/g,
    answer: geminiAnswer,
    events: (called) => [event(geminiAnswer(called))],
  },
  bedrock: {
    model: 'anthropic.claude-sonnet-4-20250514-v1:0',
    name: /^[\w-]{1,64}$/,
    told: 3,
    id: /"toolUseId":"([\w-]{1,64})"/g,
    answer: (called) => {
      const content = [{ toolUse: { toolUseId: '', name: called, input: {} } }];
      return { output: { message: { role: 'assistant', content } }, stopReason: 'tool_use' };
    },
    events: (called) => [
      event({ contentBlockIndex: 0, start: { toolUse: { toolUseId: '', name: called } } }, 'contentBlockStart'),
      event({ contentBlockIndex: 0 }, 'contentBlockStop'),
      event({ stopReason: 'tool_use' }, 'messageStop'),
    ],
  },
};

for (const [from, body] of Object.entries(requests) as [keyof typeof requests, JsonObject][]) {
  for (const [to, provider] of Object.entries(providers) as [keyof typeof providers, Provider][]) {
    if (to === from) continue;
    await test(`from a client of ${from} to a provider of ${to}`, (t) => {
      const [client, dialect] = [clientDialects[from], providerDialects[to]];
      if (client === undefined || dialect === undefined) throw new Error('it is not spoken');
      const call = readCall(Buffer.from(writeJson({ model: 'm', ...body })));
      const target = { model: provider.model, upstream: { name: 'there', unsupported: undefined } };
      const translated = atOnce(translate(atOnce(conversationOf(call, client)), target, { quirks: {} }, dialect));

      const sent = translated.body.toString();
      const told = [...sent.matchAll(/"(mcp__[^"]*)"/g)].map(([, each = '']) => each);
      const [called = ''] = told;
      t.match(called, provider.name);
      t.same(told, Array(provider.told).fill(called), 'the tool, its choice, the call and the result say the same');
      const ids = [...sent.matchAll(provider.id)].map(([, each]) => each);
      t.same(ids, [ids[0], ids[0]], sent);

      const answer = atOnce(readAnswer(translated, Buffer.from(writeJson(provider.answer(called)))));
      const reader = eventReader(translated);
      const writer = eventWriter(translated, 0);
      const events = [...provider.events(called).flatMap((raw) => reader.read(raw)), ...reader.end()];
      const stream = events.flatMap((each) => [...writer.write(each)]).join('');
      const made = [writeJson(writeAnswer(translated, answer, 0)), stream].map((text) => {
        t.ok(text.includes(`"name":"${name}"`), text);
        t.notOk(text.includes(called), 'the name that the provider was told is seen by no client');
        return /"(?:id|call_id)":"(call_[\w-]{24})"/.exec(text)?.[1];
      });
      t.type(made[0], 'string');
      t.type(made[1], 'string');
      t.not(made[0], made[1], 'the id is a new one in each answer');
      t.end();
    });
  }
}
