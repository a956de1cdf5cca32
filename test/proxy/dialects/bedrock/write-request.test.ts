// Requests as Converse wants them, and what is told of the things that it cannot say.
import * as fc from 'fast-check';
import { test } from 'tap';
import { traitsOf } from '../../../../proxy/dialects/bedrock/model-traits.ts';
import { bedrockTranslation } from '../../../../proxy/dialects/bedrock/translate.ts';
import type { ConversationRequest, Turn } from '../../../../proxy/dialects/conversation/conversation.ts';
import type { Part, TextPart } from '../../../../proxy/dialects/conversation/parts.ts';
import type { JsonObject } from '../../../../proxy/dialects/json/json.ts';
import { runs } from '../../../support/extent.ts';
import { leastRequest, recordLosses } from '../least-request.ts';

const sonnet45 = 'eu.anthropic.claude-sonnet-4-5-20250929-v1:0';
const opus46 = 'us.anthropic.claude-opus-4-6-v1';
const llama = 'meta.llama3-1-70b-instruct-v1:0';
const png = { kind: 'base64', mediaType: 'image/png', data: 'iVBORw0KGgo=' } as const;
const weather = { kind: 'function', name: 'get_weather', parameters: { type: 'object' } } as const;
const call: Part = {
  kind: 'tool_call',
  id: 'call_1',
  name: 'get_weather',
  input: '{"city":"Paris"}',
  isFreeText: false,
};
const result: Part = {
  kind: 'tool_result',
  callId: 'call_1',
  name: 'get_weather',
  content: [{ kind: 'text', text: 'sunny' }],
  isError: false,
  isFreeText: false,
};
const signed: Part = {
  kind: 'reasoning',
  text: 'hm',
  summary: [],
  signature: { family: 'anthropic', value: 'sig' },
};

const text = (words: string, cacheMark?: JsonObject): TextPart => ({ kind: 'text', text: words, cacheMark });
const user = (...parts: Part[]): Turn => ({ role: 'user', parts });
const assistant = (...parts: Part[]): Turn => ({ role: 'assistant', parts });

/** The body, and the losses: hints by name, meanings with their reason. */
function write(change: Partial<ConversationRequest>, model = sonnet45) {
  const { losses, hints, meanings } = recordLosses();
  const written = bedrockTranslation.writeRequest({ ...leastRequest, ...change }, { model, quirks: {} }, losses);
  const body = JSON.parse(JSON.stringify(written)) as Record<string, unknown>;
  return { body, hints, meanings };
}

await test('a whole request', async (t) => {
  const { body, hints, meanings } = write({
    system: [text('Be brief.', { type: 'ephemeral' }), text('  ')],
    turns: [
      user(text('What is this?'), { kind: 'image', source: png }),
      assistant(signed, text('Let me see.'), call),
      user(text('And?', { type: 'ephemeral', ttl: '1h' }), result),
    ],
    tools: [{ ...weather, description: 'Weather', cacheMark: { type: 'ephemeral' } }],
    toolChoice: { kind: 'auto' },
    sampling: { temperature: 0.5, topK: 40 },
    stop: ['END'],
    maxTokens: 100,
  });
  const cachePoint = { type: 'default' };
  t.same(body, {
    system: [{ text: 'Be brief.' }, { cachePoint }],
    messages: [
      {
        role: 'user',
        content: [{ text: 'What is this?' }, { image: { format: 'png', source: { bytes: 'iVBORw0KGgo=' } } }],
      },
      {
        role: 'assistant',
        content: [
          { reasoningContent: { reasoningText: { text: 'hm', signature: 'sig' } } },
          { text: 'Let me see.' },
          { toolUse: { toolUseId: 'call_1', name: 'get_weather', input: { city: 'Paris' } } },
        ],
      },
      {
        role: 'user',
        content: [
          { toolResult: { toolUseId: 'call_1', content: [{ text: 'sunny' }] } },
          { text: 'And?' },
          { cachePoint: { type: 'default', ttl: '1h' } },
        ],
      },
    ],
    inferenceConfig: { maxTokens: 100, temperature: 0.5, stopSequences: ['END'] },
    toolConfig: {
      tools: [
        { toolSpec: { name: 'get_weather', description: 'Weather', inputSchema: { json: { type: 'object' } } } },
        { cachePoint },
      ],
      toolChoice: { auto: {} },
    },
    additionalModelRequestFields: { top_k: 40 },
    additionalModelResponseFieldPaths: ['/stop_sequence'],
  });
  t.same([hints, meanings], [[], []]);
});

