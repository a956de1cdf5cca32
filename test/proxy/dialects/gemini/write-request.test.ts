// Requests in the words of Gemini, and what is told of all that it cannot say.
import { readFileSync } from 'node:fs';
import { test } from 'tap';
import type { ConversationRequest } from '../../../../proxy/dialects/conversation/conversation.ts';
import type { Part, Signature } from '../../../../proxy/dialects/conversation/parts.ts';
import { geminiTranslation } from '../../../../proxy/dialects/gemini/translate.ts';
import { type JsonValue, parseObject } from '../../../../proxy/dialects/json/json.ts';
import type { Quirks } from '../../../../proxy/dialects/quirks.ts';
import { leastRequest, recordLosses } from '../least-request.ts';

/** Vertex AI refuses ids. */
const vertex: Quirks = { without: ['id'] };
const google = (value: string): Signature => ({ family: 'google', value });
const text = (words: string): Part => ({ kind: 'text', text: words });
const call = (id: string, more: Partial<Extract<Part, { kind: 'tool_call' }>> = {}): Part => ({
  kind: 'tool_call',
  id,
  name: 'look',
  input: '{"at":1}',
  isFreeText: false,
  ...more,
});
const result = (callId: string, said: string, more: Partial<Extract<Part, { kind: 'tool_result' }>> = {}): Part => ({
  kind: 'tool_result',
  callId,
  content: [{ kind: 'text', text: said }],
  isError: false,
  isFreeText: false,
  ...more,
});
const image = { kind: 'image', source: { kind: 'base64', mediaType: 'image/png', data: 'AA==' } } as const;
const inlineImage = { inlineData: { mimeType: 'image/png', data: 'AA==' } };

/** A call without input is written with an empty one, and without its id. */
function withArgs(part: { readonly functionCall?: unknown }): object {
  const { id: _, ...called } = part.functionCall as { id?: string };
  return { ...part, functionCall: { args: {}, ...called } };
}

interface Written {
  readonly contents?: JsonValue;
  readonly systemInstruction?: JsonValue;
  readonly tools?: JsonValue;
  readonly toolConfig?: JsonValue;
  readonly generationConfig?: JsonValue;
  readonly hints: readonly string[];
  readonly meanings: readonly string[];
}

/** What is written, and what was told to be lost. Of turns that begin with the model, without the turn of the user in front of them. */
function written(request: Partial<ConversationRequest>, model = 'gemini-2.5-flash', quirks: Quirks = {}): Written {
  const { losses, hints, meanings } = recordLosses();
  const body = geminiTranslation.writeRequest({ ...leastRequest, turns: [], ...request }, { model, quirks }, losses);
  const contents = body['contents'] as readonly object[];
  const isOpened = request.turns?.[0]?.role === 'assistant';
  return { ...body, contents: (isOpened ? contents.slice(1) : contents) as JsonValue, hints, meanings };
}

const userSays = (...parts: readonly Part[]) => ({ role: 'user', parts }) as const;
const modelSays = (...parts: readonly Part[]) => ({ role: 'assistant', parts }) as const;

await test('instructions before the conversation stand apart, later ones in their place, and turns of one role become one', async (t) => {
  const system = [{ kind: 'text', text: 'Be brief.' }] as const;
  const turns = [
    { role: 'system', parts: [text('Be kind.')] } as const,
    userSays(text('a'), text('')),
    { role: 'system', parts: [text('9 left')] } as const,
    userSays(text('b')),
    modelSays(text('')),
    modelSays(text('c'), { kind: 'refusal', text: 'd' }),
  ];
  t.same(written({ system, turns }), {
    systemInstruction: { parts: [{ text: 'Be brief.' }, { text: 'Be kind.' }] },
    contents: [
      { role: 'user', parts: [{ text: 'a' }, { text: '9 left' }, { text: 'b' }] },
      { role: 'model', parts: [{ text: 'c' }, { text: 'd' }] },
    ],
    hints: [],
    meanings: [],
  });
});

await test('instructions alone are what is said', async (t) => {
  const { contents, systemInstruction } = written({ system: [{ kind: 'text', text: 'Be brief.' }] });
  t.same([contents, systemInstruction], [[{ role: 'user', parts: [{ text: 'Be brief.' }] }], undefined]);
});

await test('a conversation that begins with the model, or says nothing, is opened by the user', async (t) => {
  const opened = { role: 'user', parts: [{ text: 'Begin.' }] };
  const write = (turns: ConversationRequest['turns']) => {
    const { losses } = recordLosses();
    const target = { model: 'gemini-2.5-pro', quirks: {} };
    return geminiTranslation.writeRequest({ ...leastRequest, turns }, target, losses)['contents'];
  };
  t.same(write([modelSays(text('Hi!'))]), [opened, { role: 'model', parts: [{ text: 'Hi!' }] }]);
  t.same(write([userSays(text(''))]), [opened]);
});

