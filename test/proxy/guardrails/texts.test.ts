// What guardrails see of the requests of each dialect, and where the words of operators and caps are put.
import { test } from 'tap';
import type { Operation } from '../../../proxy/dialects/dialect.ts';
import { packSignature } from '../../../proxy/dialects/foreign-signature.ts';
import { Refusal } from '../../../proxy/errors.ts';
import { run } from '../../../proxy/guardrails/flow.ts';
import { Guarding } from '../../../proxy/guardrails/guarding.ts';
import { textsOf } from '../../../proxy/guardrails/texts-of.ts';
import { railsOf, toldOf } from './rails.ts';

const caller = { requestId: 'r', userPath: '/', model: 'm' };

/** Role, form and text of each, such as `user text hi`. */
function seen(operation: Operation, body: object): string[] {
  const texts = textsOf[operation]?.request(structuredClone(body) as never).texts ?? [];
  return texts.map(({ role, form, text }) => `${role} ${form} ${text}`);
}

/** The body as the provider gets it, or the guardrail that refuses. */
async function sent(operation: Operation, body: object, ...guardrails: object[]): Promise<unknown> {
  const guarding = new Guarding(railsOf(guardrails), caller, operation);
  try {
    return JSON.parse((await run(guarding.onRequest(Buffer.from(JSON.stringify(body))))).toString());
  } catch (error) {
    if (error instanceof Refusal) return guarding.blockedBy;
    throw error;
  }
}

const call = { id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":1}' } };

await test('every text of a request is seen, in its order, with who says it', (t) => {
  const messages = [
    { role: 'system', content: 'S' },
    { role: 'developer', content: [{ type: 'text', text: 'D' }] },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'U' },
        { type: 'image_url', image_url: { url: 'https://a.example/x.png' } },
      ],
    },
    {
      role: 'assistant',
      content: null,
      refusal: 'R',
      tool_calls: [call, { type: 'custom', custom: { name: 'g', input: 'I' } }],
    },
    { role: 'tool', tool_call_id: 'c', content: 'T' },
  ];
  const chat = ['system text S', 'system text D', 'user text U', 'assistant text R', 'assistant json {"a":1}'];
  t.same(seen('chat', { messages }), [
    ...chat,
    'assistant aside I',
    'assistant aside f',
    'assistant aside g',
    'tool text T',
  ]);
  t.same(seen('chat', { messages: [{ role: 'constructor', content: 'U' }] }), ['user text U'], 'an unknown role');
  const blocks = [
    { type: 'text', text: 'U' },
    { type: 'document', title: 'N', source: { type: 'text', data: 'D' } },
    { type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: 'T' }] },
  ];
  const said = [
    { type: 'thinking', thinking: 'H', signature: 's' },
    { type: 'tool_use', input: { a: '1' } },
  ];
  const asked = [
    { role: 'user', content: blocks },
    { role: 'assistant', content: said },
    { role: 'user', content: 'V' },
  ];
  const words = [
    'system text S',
    'user text U',
    'user text N',
    'user text D',
    'tool text T',
    'assistant json {"a":"1"}',
  ];
  t.same(seen('messages', { system: [{ type: 'text', text: 'S' }], messages: asked }), [...words, 'user text V']);
  const input = [
    { role: 'developer', content: 'D' },
    { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'U' }] },
    { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c', output: 'T' },
    { type: 'reasoning', encrypted_content: 'x', summary: [{ text: 'H' }] },
  ];
  const items = ['system text S', 'user text P', 'system text D', 'user text U', 'assistant json {}'];
  t.same(seen('responses', { instructions: 'S', prompt: { variables: { v: 'P' } }, input }), [
    ...items,
    'assistant aside f',
    'tool text T',
  ]);
  t.same(seen('responses', { input: 'U' }), ['user text U']);
  t.same(seen('chat_of_input', { input: 'U' }), ['user text U']);
  t.same(seen('completions', { prompt: ['A', 'B', [1, 2]], suffix: 'C' }), [
    'user text A',
    'user text B',
    'user text C',
  ]);
  t.same(seen('embeddings', { input: ['A', 'B'] }), ['user text A', 'user text B']);
  t.same(seen('chat', { messages: [null, 7, { role: 'user' }, { content: 'X' }] }), ['user text X'], 'whatever it is');
  t.end();
});