await test('speakers alternate, blank texts are left out, and later instructions keep their place', async (t) => {
  const { body } = write({
    system: [text('A')],
    turns: [
      user(text('one'), text('\n')),
      user(text('two')),
      assistant(text(' ')),
      user(text('three')),
      { role: 'system', parts: [text('B')] },
      assistant(call, { ...call, id: 'call_2', input: '' }),
      user(result),
      user({ ...result, callId: 'call_2', content: [], isError: true }),
    ],
    tools: [weather],
  });
  t.same(body['system'], [{ text: 'A' }]);
  t.match(body['messages'], [
    { role: 'user', content: [{ text: 'one' }, { text: 'two' }, { text: 'three' }, { text: 'B' }] },
    { role: 'assistant', content: [{}, { toolUse: { toolUseId: 'call_2', input: {} } }] },
    { role: 'user', content: [{}, { toolResult: { toolUseId: 'call_2', content: [], status: 'error' } }] },
  ]);
  const part = fc.constantFrom(text('a'), text(''), text(' \n'), call, result, signed);
  const role = fc.constantFrom('user' as const, 'assistant' as const);
  const turns = fc.array(fc.record({ role, parts: fc.array(part, { maxLength: 4 }) }), { maxLength: 8 });
  fc.assert(
    fc.property(turns, fc.boolean(), (given, hasTools) => {
      const { messages } = write({ turns: given, tools: hasTools ? [weather] : [] }, opus46).body;
      const list = messages as {
        role: string;
        content: { text?: string; toolResult?: unknown; toolUse?: unknown }[];
      }[];
      return (
        list.at(-1)?.role === 'user' &&
        list.every(({ role: speaker, content }, index) => {
          const others = content.findIndex((block) => block.toolResult === undefined);
          return (
            (index > 0 || speaker === 'user') &&
            speaker !== list[index + 1]?.role &&
            content.length > 0 &&
            content.every(({ text: words }) => words === undefined || words.trim() !== '') &&
            (others < 0 || content.slice(others).every((block) => block.toolResult === undefined)) &&
            (hasTools || content.every((block) => block.toolResult === undefined && block.toolUse === undefined))
          );
        })
      );
    }),
    runs(200),
  );
});

await test('tools: forced ones, none, and calls of a conversation that has none any more', async (t) => {
  const tools = [weather];
  t.match(write({ tools, toolChoice: { kind: 'required' } }).body, { toolConfig: { toolChoice: { any: {} } } });
  t.match(write({ tools, toolChoice: { kind: 'tool', name: 'get_weather' } }).body, {
    toolConfig: { toolChoice: { tool: { name: 'get_weather' } } },
  });
  t.notOk((write({ tools, toolChoice: { kind: 'auto' } }, llama).body['toolConfig'] as JsonObject)['toolChoice']);
  const unforced = write({ tools, toolChoice: { kind: 'required' } }, 'anthropic.claude-sonnet-5-5');
  t.same(unforced.meanings, ['tool_choice: its model cannot be made to call a tool']);
  t.notOk((unforced.body['toolConfig'] as JsonObject)['toolChoice']);
  const turns = [user(text('hi')), assistant(call), user(result)];
  const { body, meanings } = write({ tools, toolChoice: { kind: 'none' }, turns });
  t.equal(body['toolConfig'], undefined);
  t.match(body['messages'], [
    {},
    { content: [{ text: '[Called the tool get_weather (call_1): {"city":"Paris"}]' }] },
    { content: [{ text: '[Result of the tool get_weather (call_1):]' }, { text: 'sunny' }] },
  ]);
  t.same(meanings, []);
  const freeText = write({
    tools: [{ kind: 'free_text', name: 'patch', description: 'Patches' }],
    turns: [
      user(text('hi')),
      assistant({ ...call, id: 'functions_patch_0', name: 'patch', input: '*** Begin', isFreeText: true }),
    ],
  }).body;
  t.match(freeText, {
    toolConfig: { tools: [{ toolSpec: { name: 'patch', inputSchema: { json: { required: ['input'] } } } }] },
    messages: [{}, { content: [{ toolUse: { toolUseId: 'functions_patch_0', input: { input: '*** Begin' } } }] }],
  });
  t.match(write({ tools, turns: [user(text('hi')), assistant({ ...call, input: 'not json' })] }).body, {
    messages: [{}, { content: [{ toolUse: { input: { input: 'not json' } } }] }],
  });
});