await test('media are sent as bytes or as an address; files of other providers cannot be', async (t) => {
  const urls = ['https://a.example/cat.JPG?w=1', 'https://a.example/cat', 'gs://bucket/report.pdf'];
  const turns = [
    userSays(
      image,
      ...urls.map((url): Part => ({ kind: 'file', source: { kind: 'url', url } })),
      { kind: 'file', source: { kind: 'text', text: 'plain' }, name: 'a.txt' },
      { kind: 'audio', source: { kind: 'base64', mediaType: 'audio/wav', data: 'BB==' }, format: 'wav' },
      { ...image, source: { kind: 'id', id: 'file-1' }, detail: 'high', cacheMark: { type: 'ephemeral' } },
    ),
  ];
  const { contents, hints, meanings } = written({ turns });
  t.same(contents, [
    {
      role: 'user',
      parts: [
        inlineImage,
        { fileData: { mimeType: 'image/jpeg', fileUri: urls[0] } },
        { fileData: { fileUri: urls[1] } },
        { fileData: { mimeType: 'application/pdf', fileUri: urls[2] } },
        { text: 'plain' },
        { inlineData: { mimeType: 'audio/wav', data: 'BB==' } },
      ],
    },
  ]);
  t.same(hints, ['messages.content.file.filename', 'cache_control', 'detail']);
  t.same(meanings, ['messages: it cannot read a file that another provider keeps']);
});

await test('tool calls and results find each other by name, and by id where ids are known', async (t) => {
  const turns = [
    modelSays(call('c1'), call('c2', { name: 'shell', input: 'ls -l', isFreeText: true }), call('c3', { input: 'x' })),
    userSays(result('c3', 'broken', { isError: true }), result('c2', 'a\nb', { isFreeText: true })),
    userSays(result('c1', '{"temp":20.50}'), text('go on')),
  ];
  const [calls, results] = written({ turns }, 'gemini-2.5-pro', vertex).contents as unknown as { parts: object[] }[];
  t.same(calls?.parts, [
    { functionCall: { name: 'look', args: { at: 1 } } },
    { functionCall: { name: 'shell', args: { input: 'ls -l' } } },
    { functionCall: { name: 'look', args: { input: 'x' } } },
  ]);
  t.equal(
    JSON.stringify(results?.parts),
    '[{"functionResponse":{"name":"look","response":{"temp":20.50}}},' +
      '{"functionResponse":{"name":"shell","response":{"output":"a\\nb"}}},' +
      '{"functionResponse":{"name":"look","response":{"error":"broken"}}},{"text":"go on"}]',
  );
  t.match(written({ turns }).contents, [
    { parts: [{ functionCall: { id: 'c1' } }] },
    { parts: [{ functionResponse: { id: 'c1' } }] },
  ]);
});

await test('a result that refers to something is a text, because Gemini would look for a file of that name', async (t) => {
  const responseTo = (said: string, isError = false): unknown => {
    const turns = [modelSays(call('c1')), userSays(result('c1', said, { isError }))];
    const contents = written({ turns }).contents as unknown as {
      parts: { functionResponse: { response: unknown } }[];
    }[];
    return contents[1]?.parts[0]?.functionResponse.response;
  };
  for (const said of ['{"a":[{"$ref":"#/b"}]}', '{"\\u0024ref":1}']) {
    t.same([responseTo(said), responseTo(said, true)], [{ output: said }, { error: said }]);
  }
  t.same(responseTo('{"say":"$ref"}'), { say: '$ref' });
});

await test('images of a result stand within it since Gemini 3, beside it before', async (t) => {
  const turns = [
    modelSays(call('c1', { signature: google('s') })),
    userSays(result('c1', 'seen', { content: [image] })),
  ];
  const response = { name: 'look', response: { output: '' } };
  t.match(written({ turns }).contents, [{}, { parts: [{ functionResponse: response }, inlineImage] }]);
  t.match(written({ turns }, 'gemini-3-flash-preview').contents, [
    { parts: [{ thoughtSignature: 's' }] },
    { parts: [{ functionResponse: { ...response, parts: [inlineImage] } }] },
  ]);
});

