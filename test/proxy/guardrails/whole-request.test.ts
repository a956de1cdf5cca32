// What a model may read of a request, in every place where it may stand: guardrails find it there, and what they put in its place is sent.
import { test } from 'tap';
import { run } from '../../../proxy/guardrails/flow.ts';
import { type GuardedOperation, Guarding } from '../../../proxy/guardrails/guarding.ts';
import { railsOf } from './rails.ts';

const caller = { requestId: 'r', userPath: '/', model: 'm' };
const card = '4111 1111 1111 1111';
const mail = 'bob@example.com';

async function sent(
  operation: GuardedOperation,
  body: object,
  guardrail: object,
): Promise<{ text: string; body: never }> {
  const guarding = new Guarding(railsOf([guardrail]), caller, operation);
  const text = (await run(guarding.onRequest(Buffer.from(JSON.stringify(body))))).toString();
  return { text, body: JSON.parse(text) as never };
}

async function isBlocked(operation: GuardedOperation, body: object): Promise<boolean> {
  const guarding = new Guarding(railsOf([{ pii: { kinds: ['card'], action: 'block' } }]), caller, operation);
  const blocked = (async () => run(guarding.onRequest(Buffer.from(JSON.stringify(body)))))();
  await blocked.catch(() => undefined);
  return guarding.blockedBy !== undefined;
}

const user = (content: unknown) => ({ role: 'user', content });
const hi = { messages: [user('hi')] };
const fileOf = (text: string): string => Buffer.from(text).toString('base64');
const tool = (of: object) => ({ tools: [{ type: 'function', function: { name: 'f', ...of } }] });
const schemaOf = (words: string) => ({ type: 'object', properties: { a: { type: 'string', description: words } } });