await test('documents have a format and a name of their own', async (t) => {
  const pdf = { kind: 'base64', mediaType: 'application/pdf', data: 'JVBERi0=' } as const;
  const { body } = write({
    turns: [
      user(
        { kind: 'file', source: pdf, name: 'q3_report: final.pdf' },
        { kind: 'file', source: pdf, name: 'q3 report final.pdf' },
        { kind: 'file', source: { kind: 'text', text: 'ö' } },
        { kind: 'file', source: { kind: 'url', url: 's3://bucket/table.csv' } },
        { kind: 'audio', source: { kind: 'base64', mediaType: 'audio/mpeg', data: 'SUQz' } },
      ),
    ],
  });
  const alone = write({ turns: [user({ kind: 'file', source: pdf, name: 'a.pdf' })] }).body['messages'];
  t.match(alone, [{ content: [{ document: { name: 'a' } }, { text: 'The document is attached.' }] }]);
  t.match(body['messages'], [
    {
      content: [
        { document: { format: 'pdf', name: 'q3 report final', source: { bytes: 'JVBERi0=' } } },
        { document: { format: 'pdf', name: 'q3 report final (2)' } },
        { document: { format: 'txt', name: 'Document', source: { bytes: 'w7Y=' } } },
        { document: { format: 'csv', name: 'Document (2)', source: { s3Location: { uri: 's3://bucket/table.csv' } } } },
        { audio: { format: 'mp3', source: { bytes: 'SUQz' } } },
      ],
    },
  ]);
});

await test('thinking, by the kind of the model', async (t) => {
  const fields = (change: Partial<ConversationRequest>, model?: string) => {
    const { body, hints } = write(change, model);
    return [body['additionalModelRequestFields'], body['inferenceConfig'], hints];
  };
  const sampling = { temperature: 0.2, topP: 0.5, topK: 5 };
  const enabled = (budget: number) => ({ thinking: { type: 'enabled', budget_tokens: budget } });
  const adaptive = (effort: string) => ({ thinking: { type: 'adaptive' }, output_config: { effort } });
  const high = { effort: 'high' } as const;
  t.same(fields({ thinking: { effort: 'medium' }, maxTokens: 11_025, sampling }), [
    enabled(10_000),
    { maxTokens: 11_025 },
    ['temperature', 'top_p', 'top_k'],
  ]);
  t.same(fields({ thinking: { mode: 'on', budgetTokens: 3000 }, maxTokens: 9000 }), [
    enabled(3000),
    { maxTokens: 9000 },
    [],
  ]);
  t.same(fields({ thinking: { effort: 'xhigh' } }, opus46), [adaptive('high'), undefined, []]);
  t.same(fields({ thinking: { budgetTokens: 12_000 } }, opus46), [adaptive('medium'), undefined, []]);
  t.same(fields({ thinking: { effort: 'xhigh' } }, 'anthropic.claude-opus-4-7'), [adaptive('xhigh'), undefined, []]);
  t.same(fields({ thinking: { mode: 'off' } }), [undefined, undefined, []]);
  const off = { mode: 'off' } as const;
  t.same(fields({ thinking: off }, 'anthropic.claude-opus-5'), [{ thinking: { type: 'disabled' } }, undefined, []]);
  t.same(fields({ thinking: off }, 'anthropic.claude-sonnet-5-5')[0], { thinking: { type: 'between_tools' } });
  t.same(fields({ thinking: off }, 'anthropic.claude-fable-5'), [undefined, undefined, ['reasoning_effort']]);
  t.same(fields({ thinking: high }, 'anthropic.claude-mythos-preview')[0], adaptive('high'));
  t.same(fields({ thinking: high }, llama), [undefined, undefined, ['reasoning_effort']]);
  t.same(fields({ thinking: high, tools: [weather], toolChoice: { kind: 'required' } }), [
    undefined,
    undefined,
    ['reasoning_effort'],
  ]);
  const thoughtless = [user(text('hi')), assistant(call), user(result)];
  const kept = [user(text('hi')), assistant(signed, call), user(result)];
  t.same(fields({ thinking: high, tools: [weather], turns: thoughtless })[2], ['reasoning_effort']);
  t.same(fields({ thinking: high, tools: [weather], turns: thoughtless }, opus46)[0], adaptive('high'));
  t.same(fields({ thinking: high, tools: [weather], turns: kept })[0], enabled(20_000));
});