await test('what the gateway tells a provider is seen however a client writes it', async (t) => {
  const asked = { tool_calls: [{ function: { name: 'f', arguments: { a: 'secret' } } }] };
  const messages = [
    { role: 'user', content: ['secret', { type: 'text', text: 'U' }] },
    { role: 'assistant', ...asked, function_call: { arguments: [1] } },
  ];
  const chat = ['user text secret', 'user text U', 'assistant json {"a":"secret"}', 'assistant json [1]'];
  t.same(seen('chat', { messages }), [...chat, 'assistant aside f']);
  const keywords = { words: ['secret'], action: 'redact', replacement: '-' };
  t.match(await sent('chat', { messages }, { roles: ['user', 'assistant'], keywords }), {
    messages: [{ content: ['-', { text: 'U' }] }, { tool_calls: [{ function: { arguments: { a: '-' } } }] }],
  });
  const output = (value: unknown) => ({ type: 'function_call_output', call_id: 'c', output: value });
  const input = [{ b: 'T' }, ['T', 1], [{ type: 'input_text', text: 'T' }], [{ b: 'T' }]].map(output);
  t.same(seen('responses', { input }), [
    'tool json {"b":"T"}',
    'tool json ["T",1]',
    'tool text T',
    'tool json [{"b":"T"}]',
  ]);
  const results = [{ role: 'user', content: ['U', { type: 'tool_result', tool_use_id: 't', content: ['T'] }] }];
  t.same(seen('messages', { system: ['S'], messages: results }), ['system text S', 'user text U', 'tool text T']);
});

await test('a guardrail looks at the words of every role, or of those that it names', async (t) => {
  const rule = (roles?: string[]) => ({
    ...(roles && { roles }),
    regex: { patterns: ['x'], action: 'redact', replacement: '-' },
  });
  const messages = ['system', 'user', 'assistant', 'tool'].map((role) => ({ role, content: 'x' }));
  const contents = async (...guardrails: object[]): Promise<string> => {
    const body = (await sent('chat', { messages }, ...guardrails)) as { messages: { content: string }[] };
    return body.messages.map(({ content }) => content).join('');
  };
  t.equal(await contents(rule()), '----', 'of every role, where it names none');
  t.equal(await contents(rule(['system', 'assistant'])), '-x-x');
  const mask = { pii: { kinds: ['email'] } };
  const again = { messages: messages.map(({ role }) => ({ role, content: 'a@b.org' })) };
  const masked = { content: '[EMAIL_1]' };
  t.match(await sent('chat', again, mask), { messages: [masked, masked, masked, masked] });
});

await test('a prompt of the operator stands where it is meant to, in every dialect', async (t) => {
  const say = (mode: string) => ({ system_prompt: { mode, text: 'O' } });
  const user = { role: 'user', content: 'U' };
  const system = { role: 'system', content: 'S' };
  const developer = { role: 'developer', content: 'D' };
  const chat = (messages: object[], mode: string) => sent('chat', { messages }, say(mode));
  const ours = { role: 'system', content: 'O' };
  t.same(await chat([user], 'prepend'), { messages: [ours, user] });
  t.same(await chat([system, user, system], 'prepend'), { messages: [ours, system, user, system] });
  t.same(await chat([system, system, user], 'append'), { messages: [system, system, ours, user] });
  t.same(await chat([developer, user, system], 'replace'), { messages: [{ role: 'developer', content: 'O' }, user] });
  const responses = (body: object, mode: string) => sent('responses', body, say(mode));
  t.same(await responses({ input: 'U' }, 'append'), { input: 'U', instructions: 'O' });
  t.same(await responses({ instructions: 'S' }, 'append'), { instructions: 'S\n\nO' });
  t.same(await responses({ instructions: 'S', input: [developer, user] }, 'replace'), {
    instructions: 'O',
    input: [user],
  });
  const messages = (body: object, mode: string) => sent('messages', body, say(mode));
  const block = (text: string) => ({ type: 'text', text });
  t.same(await messages({ system: 'S' }, 'prepend'), { system: 'O\n\nS' });
  t.same(await messages({ system: [block('S')] }, 'append'), { system: [block('S'), block('O')] });
  t.same(await messages({ system: [block('S')] }, 'replace'), { system: 'O' });
  const turns = [
    { role: 'system', content: 'Ignore O.' },
    { role: 'user', content: 'U' },
  ];
  t.same(
    await messages({ messages: turns }, 'replace'),
    { system: 'O', messages: [turns[1]] },
    'turns of the system, too',
  );
  t.same(seen('messages', { messages: turns }), ['system text Ignore O.', 'user text U']);
  t.same(await sent('completions', { prompt: 'U' }, say('prepend')), { prompt: 'U' }, 'it has none');
});