/** By place: a request that says these words there. */
const places = (words: string): Readonly<Record<string, readonly [GuardedOperation, object]>> => ({
  'chat, system': ['chat', { messages: [{ role: 'system', content: words }, user('hi')] }],
  'chat, developer': ['chat', { messages: [{ role: 'developer', content: [{ type: 'text', text: words }] }] }],
  'chat, assistant': ['chat', { messages: [{ role: 'assistant', content: words }] }],
  'chat, tool': ['chat', { messages: [{ role: 'tool', tool_call_id: 'c', content: words }] }],
  'chat, tool arguments': [
    'chat',
    {
      messages: [
        { role: 'assistant', tool_calls: [{ function: { name: 'f', arguments: JSON.stringify({ a: words }) } }] },
      ],
    },
  ],
  'chat, a role that is unknown': ['chat', { messages: [{ role: 'critic', content: words }] }],
  'chat, a bare text among messages': ['chat', { messages: [words] }],
  'chat, messages that are a text': ['chat', { messages: words }],
  'chat, content in a list in a list': ['chat', { messages: [user([[words]])] }],
  'chat, an unknown part': ['chat', { messages: [user([{ type: 'note', body: { lines: [words] } }])] }],
  'chat, an unknown part under a name of media': [
    'chat',
    { messages: [user([{ type: 'x', data: words, url: words }])] },
  ],
  'chat, an unknown member of a message': ['chat', { messages: [{ ...user('hi'), hint: words }] }],
  'chat, name of a message': ['chat', { messages: [{ ...user('hi'), name: words }] }],
  'chat, description of a tool': ['chat', { ...hi, ...tool({ description: words }) }],
  'chat, schema of a tool': ['chat', { ...hi, ...tool({ parameters: schemaOf(words) }) }],
  'chat, property of a tool': ['chat', { ...hi, ...tool({ parameters: { properties: { [words]: {} } } }) }],
  'chat, custom tool': ['chat', { ...hi, tools: [{ type: 'custom', custom: { name: 'g', description: words } }] }],
  'chat, functions': ['chat', { ...hi, functions: [{ name: 'f', description: words }] }],
  'chat, response_format': [
    'chat',
    { ...hi, response_format: { type: 'json_schema', json_schema: { name: 'a', schema: schemaOf(words) } } },
  ],
  'chat, prediction': ['chat', { ...hi, prediction: { type: 'content', content: [{ type: 'text', text: words }] } }],
  'chat, metadata': ['chat', { ...hi, metadata: { note: words } }],
  'chat, name of metadata': ['chat', { ...hi, metadata: { [words]: 'x' } }],
  'chat, documents': ['chat', { ...hi, documents: [{ title: 'T', data: { snippet: words } }] }],
  'chat, chat_template': ['chat', { ...hi, chat_template: `{{ x }} ${words}` }],
  'chat, chat_template_kwargs': ['chat', { ...hi, chat_template_kwargs: { persona: [words] } }],
  'chat, prompt': ['chat', { ...hi, prompt: words }],
  'chat, extra_body': ['chat', { ...hi, extra_body: { a: { b: [{ c: words }] } } }],
  'chat, user': ['chat', { ...hi, user: words }],
  'chat, stop': ['chat', { ...hi, stop: [words] }],
  'chat, a setting with more than a word': ['chat', { ...hi, reasoning_effort: `low ${words}` }],
  'chat, file in base 64': [
    'chat',
    { messages: [user([{ type: 'file', file: { filename: 'a', file_data: fileOf(words) } }])] },
  ],
  'chat, file as an address': [
    'chat',
    { messages: [user([{ type: 'file', file: { file_data: `data:text/plain;base64,${fileOf(words)}` } }])] },
  ],
  'chat, file as an address with escapes': [
    'chat',
    { messages: [user([{ type: 'file', file: { file_data: `data:text/plain,${encodeURIComponent(words)}` } }])] },
  ],
  'responses, instructions': ['responses', { instructions: words, input: 'hi' }],
  'responses, input_file': [
    'responses',
    { input: [user([{ type: 'input_file', file_data: `data:text/csv;base64,${fileOf(words)}` }])] },
  ],
  'responses, item that is unknown': ['responses', { input: [{ type: 'memo', memo: { text: words } }] }],
  'responses, unknown member of a message': ['responses', { input: [{ ...user('hi'), hint: words }] }],
  'responses, description of a tool': [
    'responses',
    { input: 'hi', tools: [{ type: 'function', name: 'f', description: words }] },
  ],
  'responses, a tool of the provider': [
    'responses',
    { input: 'hi', tools: [{ type: 'mcp', server_description: words }] },
  ],
  'responses, text.format': [
    'responses',
    { input: 'hi', text: { format: { type: 'json_schema', schema: schemaOf(words) } } },
  ],
  'responses, metadata': ['responses', { input: 'hi', metadata: { a: words } }],
  'responses, prompt variable': ['responses', { prompt: { id: 'p', variables: { v: words } } }],
  'responses, unknown member': ['responses', { input: 'hi', documents: [words] }],
  'messages, system': ['messages', { ...hi, system: words }],
  'messages, system block of another form': ['messages', { ...hi, system: [{ type: 'x', words }] }],
  'messages, description of a tool': [
    'messages',
    { ...hi, tools: [{ name: 'f', description: words, input_schema: {} }] },
  ],
  'messages, schema of a tool': ['messages', { ...hi, tools: [{ name: 'f', input_schema: schemaOf(words) }] }],
  'messages, stop_sequences': ['messages', { ...hi, stop_sequences: [words] }],
  'messages, document in base 64': [
    'messages',
    {
      messages: [
        user([{ type: 'document', source: { type: 'base64', media_type: 'text/plain', data: fileOf(words) } }]),
      ],
    },
  ],
  'messages, an unknown block': ['messages', { messages: [user([{ type: 'x', y: words }])] }],
  'messages, unknown member': ['messages', { ...hi, context: { a: words } }],
  'messages, a message that says more': ['messages', { messages: [{ ...user('hi'), note: words }] }],
  'count_tokens, words': ['count_tokens', { messages: [user(words)] }],
  'completions, prompt': ['completions', { prompt: words }],
  'completions, suffix': ['completions', { prompt: 'hi', suffix: words }],
  'completions, unknown member': ['completions', { prompt: 'hi', documents: [words] }],
  'embeddings, input': ['embeddings', { input: [words] }],
  'embeddings, unknown member': ['embeddings', { input: 'hi', instruction: words }],
});