await test('sampling, as far as the model takes it', async (t) => {
  const sampled = (model: string) => {
    const { body, hints } = write({ sampling: { temperature: 0.2, topP: 0.5, topK: 5 } }, model);
    return [body['inferenceConfig'], body['additionalModelRequestFields'], hints];
  };
  const both = { temperature: 0.2, topP: 0.5 };
  t.same(sampled('anthropic.claude-sonnet-4-20250514-v1:0'), [both, { top_k: 5 }, []]);
  t.same(sampled(sonnet45), [{ temperature: 0.2 }, { top_k: 5 }, ['top_p']]);
  t.same(sampled('anthropic.claude-opus-4-7'), [undefined, undefined, ['temperature', 'top_p', 'top_k']]);
  t.same(sampled(llama), [both, undefined, ['top_k']]);
  t.same(write({ sampling: { topP: 0.5 } }).body['inferenceConfig'], { topP: 0.5 });
});

await test('structured output goes by its schema', async (t) => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } };
  const closed = JSON.stringify({ ...schema, additionalProperties: false });
  t.match(write({ output: { kind: 'schema', name: 'answer', schema, strict: true } }), {
    body: {
      outputConfig: {
        textFormat: { type: 'json_schema', structure: { jsonSchema: { schema: closed, name: 'answer' } } },
      },
    },
    hints: [],
  });
  const open = { ...schema, additionalProperties: true };
  const { hints } = write({ output: { kind: 'schema', name: 'answer', schema: open } });
  t.same(hints, ['response_format.additionalProperties']);
});

await test('what cannot be said is told, in the words of the client', async (t) => {
  const url = { kind: 'url', url: 'https://example.com/a.png' } as const;
  const meanings: [Partial<ConversationRequest>, string][] = [
    [{ turns: [user({ kind: 'image', source: url })] }, 'messages: it takes images as data only'],
    [
      { turns: [user({ kind: 'image', source: { ...png, mediaType: 'image/bmp' } })] },
      'messages: it takes images as JPEG, PNG, GIF and WebP only',
    ],
    [
      { turns: [user({ kind: 'file', source: { kind: 'id', id: 'file-1' } })] },
      'messages: it takes documents as data only',
    ],
    [
      { tools: [{ kind: 'foreign', dialect: 'messages', name: 'web_search', value: {} }] },
      'tools[0]: it has no tool of the type web_search',
    ],
    [
      {
        dialect: 'responses',
        turns: [user({ kind: 'foreign', dialect: 'responses', name: 'item_reference', value: {} })],
      },
      'input: it knows no part of the type item_reference',
    ],
    [{ output: { kind: 'json' } }, 'response_format: it writes JSON by a schema only'],
    [{ sampling: { logprobs: true } }, 'logprobs: it has no log probabilities'],
    [{ sampling: { logitBias: { 50256: -100 } } }, 'logit_bias: it cannot favour single tokens'],
    [{ ownMembers: [{ path: ['n'], value: 2, isMeaning: true }] }, 'n: it has no such member'],
  ];
  for (const [change, expected] of meanings) t.same(write(change).meanings, [expected], expected);
  const { hints } = write({
    turns: [
      { role: 'user', name: 'ann', parts: [{ kind: 'image', source: png, detail: 'low' }] },
      assistant({ ...signed, signature: { family: 'google', value: 's' } }, { ...text('a'), citations: [] }),
    ],
    tools: [{ ...weather, strict: true }],
    parallelTools: false,
    sampling: { seed: 1, presencePenalty: 1, frequencyPenalty: 1 },
    verbosity: 'low',
    user: 'u',
    metadata: { a: 'b' },
    serviceTier: 'flex',
    ownMembers: [{ path: ['stream_options', 'x'], value: 1, isMeaning: false }],
  });
  t.same(
    new Set(hints),
    new Set(
      'messages.name detail messages.reasoning_content citations tools.function.strict parallel_tool_calls seed presence_penalty frequency_penalty verbosity user metadata service_tier stream_options.x'.split(
        ' ',
      ),
    ),
  );
  t.same(
    write({ system: [text('a', { type: 'ephemeral' })] }, llama).hints,
    ['cache_control'],
    'a model without cache',
  );
});

await test('what ids of models tell', (t) => {
  const families: [string, string][] = [
    [sonnet45, 'claude'],
    ['amazon.nova-pro-v1:0', 'nova'],
    [llama, 'other'],
    ['arn:aws:bedrock:us-east-1:123456789012:inference-profile/eu.anthropic.claude-opus-4-6-v1', 'claude'],
    ['arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/abc', 'opaque'],
  ];
  for (const [model, family] of families) t.match(traitsOf(model), { family }, model);
  t.end();
});
