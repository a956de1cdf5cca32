// Servers give an answer in a form that was not asked for, or under a head that says something else: a client gets what it asked for.
import { t as suite, test } from 'tap';
import { type Behaviour, startFakeUpstream } from '../support/fake-upstream.ts';
import { untilIdle } from '../support/gateway.ts';
import { shareGateway } from '../support/shared.ts';

const formats = ['chat', 'messages', 'responses'] as const;
type Format = (typeof formats)[number];
const [chat, messages, responses] = await Promise.all(formats.map(() => startFakeUpstream({ t: suite })));
if (chat === undefined || messages === undefined || responses === undefined) throw new Error('no providers');
const upstreams = { chat, messages, responses };
const usual = { models: ['m'], circuit_breaker: false, learn_limits: false, api_key: 'k' };
const gateway = await shareGateway({
  config: {
    providers: {
      chat: { ...usual, type: 'openai', base_url: chat.url, dialects: ['chat', 'completions'] },
      messages: { ...usual, type: 'anthropic', base_url: messages.url },
      responses: { ...usual, type: 'openai', base_url: responses.url, dialects: ['responses'] },
    },
  },
});

const named = (type: string, members: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...members })}\n\n`;
const chunk = (delta: object, finish_reason: string | null): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
const content = [{ type: 'text', text: 'Said.' }];
const item = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: 'Said.', annotations: [] }],
};
const response = { id: 'resp_1', object: 'response', created_at: 1, model: 'm', status: 'completed', output: [item] };
const inputUsage = { input_tokens: 5, output_tokens: 7 };

/** What a provider says, as JSON and as events. */
const said: Record<Format, { whole: object; events: string }> = {
  chat: {
    whole: {
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'm',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Said.' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 },
    },
    events: `${chunk({ role: 'assistant', content: 'Sa' }, null)}${chunk({ content: 'id.' }, 'stop')}data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage: { prompt_tokens: 5, completion_tokens: 7, total_tokens: 12 } })}\n\ndata: [DONE]\n\n`,
  },
  messages: {
    whole: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content,
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: inputUsage,
    },
    events: [
      named('message_start', {
        message: {
          id: 'msg_1',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          usage: { ...inputUsage, output_tokens: 1 },
        },
      }),
      named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      named('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Said.' } }),
      named('content_block_stop', { index: 0 }),
      named('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 7 } }),
      named('message_stop'),
    ].join(''),
  },
  responses: {
    whole: { ...response, usage: { ...inputUsage, total_tokens: 12 } },
    events: [
      named('response.created', { response: { ...response, status: 'in_progress', output: [] } }),
      named('response.output_item.added', { output_index: 0, item: { ...item, content: [] } }),
      named('response.output_text.delta', { output_index: 0, content_index: 0, item_id: 'msg_1', delta: 'Said.' }),
      named('response.output_item.done', { output_index: 0, item }),
      named('response.completed', { response: { ...response, usage: { ...inputUsage, total_tokens: 12 } } }),
    ].join(''),
  },
};

const doors: Record<Format, string> = {
  chat: '/v1/chat/completions',
  messages: '/v1/messages',
  responses: '/v1/responses',
};
const bodies: Record<Format, object> = {
  chat: { messages: [{ role: 'user', content: 'Hello?' }] },
  messages: { max_tokens: 9, messages: [{ role: 'user', content: 'Hello?' }] },
  responses: { input: 'Hello?', store: false },
};

interface Told {
  readonly status: number;
  readonly type: string | null;
  readonly text: string;
}

async function ask(door: Format, provider: Format, stream: boolean): Promise<Told> {
  const body = { ...bodies[door], model: `${provider}/m`, stream };
  const answer = await gateway.fetch(doors[door], { method: 'POST', body });
  return { status: answer.status, type: answer.headers.get('content-type'), text: await answer.text() };
}

/** The words of a stream. */
function wordsIn(events: string): string {
  return [...events.matchAll(/"(?:content|text|delta)":"((?:[^"\\]|\\.)*)"/g)].map(([, word]) => word).join('');
}

const tokensOf = async (provider: string): Promise<number> =>
  (await gateway.metric('gateway_tokens_total', { provider })) ?? 0;
suite.afterEach(() => untilIdle(gateway));

const mark = '\ufeff';
const streamForms: [name: string, behaviour: (format: Format) => Behaviour][] = [
  ['JSON', (format) => ({ kind: 'json', body: said[format].whole })],
  ['JSON with a mark', (format) => ({ kind: 'json', body: mark + JSON.stringify(said[format].whole) })],
  ['JSON as text', (format) => typed('text/plain; charset=utf-8', JSON.stringify(said[format].whole))],
  ['JSON that says it is a stream', (format) => typed('text/event-stream', JSON.stringify(said[format].whole))],
  ['events with a mark', (format) => typed('text/event-stream', mark + said[format].events)],
  ['events as text', (format) => typed('text/plain', said[format].events)],
  ['events as JSON', (format) => typed('application/json', said[format].events)],
  ['events as bytes, with a mark', (format) => typed('application/octet-stream', mark + said[format].events)],
];

function typed(type: string, body: string): Behaviour {
  return { kind: 'json', body, headers: [['content-type', type]] };
}

for (const [name, behave] of streamForms) {
  await test(`${name}, where a stream was asked for`, async (t) => {
    for (const provider of formats) {
      await upstreams[provider].behave(behave(provider));
      for (const door of formats) {
        const before = await tokensOf(provider);
        const { status, type, text } = await ask(door, provider, true);
        const at = `${provider} at ${door}`;
        t.match({ status, type }, { status: 200, type: /^text\/event-stream/ }, `${at}: ${text}`);
        t.match(wordsIn(text), 'Said.', at);
        t.match(text, { chat: '[DONE]', messages: 'message_stop', responses: 'response.completed' }[door], at);
        t.notMatch(text, mark, at);
        await untilIdle(gateway);
        t.equal((await tokensOf(provider)) - before, 12, `${at}: what was reported is counted`);
      }
    }
  });
}

await test('events, where a whole answer was asked for', async (t) => {
  for (const type of ['text/event-stream', 'application/json', 'text/plain']) {
    for (const provider of formats) {
      await upstreams[provider].behave(typed(type, said[provider].events));
      for (const door of formats) {
        const before = await tokensOf(provider);
        const answer = await ask(door, provider, false);
        const at = `${provider} at ${door} as ${type}`;
        t.match(answer, { status: 200, type: /^application\/json/ }, `${at}: ${answer.text}`);
        t.match(JSON.stringify(JSON.parse(answer.text)), '"Said."', at);
        await untilIdle(gateway);
        t.equal((await tokensOf(provider)) - before, 12, `${at}: what was reported is counted`);
      }
    }
  }
});

await test('JSON with a mark, or as text, is JSON', async (t) => {
  for (const provider of formats) {
    const json = JSON.stringify(said[provider].whole);
    for (const behaviour of [typed('application/json', mark + json), typed('text/plain', json)]) {
      await upstreams[provider].behave(behaviour);
      for (const door of formats) {
        const answer = await ask(door, provider, false);
        t.match(answer, { status: 200, type: /^application\/json/ }, `${provider} at ${door}: ${answer.text}`);
        t.match(JSON.stringify(JSON.parse(answer.text)), '"Said."');
      }
    }
  }
});

await test('what is neither JSON nor events, and an error in the place of a stream, is refused', async (t) => {
  const lines = `${JSON.stringify(said.chat.whole)}\n${JSON.stringify(said.chat.whole)}\n`;
  const overload = { error: { code: 529, message: 'No.', type: 'overloaded' } };
  for (const door of formats) {
    for (const [behaviour, status] of [
      [typed('application/x-ndjson', lines), 502],
      [typed('application/json', lines), 502],
      [typed('text/plain', 'Said.'), 502],
      [{ kind: 'json', body: overload } as Behaviour, 529],
      [typed('text/event-stream', `data: ${JSON.stringify(overload)}\n\n`), 529],
    ] as const) {
      await chat.behave(behaviour);
      const answer = await ask(door, 'chat', true);
      t.equal(answer.status, status, `${door}: ${answer.text}`);
    }
    await chat.behave(typed('text/event-stream', chunk({ content: 'Sa' }, null)));
    t.equal((await ask(door, 'chat', false)).status, 502, `${door}: half of a stream is no answer`);
  }
});

await test('a long answer in the other form is told whole', async (t) => {
  const long = 'word '.repeat(60_000);
  const choices = [{ index: 0, message: { role: 'assistant', content: long }, finish_reason: 'stop' }];
  await chat.behave({ kind: 'json', body: { ...said.chat.whole, choices } });
  for (const door of formats) t.match(wordsIn((await ask(door, 'chat', true)).text), long, `${door}, streamed`);
  await chat.behave(
    typed('text/event-stream', `${chunk({ content: long }, null)}${chunk({}, 'stop')}data: [DONE]\n\n`),
  );
  for (const door of formats) t.match((await ask(door, 'chat', false)).text, long, `${door}, whole`);
});