await test('limits refuse what is too much, and cap what may be long', async (t) => {
  const body = {
    messages: [
      { role: 'system', content: '12' },
      { role: 'user', content: '345' },
    ],
    max_tokens: 100,
  };
  const tools = ['a', 'b'].map((name) => ({ type: 'function', function: { name } }));
  const limited = (limits: object, more: object = {}) => sent('chat', { ...body, ...more }, { limits });
  t.same(await limited({ max_prompt_characters: 5 }), body);
  t.equal(await limited({ max_prompt_characters: 4 }), 'g1 (max_prompt_characters)');
  t.equal(await limited({ max_tools: 1 }, { tools }), 'g1 (max_tools)');
  t.equal(await limited({ allowed_tools: ['a'] }, { tools }), 'g1 (allowed_tools)');
  t.same(await limited({ max_tools: 2, allowed_tools: ['b', 'a'] }, { tools }), { ...body, tools });
  t.same(await limited({ max_tokens: 100 }), body);
  t.same(await limited({ max_tokens: 50 }), { ...body, max_tokens: 50 });
  t.equal(await limited({ max_tokens: 50, when_above: 'block' }), 'g1 (max_tokens)');
  t.same(await sent('chat', {}, { limits: { max_tokens: 50 } }), { max_completion_tokens: 50 });
  const both = await sent('chat', { max_tokens: 60, max_completion_tokens: 40 }, { limits: { max_tokens: 50 } });
  t.same(both, { max_tokens: 50, max_completion_tokens: 40 });
  const thinking = { type: 'enabled', budget_tokens: 4000 };
  const thought = { max_tokens: 9000, thinking, messages: [] };
  t.match(await sent('messages', thought, { limits: { max_tokens: 3000 } }), {
    max_tokens: 3000,
    thinking: { type: 'enabled', budget_tokens: 1976 },
  });
  t.same(await sent('messages', thought, { limits: { max_tokens: 1500 } }), { max_tokens: 1500, messages: [] });
  t.same(await sent('count_tokens', { thinking, messages: [] }, { limits: { max_tokens: 9 } }), {
    thinking,
    messages: [],
  });
  const others = {
    reasoning: { max_tokens: 4000 },
    extra_body: { google: { thinking_config: { thinking_budget: 9 } } },
  };
  t.same(await sent('chat', others, { limits: { max_tokens: 10 } }), {
    max_completion_tokens: 10,
    extra_body: { google: { thinking_config: { thinking_budget: 5 } } },
  });
  const worded = { max_tokens: '100000', messages: [] };
  t.equal(await sent('chat', worded, { limits: { max_tokens: 50, when_above: 'block' } }), 'g1 (max_tokens)');
  t.same(await sent('chat', worded, { limits: { max_tokens: 50 } }), { ...worded, max_tokens: 50 });
  const search = [{ type: 'web_search_20250305', name: 'web_search' }];
  t.equal(await sent('messages', { tools: search }, { limits: { allowed_tools: [] } }), 'g1 (allowed_tools)');
  const offered: readonly (readonly [Operation, object])[] = [
    ['chat', { web_search_options: {} }],
    ['chat', { tools: [{ type: 'custom', function: { name: 'a' }, custom: { name: 'evil' } }] }],
    ['messages', { mcp_servers: [{ type: 'url', name: 'a' }] }],
    ['responses', { tools: [{ type: 'mcp', name: 'a', server_url: 'https://evil.example' }] }],
    ['responses', { tools: [{ type: 'namespace', name: 'a', tools: [{ type: 'function', name: 'evil' }] }] }],
  ];
  for (const [operation, request] of offered) {
    const told = await sent(operation, request, { limits: { allowed_tools: ['a'] } });
    t.equal(told, 'g1 (allowed_tools)', JSON.stringify(request));
  }
  const native = { tools: [{ type: 'web_search' }], max_output_tokens: 9 };
  const allowed = { allowed_tools: ['web_search'], max_tokens: 5 };
  t.same(await sent('responses', native, { limits: allowed }), { ...native, max_output_tokens: 5 });
  t.same(await sent('embeddings', { input: 'x' }, { limits: { max_tokens: 5 } }), { input: 'x' });
  const mixed = (limits: object) => sent('chat_of_input', { input: 'x', max_tokens: 9 }, { limits });
  t.equal(await mixed({ max_tokens: 5, when_above: 'block' }), 'g1 (max_tokens)');
  t.same(await mixed({ max_tokens: 5 }), { input: 'x', max_tokens: 5 });
});

