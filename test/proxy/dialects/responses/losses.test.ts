// What a provider of the Responses format cannot be told: harmless things are named as hints, others as what changes the answer.
import { test } from 'tap';
import { chatTranslation } from '../../../../proxy/dialects/chat/translate.ts';
import type { ConversationRequest } from '../../../../proxy/dialects/conversation/conversation.ts';
import type { Part } from '../../../../proxy/dialects/conversation/parts.ts';
import { readRequest } from '../../../../proxy/dialects/responses/read/read-request.ts';
import { loseForeignTool } from '../../../../proxy/dialects/tools/foreign-tools.ts';
import { codexRequest } from './agent-requests.ts';
import { lossesOf } from './losses-of.ts';

function request(members: Partial<ConversationRequest>): ConversationRequest {
  const nothing = { system: [], turns: [], tools: [], sampling: {}, stop: [], ownMembers: [] };
  return { dialect: 'chat', ...nothing, stream: false, wantsUsage: false, ...members };
}

function saying(role: 'user' | 'assistant', ...parts: readonly Part[]): ConversationRequest {
  return request({ dialect: 'messages', turns: [{ role, parts }] });
}

const url = { kind: 'url', url: 'https://a.example/b' } as const;
const anthropic = { family: 'anthropic', value: 's' } as const;
const bash = { kind: 'foreign', dialect: 'messages', name: 'bash_20250124', value: { name: 'bash' } } as const;

await test('each loss has its name, in the words of the client', async (t) => {
  const cases: readonly (readonly [string, ConversationRequest, readonly string[], readonly string[]])[] = [
    ['seed', request({ sampling: { seed: 1 } }), ['seed'], []],
    ['top_k', request({ dialect: 'messages', sampling: { topK: 5 } }), ['top_k'], []],
    ['stop', request({ dialect: 'messages', stop: ['a'] }), [], ['stop_sequences']],
    ['penalty', request({ sampling: { presencePenalty: 0.5, frequencyPenalty: 0 } }), [], ['presence_penalty']],
    ['bias', request({ sampling: { logitBias: { 7: 1 } } }), [], ['logit_bias']],
    ['speaker', request({ turns: [{ role: 'user', name: 'Al', parts: [] }] }), ['messages.name'], []],
    ['tier', request({ dialect: 'messages', serviceTier: 'standard_only' }), ['service_tier'], []],
    ['too few tokens', request({ maxTokens: 15 }), ['max_completion_tokens'], []],
    ['a long user', request({ user: 'u'.repeat(65) }), ['user'], []],
    [
      'own hint',
      request({ ownMembers: [{ path: ['prediction'], value: { type: 'content' }, isMeaning: false }] }),
      ['prediction'],
      [],
    ],
    ['own meaning', request({ ownMembers: [{ path: ['n'], value: 2, isMeaning: true }] }), [], ['n']],
    ['tool', request({ tools: [bash] }), [], ['tools[0]']],
    ['image', saying('assistant', { kind: 'image', source: url }), [], ['messages']],
    ['sound', saying('user', { kind: 'audio', source: url }), [], ['messages']],
    ['kept file', saying('user', { kind: 'file', source: { kind: 'id', id: 'f' } }), [], ['messages']],
    ['foreign', saying('user', { kind: 'foreign', dialect: 'messages', name: 'x', value: {} }), [], ['messages']],
    [
      'thoughts',
      saying('assistant', { kind: 'reasoning', text: 'a', summary: [], signature: anthropic }),
      ['messages.thinking'],
      [],
    ],
    ['mark', saying('user', { kind: 'text', text: 'a', cacheMark: { type: 'ephemeral' } }), ['cache_control'], []],
    ['citation', saying('assistant', { kind: 'text', text: 'a', citations: [{ citedText: 'b' }] }), ['citations'], []],
  ];
  for (const [name, asked, hints, meanings] of cases) {
    const lost = lossesOf(asked, 'm', { isInventor: true });
    t.same([lost.hints, lost.meanings], [hints, meanings], name);
  }
});

await test('proofs of thoughts that are asked for come anyhow, so their member is no loss', async (t) => {
  const hintsOf = (...include: readonly string[]): readonly string[] => {
    const hints: string[] = [];
    const losses = {
      hint: (field: string) => void hints.push(field),
      meaning: (field: string) => void hints.push(field),
    };
    const asked = readRequest({ model: 'm', input: 'Hi', include });
    chatTranslation.writeRequest(asked, { model: 'm', quirks: {} }, losses);
    return hints;
  };
  t.same(hintsOf('reasoning.encrypted_content'), []);
  t.same(hintsOf('reasoning.encrypted_content', 'web_search_call.results'), ['include']);
});