await test('a card number is refused wherever a model may read it', async (t) => {
  for (const [place, [operation, body]] of Object.entries(places(card))) t.ok(await isBlocked(operation, body), place);
  for (const [place, [operation, body]] of Object.entries(places('hello')))
    t.notOk(await isBlocked(operation, body), place);
  t.ok(await isBlocked('chat', { ...hi, documents: [{ card: 4111111111111111 }] }), 'as a number');
});

await test('words that are written as numbers of tokens do not pass where words are looked at', async (t) => {
  const rows = {
    completions: [{ prompt: [1, 2] }, { prompt: ['a', [3]] }],
    embeddings: [{ input: [[1], [2]] }],
  } as const;
  const words = { pii: { kinds: ['card'], action: 'block' } };
  for (const [operation, bodies] of Object.entries(rows)) {
    for (const body of bodies) {
      const said = (more: object) => sent(operation as GuardedOperation, body, { ...words, ...more });
      await t.rejects(said({}), { code: 'guardrails_prevent_endpoint' }, operation);
      t.same((await said({ mode: 'shadow' })).body, body, 'in shadow');
      t.match(
        (await sent('completions', body, { limits: { max_tokens: 9 } })).body,
        body,
        'its length alone is looked at',
      );
    }
  }
});

await test('what is masked is sent masked, in the place and the form in which it stood, also in a long request', async (t) => {
  const masked = places('to [EMAIL_1]');
  for (const more of [{}, { padding: 'word '.repeat(60_000) }]) {
    for (const [place, [operation, body]] of Object.entries(places(`to ${mail}`))) {
      const { text, body: told } = await sent(operation, { ...body, ...more }, { pii: { kinds: ['email'] } });
      t.notMatch(text, mail, place);
      const [, expected] = masked[place] ?? [];
      t.same(told, { ...expected, ...more }, place);
    }
  }
});

await test('roles narrow what is looked at', async (t) => {
  const guardrail = { roles: ['user'], pii: { kinds: ['email'] } };
  const body = { messages: [{ role: 'system', content: mail }, user(mail)], documents: [mail] };
  t.match((await sent('chat', body, guardrail)).body, {
    messages: [{ content: mail }, { content: '[EMAIL_1]' }],
    documents: ['[EMAIL_1]'],
  });
});

await test('settings, ids, keys of servers, signs and media stay as they are', async (t) => {
  const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0x00]).toString('base64');
  const body = {
    model: 'secret',
    stream: true,
    seed: 4111111111111111,
    logit_bias: { 50256: -100 },
    reasoning_effort: 'secret',
    service_tier: 'secret',
    previous_response_id: 'secret',
    tools: [
      { type: 'mcp', server_url: 'https://secret.example/', authorization: 'a secret', headers: { a: 'a secret' } },
    ],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: `data:image/png;base64,${png}`, detail: 'secret' } },
          { type: 'file', file: { file_id: 'secret', file_data: fileOf('\u0000 a secret') } },
        ],
      },
      {
        role: 'assistant',
        thinking_blocks: [{ thinking: 'a secret', signature: 's' }],
        tool_calls: [{ id: 'secret' }],
      },
    ],
  };
  const guardrail = { keywords: { words: ['secret'], action: 'redact' } };
  t.same((await sent('chat', body, guardrail)).body, body);
});

await test('a name of a member that is masked is none that was there', async (t) => {
  const metadata = { 'a@b.org': 1, 'c@d.org': 2, '-': 3, z: { 'a@b.org': 4 } };
  const guardrail = { regex: { patterns: ['\\S+@\\S+'], action: 'redact', replacement: '-' } };
  const { body } = await sent('chat', { ...hi, metadata }, guardrail);
  t.same(body, { ...hi, metadata: { '-_': 1, '-__': 2, '-': 3, z: { '-': 4 } } });
});

await test('a document of any length is no text', async (t) => {
  // All of it matches: longer than what a regular expression can go back in.
  const data = 'iVBORw0K'.repeat(2.5 * 2 ** 20);
  const document = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } };
  t.notOk(await isBlocked('messages', { messages: [user([document])] }));
  t.notOk(await isBlocked('responses', { input: [user([{ type: 'input_file', file_data: data }])] }));
  t.ok(await isBlocked('messages', { messages: [user([document, { type: 'text', text: card }])] }));
});