await test('proof of thoughts returns to its part; Gemini 3 is told where there is none', async (t) => {
  const proof: Part = { kind: 'reasoning', text: '', summary: [], signature: google('s') };
  const thought: Part = { kind: 'reasoning', text: 'hm', summary: [], signature: google('t') };
  const foreign: Part = { kind: 'reasoning', text: 'hm', summary: [], signature: { family: 'anthropic', value: 'x' } };
  const partsOf = (model: string, ...parts: readonly Part[]): unknown => {
    const [content] = written({ turns: [modelSays(...parts)] }, model, vertex).contents as unknown as {
      parts: object[];
    }[];
    return content?.parts;
  };
  const functionCall = { name: 'look', args: { at: 1 } };
  const three = 'models/gemini-3-pro-preview';
  t.same(partsOf(three, text('a'), proof), [{ text: 'a', thoughtSignature: 's' }]);
  t.same(partsOf(three, proof, call('c')), [{ functionCall, thoughtSignature: 's' }]);
  t.same(partsOf(three, proof), [{ text: '', thoughtSignature: 's' }]);
  t.same(partsOf(three, thought, text('a')), [{ text: 'hm', thought: true, thoughtSignature: 't' }, { text: 'a' }]);
  const unproved = { functionCall, thoughtSignature: 'skip_thought_signature_validator' };
  t.same(partsOf(three, text('a'), call('c'), call('d')), [{ text: 'a' }, unproved, { functionCall }]);
  t.same(partsOf('gemini-2.5-pro', foreign, call('c')), [{ functionCall }]);
  t.same(written({ turns: [modelSays(foreign)] }).hints, ['messages.reasoning_content']);
});

await test('what a model said is sent back as it said it', async (t) => {
  for (const name of ['plain', 'parallel-tools', 'image-and-code', 'citations', 'length']) {
    const file = new URL(`../../../fixtures/answers/gemini/${name}.json`, import.meta.url);
    const answer = parseObject(readFileSync(file, 'utf8')) ?? {};
    const { contents } = written({ turns: [modelSays(...geminiTranslation.readAnswer(answer).parts)] }, 'x', vertex);
    const [candidate] = answer['candidates'] as unknown as readonly { content: { parts: readonly object[] } }[];
    const parts = candidate?.content.parts.map((part) => ('functionCall' in part ? withArgs(part) : part));
    t.same(contents, [{ role: 'model', parts }], name);
  }
});

await test('tools become functions with cleaned schemas, or with the schema as it is', async (t) => {
  const parameters = {
    $schema: 'x',
    type: 'object',
    properties: { a: { type: 'string', format: 'uri' } },
    additionalProperties: false,
  };
  const tools = [
    { kind: 'function', name: 'f', description: 'F', parameters, strict: true } as const,
    { kind: 'function', name: 'g', parameters: { type: 'object', properties: {} } } as const,
    { kind: 'free_text', name: 'h', description: 'H' } as const,
    { kind: 'foreign', dialect: 'responses', name: 'web_search', value: {} } as const,
  ];
  const { tools: list, hints, meanings } = written({ tools, toolChoice: { kind: 'required' }, parallelTools: false });
  const input = { type: 'string', description: 'The whole input of the tool, as it is.' };
  t.same(list, [
    {
      functionDeclarations: [
        { name: 'f', description: 'F', parameters: { type: 'object', properties: { a: { type: 'string' } } } },
        { name: 'g' },
        { name: 'h', description: 'H', parameters: { type: 'object', properties: { input }, required: ['input'] } },
      ],
    },
  ]);
  t.same(hints, ['tools.function.strict', 'tools.function.parameters.format', 'tools[3]', 'parallel_tool_calls']);
  t.same(meanings, []);
  const asIs = written({ tools: tools.slice(0, 1) }, 'gemini-2.5-flash', { takesJsonSchema: true });
  t.match(asIs.tools, [{ functionDeclarations: [{ name: 'f', parametersJsonSchema: parameters }] }]);
  const choices = [
    [{ kind: 'auto' }, { mode: 'AUTO' }],
    [{ kind: 'none' }, { mode: 'NONE' }],
    [{ kind: 'required' }, { mode: 'ANY' }],
    [
      { kind: 'tool', name: 'f' },
      { mode: 'ANY', allowedFunctionNames: ['f'] },
    ],
  ] as const;
  for (const [toolChoice, functionCallingConfig] of choices) {
    t.same(written({ tools, toolChoice }).toolConfig, { functionCallingConfig }, toolChoice.kind);
  }
  t.notOk('toolConfig' in written({ tools, toolChoice: { kind: 'tool', name: 'web_search' } }), 'it was left out');
  t.notOk('toolConfig' in written({ toolChoice: { kind: 'auto' } }), 'no tools, no choice');
});

