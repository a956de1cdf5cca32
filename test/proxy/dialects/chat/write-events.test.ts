// What a client of chat gets of any answer, whole and in pieces: both say the same, and the official SDK puts the pieces together.
import { ChatCompletionStream } from 'openai/lib/ChatCompletionStream';
import { test } from 'tap';
import { chatTranslation } from '../../../../proxy/dialects/chat/translate.ts';
import type { ConversationAnswer } from '../../../../proxy/dialects/conversation/conversation.ts';
import type { StreamEvent } from '../../../../proxy/dialects/conversation/stream-event.ts';
import type { JsonObject } from '../../../../proxy/dialects/json/json.ts';
import type { AnswerContext } from '../../../../proxy/dialects/translation.ts';
import { cases, contextOf, eventsOf, folded, plain, recordedAnswer, recordedBytes } from './recorded.ts';

const asksUsage = { stream: true, stream_options: { include_usage: true } };

function written(events: readonly StreamEvent[], context: AnswerContext): string {
  const writer = chatTranslation.eventWriter(context);
  return events.flatMap((event) => [...writer.write(event)]).join('');
}

/** The data of the events, but for the last one, which is `[DONE]`. */
function chunksOf(stream: string): readonly string[] {
  const data = stream.split('\n\n').map((event) => event.slice('data: '.length));
  return data.slice(0, data.indexOf('[DONE]'));
}

/** As JSON, without what a stream does not say. */
function comparable(answer: ConversationAnswer): unknown {
  const { serviceTier: _, ...rest } = answer;
  return plain(rest);
}

await test('a client reads in the answer what the provider said', async (t) => {
  for (const name of cases) {
    const answer = recordedAnswer(name);
    const context = contextOf(asksUsage);
    const whole = chatTranslation.readAnswer(plain(chatTranslation.writeAnswer(answer, context)) as JsonObject);
    t.strictSame(comparable(whole), comparable(answer), `${name} whole`);
    const stream = written(eventsOf(recordedBytes(name)), context);
    t.strictSame(comparable(folded(eventsOf(stream))), comparable(shownAs(answer)), `${name} in pieces`);
  }
});

/** In pieces, summaries of thoughts are shown as thoughts, and only a proof that follows tells them apart. */
function shownAs(answer: ConversationAnswer): ConversationAnswer {
  const parts = answer.parts.map((part) => {
    return part.kind === 'reasoning' && part.summary.length > 0
      ? { ...part, text: part.summary.join('\n\n'), summary: [] }
      : part;
  });
  return { ...answer, parts };
}

await test('the official SDK puts the pieces of every answer together', async (t) => {
  // The SDK reads streamed calls of functions alone, and makes ids where none is given.
  for (const name of cases.filter((one) => one !== 'custom-tool' && one !== 'ollama-tools')) {
    const lines = chunksOf(written(eventsOf(recordedBytes(name)), contextOf(asksUsage)));
    const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
    const stream = ChatCompletionStream.fromReadableStream(new Blob([bytes]).stream());
    const { choices, usage } = await stream.finalChatCompletion();
    const answer = plain(chatTranslation.writeAnswer(recordedAnswer(name), contextOf())) as JsonObject;
    const [expected] = answer['choices'] as unknown as typeof choices;
    const { message, finish_reason: reason } = choices[0] ?? {};
    t.equal(reason, expected?.finish_reason, name);
    t.equal(message?.content || null, expected?.message.content ?? null, name);
    t.equal(message?.refusal || null, expected?.message.refusal ?? null, name);
    const calls = (list: unknown): unknown => (list as { id: string }[] | undefined)?.map(({ id }) => id);
    t.same(calls(message?.tool_calls), calls(expected?.message.tool_calls), name);
    t.equal(usage?.total_tokens, (answer['usage'] as { total_tokens?: number } | undefined)?.total_tokens, name);
  }
});

await test('a stream tells usage only to clients that ask for it', async (t) => {
  const silent = chunksOf(written(eventsOf(recordedBytes('plain')), contextOf({ stream: true })));
  t.equal(silent.filter((chunk) => chunk.includes('usage')).length, 0);
  const told = chunksOf(written(eventsOf(recordedBytes('plain')), contextOf(asksUsage)));
  t.equal(told.length, silent.length + 1);
  t.match(JSON.parse(told.at(-1) ?? ''), {
    choices: [],
    usage: {
      prompt_tokens: 2006,
      completion_tokens: 300,
      total_tokens: 2306,
      prompt_tokens_details: { cached_tokens: 1920 },
      completion_tokens_details: { reasoning_tokens: 192 },
    },
  });
});

