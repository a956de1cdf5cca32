// What a client gets of a streamed answer: the official SDK folds it into the response that the same answer is as JSON.
import OpenAI from 'openai';
import { test } from 'tap';
import type { ConversationAnswer, Finish } from '../../../../proxy/dialects/conversation/conversation.ts';
import type { Part } from '../../../../proxy/dialects/conversation/parts.ts';
import type { PartDelta, StreamEvent } from '../../../../proxy/dialects/conversation/stream-event.ts';
import { type JsonObject, parseObject } from '../../../../proxy/dialects/json/json.ts';
import { responsesTranslation } from '../../../../proxy/dialects/responses/translate.ts';
import { answerContext } from './answer-context.ts';

const body: JsonObject = {
  model: 'm',
  input: 'Hi',
  instructions: 'Be kind.',
  temperature: 0.5,
  metadata: { a: 'b' },
  store: false,
  tools: [{ type: 'custom', name: 'apply_patch' }],
  text: { verbosity: 'low' },
};

const logprobs = [{ token: 'Hel', logprob: -1, bytes: [1], top_logprobs: [] }];
const signature = { family: 'anthropic', value: 'EqQB' } as const;

/** Each part with the pieces it is told in. */
const told: readonly (readonly [Part, ...PartDelta[]])[] = [
  [
    { kind: 'reasoning', text: 'Hm. Well.', summary: [], signature },
    { kind: 'text', text: 'Hm. ' },
    { kind: 'text', text: 'Well.' },
    { kind: 'signature', signature },
  ],
  [
    { kind: 'text', text: 'Hello', logprobs, citations: [{ url: 'https://a.example', title: 'A', start: 0, end: 5 }] },
    { kind: 'text', text: 'Hel', logprobs },
    { kind: 'text', text: 'lo' },
    { kind: 'citation', citation: { url: 'https://a.example', title: 'A', start: 0, end: 5 } },
  ],
  [
    { kind: 'text', text: ' there' },
    { kind: 'text', text: ' there' },
  ],
  [
    { kind: 'refusal', text: 'No.' },
    { kind: 'text', text: 'No.' },
  ],
  [
    { kind: 'tool_call', id: 'call_1', name: 'look', input: '{"a":1}', isFreeText: false },
    { kind: 'text', text: '{"a"' },
    { kind: 'text', text: ':1}' },
  ],
  [{ kind: 'tool_call', id: 'call_2', name: 'now', input: '', isFreeText: false }],
  [
    { kind: 'tool_call', id: 'call_3', name: 'apply_patch', input: '{"input":"*** \\"x\\"\\n"}', isFreeText: false },
    { kind: 'text', text: '{"inp' },
    { kind: 'text', text: 'ut":"*** \\"x\\"\\n"}' },
  ],
  [
    { kind: 'reasoning', text: '', summary: ['One.', 'Two.'] },
    { kind: 'summary', index: 0, text: 'One.' },
    { kind: 'summary', index: 1, text: 'Two.' },
  ],
  [
    { kind: 'text', text: 'End' },
    { kind: 'text', text: 'End' },
  ],
];

const usage = { inputTokens: 9, outputTokens: 4, cachedTokens: 3, reasoningTokens: 2 };

function eventsOf(finish: Finish): readonly StreamEvent[] {
  const parts = told.flatMap(([part, ...deltas], index): StreamEvent[] => [
    { kind: 'opened', index, part: part.kind === 'tool_call' ? part : { kind: part.kind as 'text' } },
    ...deltas.map((delta): StreamEvent => ({ kind: 'delta', index, delta })),
    { kind: 'closed', index },
  ]);
  const started: StreamEvent = { kind: 'started', id: 'chatcmpl-1', model: 'gpt-x', createdAt: 1_600_000_000 };
  return [started, ...parts, { kind: 'usage', usage }, { kind: 'finished', finish }];
}

function written(events: readonly StreamEvent[], asked: JsonObject = body): string {
  const writer = responsesTranslation.eventWriter(answerContext(asked));
  return events.flatMap((event) => [...writer.write(event)]).join('');
}

/** What the SDK makes of a stream: every event, and the response in the end. */
async function folded(text: string): Promise<{ types: string[]; numbers: number[]; response: JsonObject }> {
  const headers = { 'content-type': 'text/event-stream' };
  const client = new OpenAI({ apiKey: 'k', fetch: async () => new Response(text, { headers }) });
  const stream = client.responses.stream({ model: 'm', input: 'Hi' });
  const types: string[] = [];
  const numbers: number[] = [];
  for await (const event of stream) {
    types.push(event.type);
    numbers.push(event.sequence_number);
  }
  return { types, numbers, response: parseObject(JSON.stringify(await stream.finalResponse())) ?? {} };
}

/** Ids are random, and the SDK adds what it parsed. */
function comparable(response: JsonObject): unknown {
  const { output_text: _, output_parsed: __, ...rest } = response;
  return JSON.parse(
    JSON.stringify(rest, (key, value: unknown) => {
      if (key === 'parsed' || key === 'parsed_arguments') return undefined;
      return key === 'id' && typeof value === 'string' ? value.replace(/\d+$/, '') : value;
    }),
  );
}

function answer(finish: Finish): ConversationAnswer {
  return {
    id: 'chatcmpl-1',
    model: 'gpt-x',
    createdAt: 1_600_000_000,
    parts: told.map(([part]) => part),
    finish,
    usage,
  };
}