await test('sampling, limits and the form of the answer', async (t) => {
  const sampling = { temperature: 0.5, topP: 0.9, topK: 3, seed: 7, presencePenalty: 1, frequencyPenalty: -1 };
  const schema = { type: 'object', properties: { a: { type: ['string', 'null'], minLength: 1, not: {} } } };
  const { generationConfig, hints } = written({
    sampling: { ...sampling, logprobs: true, topLogprobs: 2 },
    stop: ['a', 'b'],
    maxTokens: 100,
    output: { kind: 'schema', name: 'answer', schema },
  });
  const properties = { a: { type: 'string', minLength: 1, nullable: true } };
  t.same(generationConfig, {
    ...sampling,
    maxOutputTokens: 100,
    stopSequences: ['a', 'b'],
    responseLogprobs: true,
    logprobs: 2,
    responseMimeType: 'application/json',
    responseSchema: { type: 'object', properties },
  });
  t.same(hints, ['response_format.not']);
  t.same(written({ output: { kind: 'json' } }).generationConfig, { responseMimeType: 'application/json' });
  const asIs = written({ output: { kind: 'schema', schema } }, 'gemini-2.5-flash', { takesJsonSchema: true });
  t.match(asIs.generationConfig, { responseJsonSchema: schema });
  const turns = [userSays(text('a'))];
  const contents = [{ role: 'user', parts: [{ text: 'a' }] }];
  t.same(written({ turns, output: { kind: 'text' } }), { contents, hints: [], meanings: [] });
});

await test('members without an equivalent are reported in the words of the client', async (t) => {
  const { hints, meanings, generationConfig } = written(
    {
      dialect: 'responses',
      sampling: { topK: 5, presencePenalty: 0, seed: 2 ** 40, logprobs: true, logitBias: { '5': 1 } },
      stop: ['1', '2', '3', '4', '5', '6'],
      verbosity: 'low',
      user: 'u',
      metadata: { a: 'b' },
      serviceTier: 'flex',
      ownMembers: [
        { path: ['background'], value: true, isMeaning: true },
        { path: ['text', 'extra'], value: 1, isMeaning: false },
      ],
      turns: [{ role: 'user', name: 'Ann', parts: [{ kind: 'foreign', dialect: 'messages', name: 'x', value: {} }] }],
    },
    'gemini-2.5-flash',
    { without: ['logprobs', 'topK'] },
  );
  t.same(hints, ['top_k', 'seed', 'text.verbosity', 'user', 'metadata', 'service_tier', 'input.name', 'text.extra']);
  t.same(meanings, [
    'input: it has no parts of the type x',
    'stop: it stops at no more than 5 texts',
    'logit_bias: it has no bias of tokens',
    'include: it has no log probabilities',
    'background: it has no such setting',
  ]);
  t.same(generationConfig, { stopSequences: ['1', '2', '3', '4', '5'] });
});

await test('thinking: a budget for 2.5, a level since 3, nothing before', async (t) => {
  const table = [
    ['gemini-2.5-flash', { effort: 'low' }, { includeThoughts: true, thinkingBudget: 1024 }],
    ['gemini-2.5-flash', { effort: 'max' }, { includeThoughts: true, thinkingBudget: 24576 }],
    ['gemini-2.5-flash', { mode: 'off' }, { thinkingBudget: 0 }],
    ['gemini-2.5-flash-lite', { mode: 'on', budgetTokens: 100 }, { includeThoughts: true, thinkingBudget: 512 }],
    ['gemini-2.5-pro', { mode: 'adaptive', summary: 'omitted' }, { thinkingBudget: -1 }],
    ['gemini-2.5-pro', { mode: 'off' }, { thinkingBudget: 128 }, 'hint'],
    ['gemini-flash-latest', { effort: 'medium' }, { includeThoughts: true, thinkingBudget: 8192 }],
    ['gemini-3-pro-preview', { effort: 'medium' }, { includeThoughts: true, thinkingLevel: 'high' }],
    ['gemini-3.1-pro-preview', { effort: 'medium' }, { includeThoughts: true, thinkingLevel: 'medium' }],
    ['gemini-3-pro-preview', { effort: 'minimal' }, { includeThoughts: true, thinkingLevel: 'low' }],
    ['models/gemini-3-flash-preview', { effort: 'minimal' }, { includeThoughts: true, thinkingLevel: 'minimal' }],
    ['gemini-3-flash-preview', { mode: 'off' }, { thinkingLevel: 'minimal' }, 'hint'],
    ['gemini-3-flash-preview', { mode: 'on', budgetTokens: 12000 }, { includeThoughts: true, thinkingLevel: 'medium' }],
    ['gemini-3-flash-preview', { mode: 'adaptive' }, { includeThoughts: true }],
    ['gemini-2.0-flash', { effort: 'high' }, undefined, 'hint'],
    ['gemini-2.0-flash', { mode: 'off' }, undefined],
    ['gemma-3-27b-it', { effort: 'high' }, undefined, 'hint'],
  ] as const;
  for (const [model, thinking, expected, hint] of table) {
    const { generationConfig, hints } = written({ thinking }, model);
    const name = `${model} ${JSON.stringify(thinking)}`;
    t.same((generationConfig as { thinkingConfig?: object } | undefined)?.thinkingConfig, expected, name);
    t.same(hints, hint === undefined ? [] : ['reasoning_effort'], name);
  }
});