await test('an answer of another family keeps its proofs for the next request', async (t) => {
  const answer: ConversationAnswer = {
    id: '',
    model: '',
    parts: [
      { kind: 'reasoning', text: 'Hm.', summary: [], signature: { family: 'anthropic', value: 'sig' } },
      { kind: 'reasoning', text: '', summary: [], encrypted: { family: 'anthropic', value: 'data' } },
      { kind: 'text', text: 'See ' },
      { kind: 'text', text: 'Rome', citations: [{ url: 'https://example.com', start: 0, end: 4 }] },
      {
        kind: 'tool_call',
        id: 'a',
        name: 'f',
        input: '',
        isFreeText: false,
        signature: { family: 'google', value: 'g' },
      },
    ],
    finish: { reason: 'tool_calls' },
  };
  const body = plain(chatTranslation.writeAnswer(answer, contextOf())) as Record<string, never>;
  t.strictSame(body, {
    id: 'chatcmpl-0123456789abcdef01234567',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: 'asked',
    choices: [
      {
        index: 0,
        message: {
          role: 'assistant',
          content: 'See Rome',
          refusal: null,
          reasoning_content: 'Hm.',
          extra_content: {
            anthropic: {
              thinking_blocks: [
                { type: 'thinking', thinking: 'Hm.', signature: 'sig' },
                { type: 'redacted_thinking', data: 'data' },
              ],
            },
          },
          annotations: [
            {
              type: 'url_citation',
              url_citation: { url: 'https://example.com', title: 'https://example.com', start_index: 4, end_index: 8 },
            },
          ],
          tool_calls: [
            {
              id: 'a',
              type: 'function',
              function: { name: 'f', arguments: '{}' },
              extra_content: { google: { thought_signature: 'g' } },
            },
          ],
        },
        logprobs: null,
        finish_reason: 'tool_calls',
      },
    ],
  });
  const { message } = (body['choices'] as unknown as JsonObject[])[0] ?? {};
  const request = chatTranslation.readRequest({ messages: [{ role: 'user', content: 'Hi' }, message ?? null] });
  t.match(request.turns[1]?.parts, [
    answer.parts[0],
    answer.parts[1],
    { text: 'See Rome' },
    { signature: { value: 'g' } },
  ]);
});

await test('the proof of a call comes with a function, without which some clients refuse a delta', async (t) => {
  const part = { kind: 'tool_call', id: 'c', name: 'f', isFreeText: false } as const;
  const delta = { kind: 'signature', signature: { family: 'google', value: 'proof' } } as const;
  const events = [
    { kind: 'started', id: '', model: '' },
    { kind: 'opened', index: 0, part },
    { kind: 'delta', index: 0, delta },
    { kind: 'closed', index: 0 },
    { kind: 'finished', finish: { reason: 'tool_calls' } },
  ] as const;
  const proof = { index: 0, function: { arguments: '' }, extra_content: { google: { thought_signature: 'proof' } } };
  t.match(written(events, contextOf()), JSON.stringify({ tool_calls: [proof] }));
});

await test('a client that speaks of functions gets a function_call', async (t) => {
  const context = contextOf({ functions: [{ name: 'get_weather' }] });
  t.match(chatTranslation.writeAnswer(recordedAnswer('tools'), context), {
    choices: [
      { message: { function_call: { name: 'get_weather' }, tool_calls: undefined }, finish_reason: 'function_call' },
    ],
  });
  const calls = chunksOf(written(eventsOf(recordedBytes('parallel-tools')), context))
    .map(
      (chunk) =>
        JSON.parse(chunk) as { choices: { delta: { function_call?: { arguments: string }; tool_calls?: unknown } }[] },
    )
    .map(({ choices }) => choices[0]?.delta);
  t.equal(calls.map((delta) => delta?.function_call?.arguments ?? '').join(''), '{"city":"Rome"}');
  t.notOk(calls.some((delta) => delta?.tool_calls));
});

await test('a function that stood for free text is called with it', async (t) => {
  const tools = [{ type: 'custom', custom: { name: 'patch' } }];
  const call = (input: string): StreamEvent[] => [
    { kind: 'started', id: 'a', model: 'm' },
    { kind: 'opened', index: 0, part: { kind: 'tool_call', id: 'c', name: 'patch', isFreeText: false } },
    { kind: 'delta', index: 0, delta: { kind: 'text', text: input } },
    { kind: 'closed', index: 0 },
    { kind: 'finished', finish: { reason: 'tool_calls' } },
  ];
  const events = call('{"input":"*** Begin"}');
  const expected = [{ kind: 'tool_call', id: 'c', name: 'patch', input: '*** Begin', isFreeText: true }];
  t.match(folded(eventsOf(written(events, contextOf({ tools })))).parts, expected);
  const whole = chatTranslation.writeAnswer(folded(events), contextOf({ tools }));
  t.match(chatTranslation.readAnswer(whole).parts, expected);
});

await test('a failure ends the stream with an error and without [DONE]', async (t) => {
  const stream = written(eventsOf(recordedBytes('error-within')), contextOf());
  const events = stream.trimEnd().split('\n\n');
  t.strictSame(JSON.parse(events.at(-1)?.slice(6) ?? ''), {
    error: { message: 'Provider disconnected', type: 'server_error', param: null, code: '502' },
  });
  t.notOk(stream.includes('[DONE]'));
});