await test('the SDK folds the stream into the response that the JSON is', async (t) => {
  for (const reason of ['stop', 'tool_calls', 'length', 'filtered', 'refusal'] as const) {
    for (const asked of [body, { ...body, reasoning: { summary: 'auto' } }]) {
      const whole = responsesTranslation.writeAnswer(answer({ reason }), answerContext(asked));
      const { numbers, response } = await folded(written(eventsOf({ reason }), asked));
      t.same(comparable(response), comparable(whole), reason);
      t.same(numbers, [...numbers.keys()], 'events are numbered without a gap');
    }
  }
});

await test('every event stands in its place', async (t) => {
  const { types } = await folded(written(eventsOf({ reason: 'stop' })));
  const names = types.map((type) => type.replace('response.', ''));
  const expected = `created in_progress
    output_item.added content_part.added reasoning_text.delta reasoning_text.delta reasoning_text.done content_part.done output_item.done
    output_item.added
    content_part.added output_text.delta output_text.delta output_text.annotation.added output_text.done content_part.done
    content_part.added output_text.delta output_text.done content_part.done
    content_part.added refusal.delta refusal.done content_part.done output_item.done
    output_item.added function_call_arguments.delta function_call_arguments.delta function_call_arguments.done output_item.done
    output_item.added function_call_arguments.delta function_call_arguments.done output_item.done
    output_item.added custom_tool_call_input.delta custom_tool_call_input.done output_item.done
    output_item.added
    reasoning_summary_part.added reasoning_summary_text.delta reasoning_summary_text.done reasoning_summary_part.done
    reasoning_summary_part.added reasoning_summary_text.delta reasoning_summary_text.done reasoning_summary_part.done
    output_item.done
    output_item.added content_part.added output_text.delta output_text.done content_part.done output_item.done
    completed`;
  t.same(names, expected.split(/\s+/));
});

await test('the response repeats the settings, and has what its type demands', async (t) => {
  const response = responsesTranslation.writeAnswer(answer({ reason: 'stop' }), answerContext(body));
  t.match(response, {
    id: /^resp_/,
    object: 'response',
    status: 'completed',
    model: 'gpt-x',
    created_at: 1_600_000_000,
    error: null,
    incomplete_details: null,
    instructions: 'Be kind.',
    temperature: 0.5,
    metadata: { a: 'b' },
    store: false,
    tools: body['tools'] as unknown[],
    text: { verbosity: 'low', format: { type: 'text' } },
    parallel_tool_calls: true,
    tool_choice: 'auto',
    usage: {
      input_tokens: 9,
      input_tokens_details: { cached_tokens: 3 },
      output_tokens: 4,
      output_tokens_details: { reasoning_tokens: 2 },
      total_tokens: 13,
    },
  });
  const output = response['output'] as JsonObject[];
  t.same(
    output.map(({ type }) => type),
    ['reasoning', 'message', 'function_call', 'function_call', 'custom_tool_call', 'reasoning', 'message'],
  );
  t.match(output[3], { arguments: '{}' }, 'a function without input gets an empty object');
  t.match(output[4], { input: '*** "x"\n' }, 'a tool that takes free text gets it');
  const cut = responsesTranslation.writeAnswer(answer({ reason: 'length' }), answerContext(body));
  t.match(cut, { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
  t.match((cut['output'] as JsonObject[]).at(-1), { status: 'incomplete' });
  const declined = responsesTranslation.writeAnswer(
    { ...answer({ reason: 'refusal' }), parts: [] },
    answerContext(body),
  );
  t.match(declined, { status: 'incomplete', incomplete_details: { reason: 'content_filter' } });
});

await test('a failure ends the stream with what came so far', async (t) => {
  const failure = { message: 'It broke.', code: null, type: 'server' };
  const events = written([...eventsOf({ reason: 'stop' }).slice(0, 11), { kind: 'failed', failure }]);
  const [error, last] = [...events.matchAll(/^data: (.*)$/gm)].slice(-2).map(([, data]) => parseObject(data ?? ''));
  t.match(error, { type: 'error', message: 'It broke.', error: { message: 'It broke.', code: null, param: null } });
  t.match(last, {
    type: 'response.failed',
    response: { status: 'failed', error: { code: 'server_error', message: 'It broke.' } },
  });
  t.match(last, { response: { output: [{ type: 'reasoning' }, { type: 'message', status: 'incomplete' }] } });
  const alone = written([{ kind: 'failed', failure }]);
  t.same(
    [...alone.matchAll(/^event: (.*)$/gm)].map(([, name]) => name),
    ['response.created', 'response.in_progress', 'error', 'response.failed'],
  );
  const failed = parseObject(/^event: error\ndata: (.*)$/m.exec(alone)?.[1] ?? '');
  const { code, message } = failure;
  t.same(failed, { type: 'error', sequence_number: 2, code, message, param: null, error: { ...failure, param: null } });
});

await test('signatures of other families come back from a client that keeps the encrypted content alone', async (t) => {
  const parts: Part[] = [
    { kind: 'reasoning', text: 'Hm.', summary: [], signature },
    { kind: 'reasoning', text: '', summary: [], encrypted: { family: 'anthropic', value: 'hidden' } },
    {
      kind: 'tool_call',
      id: 'call_1',
      name: 'f',
      input: '{}',
      isFreeText: false,
      signature: { family: 'google', value: 's' },
    },
  ];
  const shown = responsesTranslation.writeAnswer({ ...answer({ reason: 'stop' }), parts }, answerContext(body));
  const kept = (shown['output'] as JsonObject[]).map((item) => {
    const { content: _, ...rest } = item;
    return item['type'] === 'reasoning' ? { ...rest, summary: [] } : rest;
  });
  const [turn] = responsesTranslation.readRequest({ input: kept }).turns;
  t.match(turn?.parts, parts);
  t.equal(turn?.parts.length, 3);
});