await test('what all dialects can say is written as this one says it', async (t) => {
  const { body, hints, meanings } = lossesOf(
    request({
      dialect: 'messages',
      system: [
        { kind: 'text', text: 'Be kind.' },
        { kind: 'text', text: 'Be brief.' },
      ],
      turns: [
        {
          role: 'user',
          parts: [
            { kind: 'text', text: 'Hi' },
            { kind: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'AA' } },
          ],
        },
        {
          role: 'assistant',
          parts: [
            { kind: 'reasoning', text: 'Hm.', summary: [], signature: { family: 'openai', value: 'gAAA' } },
            { kind: 'text', text: 'Well' },
            { kind: 'tool_call', id: 'toolu_1', name: 'f', input: '', isFreeText: false },
          ],
        },
        {
          role: 'user',
          parts: [
            {
              kind: 'tool_result',
              callId: 'toolu_1',
              content: [{ kind: 'text', text: '7' }],
              isError: false,
              isFreeText: false,
            },
          ],
        },
      ],
      tools: [{ kind: 'function', name: 'f' }],
      toolChoice: { kind: 'tool', name: 'f' },
      output: { kind: 'schema', schema: { type: 'object' } },
      sampling: { logprobs: true, topLogprobs: 2 },
      maxTokens: 1,
      thinking: { mode: 'on', budgetTokens: 12_000, summary: 'summarized' },
      stream: true,
    }),
    'o4-mini',
    { isInventor: true },
  );
  t.same(meanings, []);
  t.same(hints, ['max_tokens'], 'fewer tokens than OpenAI takes');
  t.same(body, {
    model: 'o4-mini',
    instructions: 'Be kind.\n\nBe brief.',
    input: [
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'Hi' },
          { type: 'input_image', image_url: 'data:image/png;base64,AA' },
        ],
      },
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'Hm.' }], encrypted_content: 'gAAA' },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Well', annotations: [] }] },
      { type: 'function_call', call_id: 'toolu_1', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'toolu_1', output: '7' },
    ],
    tools: [{ type: 'function', name: 'f', parameters: null, strict: false }],
    tool_choice: { type: 'function', name: 'f' },
    text: { format: { type: 'json_schema', name: 'answer', schema: { type: 'object' } } },
    reasoning: { effort: 'medium', summary: 'auto' },
    top_logprobs: 2,
    include: ['message.output_text.logprobs', 'reasoning.encrypted_content'],
    max_output_tokens: 16,
    stream: true,
    store: false,
  });
});

await test('of OpenAI, models that do not think are not asked to, and those that do take no temperature', async (t) => {
  const asked = request({ thinking: { effort: 'low' }, sampling: { temperature: 0 } });
  const speaks = lossesOf(asked, 'gpt-4.1', { isInventor: true });
  t.match(speaks, { hints: ['reasoning_effort'], body: { temperature: 0, reasoning: undefined, include: undefined } });
  const thinks = lossesOf(asked, 'gpt-5', { isInventor: true });
  t.match(thinks, { hints: ['temperature'], body: { temperature: undefined, reasoning: { effort: 'low' } } });
  t.same(lossesOf(asked, 'gpt-4.1', {}).hints, [], 'of other servers nothing is known');
});

await test('a server that lacks members gets none of them', async (t) => {
  const asked = request({ user: 'u', maxTokens: 20, metadata: { a: 'b' } });
  const { body, hints, meanings } = lossesOf(asked, 'm', {
    without: ['user', 'max_output_tokens', 'store'],
    isModelInPath: true,
    adds: { api: '1', metadata: 'not this' },
  });
  t.same([hints, meanings], [['user'], ['max_output_tokens']]);
  t.same(body, { api: '1', metadata: { a: 'b' }, input: [] });
});

await test('tools with free text become functions where they are not known', async (t) => {
  const { body, hints, meanings } = lossesOf(readRequest(codexRequest), 'm', { hasFreeTextTools: false });
  t.same([hints, meanings], [['tools.format'], []]);
  const [, tool] = body['tools'] as { type: string; name: string }[];
  t.match(tool, { type: 'function', name: 'apply_patch', parameters: { required: ['input'] } });
  t.match((body['input'] as unknown[])[5], { type: 'function_call', arguments: '{"input":"*** Begin Patch"}' });
  t.match((body['input'] as unknown[])[7], { type: 'function_call_output', output: 'Done.' });
});

await test('what an agent asks for beside functions is a hint to other dialects, unless it must be called', async (t) => {
  const lost = (asked: ConversationRequest): readonly string[] => {
    const named: string[] = [];
    const losses = {
      hint: (field: string) => void named.push(field),
      meaning: (field: string) => void named.push(`! ${field}`),
    };
    for (const index of asked.tools.keys()) loseForeignTool(asked, index, losses);
    return named;
  };
  t.same(lost(readRequest(codexRequest)), ['tools[2]', 'tools[3]']);
  t.same(
    readRequest(codexRequest).ownMembers.filter(({ isMeaning }) => isMeaning),
    [],
  );
  const tools = [{ type: 'web_search' }];
  t.same(lost(readRequest({ input: '', tools, tool_choice: 'required' })), ['! tools[0]']);
  t.match(readRequest({ input: '', tools, tool_choice: { type: 'web_search' } }).ownMembers, [
    { path: ['tool_choice'], isMeaning: true },
  ]);
  t.same(lost(request({ tools: [bash] })), ['! tools[0]']);
});

await test('members that change the answer are known as such', async (t) => {
  const asked = {
    input: '',
    background: true,
    conversation: 'c',
    prompt: { id: 'p' },
    previous_response_id: 'r',
    max_tool_calls: 1,
  };
  const hinted = {
    truncation: 'auto',
    store: true,
    prompt_cache_key: 'k',
    safety_identifier: 's',
    provider: 'openai',
    future: 1,
  };
  const { ownMembers } = readRequest({ ...asked, ...hinted });
  const meanings = ownMembers.flatMap(({ path, isMeaning }) => (isMeaning ? [path.join('.')] : []));
  t.same(meanings, ['background', 'conversation', 'prompt', 'previous_response_id', 'max_tool_calls']);
  t.equal(ownMembers.length, meanings.length + Object.keys(hinted).length);
});