await test('what was said of the tokens of a text goes when the text is changed, and stays when it is not', async (t) => {
  const rails = railsOf([{ on: ['output'], keywords: { words: ['secret'], action: 'redact' } }]);
  const answered = async (operation: Operation, body: never): Promise<unknown> => {
    await run(new Guarding(rails, caller, operation).onAnswer(body));
    return body;
  };
  const choice = (content: string) => ({ message: { content }, logprobs: { content: [{ token: content }] } });
  const told = await answered('chat', { choices: [choice('secret'), choice('plain')] } as never);
  t.match(told, { choices: [{ message: { content: '[redacted]' }, logprobs: null }, choice('plain')] });
  const thinking = [{ type: 'text', text: 'secret' }];
  const message = {
    reasoning: 'secret',
    reasoning_details: [{ text: 'secret' }, { summary: 'secret' }],
    content: ['secret', { type: 'thinking', thinking }, { type: 'thinking', thinking: 'secret' }],
  };
  const thought = JSON.stringify(await answered('chat', { choices: [{ message }] } as never));
  t.same([thought.match(/secret/g), thought.match(/\[redacted\]/g)?.length], [null, 6], 'thoughts in every form');
  const part = (text: string) => ({ type: 'output_text', text, logprobs: [{ token: text }] });
  const output = [{ type: 'message', content: [part('secret'), part('plain')] }];
  const items = await answered('responses', { output } as never);
  t.match(items, { output: [{ content: [{ text: '[redacted]', logprobs: [] }, part('plain')] }] });
});

await test('a flood of placeholders, or of what is masked, takes time in proportion to its length', async (t) => {
  const guardrail = { pii: { kinds: ['email'], action: 'mask' } };
  const numbers = Array.from({ length: 50_000 }, (_, index) => index + 1);
  const said = `${numbers.map((number) => `[EMAIL_${number}]`).join(' ')} a@b.org`;
  const mails = numbers.map((number) => `m${number}@b.org`).join(' ');
  const began = process.threadCpuUsage().user;
  const masked = await sent('chat', { messages: [{ role: 'user', content: said }] }, guardrail);
  t.match(masked, { messages: [{ content: / \[EMAIL_50001\]$/ }] });
  const guarding = new Guarding(railsOf([guardrail]), caller, 'chat');
  await run(guarding.onRequest(Buffer.from(JSON.stringify({ messages: [{ role: 'user', content: mails }] }))));
  const choices = numbers.slice(0, 128).map((number) => ({ message: { content: `to [EMAIL_${number}]` } }));
  await run(toldOf(guarding, { choices }));
  t.match(choices[127], { message: { content: 'to m128@b.org' } });
  const seconds = (process.threadCpuUsage().user - began) / 1e6;
  t.ok(seconds < 5, `it took ${seconds} s`);
});

const secret = 'a secret';
const roles = ['system', 'user', 'assistant', 'tool'];
const hide = { on: ['input', 'output'], roles, keywords: { words: ['secret'], action: 'redact' } };
const toldIn = (value: unknown): readonly string[] => JSON.stringify(value).match(/secret/g) ?? [];

await test('what a request says anywhere but in signs, addresses and media is seen', async (t) => {
  const item = (more: object) => ({ input: [more] });
  const block = (more: object) => ({ messages: [{ role: 'user', content: [more] }] });
  const message = (more: object) => ({ messages: [{ role: 'user', content: 'hi', ...more }] });
  const asked: readonly (readonly [Operation, object])[] = [
    ['chat', message({ name: secret })],
    ['chat', message({ Content: secret })],
    ['chat', message({ content: { type: 'text', text: secret } })],
    ['chat', message({ role: 'assistant', reasoning_content: secret })],
    ['chat', block({ type: 'thinking', thinking: [{ type: 'text', text: secret }] })],
    ['chat', block({ type: 'document', document: { title: secret, data: { text: secret } } })],
    [
      'messages',
      block({ type: 'search_result', title: secret, source: secret, content: [{ type: 'text', text: secret }] }),
    ],
    ['messages', block({ type: 'thinking', thinking: secret, signature: '' })],
    ['messages', block({ type: 'text', text: 'x', citations: [{ cited_text: secret, document_title: secret }] })],
    ['messages', block({ type: 'server_tool_use', input: { query: secret } })],
    ['messages', block({ type: 'mcp_tool_result', content: [{ type: 'text', text: secret }] })],
    ['messages', block({ type: 'code_execution_tool_result', content: { stdout: secret, content: [] } })],
    ['responses', { input: ['x', secret] }],
    ['responses', item({ type: 'reasoning', summary: [{ type: 'summary_text', text: secret }] })],
    ['responses', item({ type: 'local_shell_call', action: { command: ['echo', secret], env: { a: secret } } })],
    ['responses', item({ type: 'mcp_approval_response', reason: secret })],
    ['responses', item({ type: 'mcp_call', arguments: '{}', error: secret })],
    ['responses', item({ type: 'code_interpreter_call', code: secret, outputs: [{ type: 'logs', logs: secret }] })],
    ['responses', item({ type: 'shell_call_output', output: [{ type: 'x', stdout: secret }] })],
    ['embeddings', { input: [{ text: secret }], messages: [{ role: 'user', content: secret }] }],
  ];
  for (const [operation, body] of asked) t.same(toldIn(await sent(operation, body, hide)), [], JSON.stringify(body));
  const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0xff, 0x00, 0xd8]).toString('base64');
  const kept = [
    block({ type: 'thinking', thinking: secret, signature: 's' }),
    block({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: png } }),
    block({ type: 'tool_result', tool_use_id: 'secret', content: 'x' }),
    block({
      type: 'x',
      result: `${'A'.repeat(600)}/secret`,
      image: 'https://a.example/secret',
      cache_control: { ttl: 'secret' },
    }),
  ];
  for (const body of kept) t.same(await sent('messages', body, hide), body, 'it must not change');
  const signed = block({ type: 'thinking', thinking: secret, signature: 's' });
  t.same(await sent('chat', signed, hide), signed, 'in chat, too');
});

await test('what an answer says anywhere is seen', async (t) => {
  const rails = railsOf([hide]);
  const signed = { anthropic: { thinking_blocks: [{ type: 'thinking', thinking: secret, signature: 's' }] } };
  const output = (more: object) => ({ output: [more] });
  const foreign = packSignature({ family: 'anthropic', value: secret }, 'openai');
  const answers: readonly (readonly [Operation, object])[] = [
    ['chat', { choices: [{ message: { reasoning_content: secret, extra_content: signed } }] }],
    ['chat', { choices: [{ message: { content: 'x', audio: { id: 'a', data: 'b', transcript: secret } } }] }],
    ['chat', { choices: [{ message: { annotations: [{ url_citation: { title: secret, content: secret } }] } }] }],
    ['chat', { search_results: [{ title: secret, snippet: secret }] }],
    ['messages', { content: [{ type: 'text', text: 'x', citations: [{ cited_text: secret }] }] }],
    ['messages', { content: [{ type: 'server_tool_use', input: { query: secret } }] }],
    ['messages', { content: [{ type: 'bash_code_execution_tool_result', content: { stdout: secret } }] }],
    [
      'responses',
      output({ type: 'message', content: [{ type: 'output_text', text: 'x', annotations: [{ title: secret }] }] }),
    ],
    ['responses', output({ type: 'code_interpreter_call', code: secret, outputs: [{ logs: secret }] })],
    ['responses', output({ type: 'mcp_approval_request', arguments: `{"a":"${secret}"}` })],
    ['responses', output({ type: 'apply_patch_call', operation: { diff: secret } })],
    ['responses', output({ type: 'reasoning', summary: [{ text: secret }], encrypted_content: foreign })],
  ];
  for (const [operation, body] of answers) {
    await run(new Guarding(rails, caller, operation).onAnswer(body as never));
    t.same(toldIn(body), [], JSON.stringify(body));
    t.notMatch(JSON.stringify(body), foreign, 'what the gateway signs holds the words, too');
  }
  const nested = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
  const deep = JSON.parse(`{"choices":[{"message":{"content":"x","note":${nested}}}]}`) as never;
  t.equal(await run(new Guarding(rails, caller, 'chat').onAnswer(deep)), false, 'however deep it is');
  const formed = new Guarding(railsOf([{ on: ['output'], schema: { schema: { type: 'object' } } }]), caller, 'chat');
  const asides = { annotations: [{ url_citation: { title: 'T' } }], tool_calls: [{ custom: { input: 'no JSON' } }] };
  t.equal(await run(formed.onAnswer({ choices: [{ message: { content: '{}', ...asides } }] })), false);
  t.match(formed.findings, [{ outcome: 'pass' }], 'what is told beside the words needs no form');
});
