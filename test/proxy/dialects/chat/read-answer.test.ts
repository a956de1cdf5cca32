// What the recorded answers of servers that speak chat say, part by part.
import { test } from 'tap';
import { readUsage } from '../../../../proxy/dialects/chat/read/read-usage.ts';
import { cases, plain, recordedAnswer } from './recorded.ts';

const text = (said: string, more: object = {}): object => ({ kind: 'text', text: said, ...more });
const call = (id: string, name: string, input: string, more: object = {}): object => {
  return { kind: 'tool_call', id, name, input, isFreeText: false, ...more };
};
const thought = (said: string, more: object = {}): object => ({ kind: 'reasoning', text: said, summary: [], ...more });
const tokens = (name: string, score: number): object => {
  const token = { token: name, logprob: score, bytes: [...Buffer.from(name)] };
  return { ...token, top_logprobs: [token] };
};

/** Parts and the reason to finish of each case. */
const said: Readonly<Record<string, readonly [parts: readonly object[], reason: string]>> = {
  plain: [[text('Grüße aus Köln 👋')], 'stop'],
  tools: [[call('call_abc', 'get_weather', '{"city":"Köln","note":"a \\"}\\" b"}')], 'tool_calls'],
  'parallel-tools': [
    [
      text('Both.'),
      call('call_1', 'weather', '{"city":"Rome"}'),
      call('call_2', 'time', '{"zone":"CET"}'),
      call('call_3', 'ping', '{}'),
    ],
    'tool_calls',
  ],
  'custom-tool': [[call('call_c', 'patch', '*** Begin\n+{a', { isFreeText: true })], 'tool_calls'],
  length: [[text('Once upon')], 'length'],
  filtered: [[text('The')], 'filtered'],
  refusal: [[{ kind: 'refusal', text: "I'm sorry, I can't help with that." }], 'refusal'],
  logprobs: [[text('Hi!', { logprobs: [tokens('Hi', -0.31725305), tokens('!', -0.0023)] })], 'stop'],
  'web-citations': [
    [text('Rome is old.', { citations: [{ url: 'https://example.com/rome', title: 'Rome', start: 0, end: 5 }] })],
    'stop',
  ],
  'perplexity-sources': [[text('Seen [1].', { citations: [{ url: 'https://example.com/a', title: 'A' }] })], 'stop'],
  'deepseek-thinking': [[thought('Compare 9.11 and 9.8.'), text('9.8 is greater.')], 'stop'],
  'mistral-thinking': [[thought('Let me see.'), text('Done.')], 'stop'],
  'xai-thinking': [[thought('Count.'), text('101')], 'stop'],
  'openrouter-thinking': [
    [thought('Two and two.', { signature: { family: 'anthropic', value: 'ErUBCkYI' } }), text('4')],
    'stop',
  ],
  'openrouter-encrypted': [
    [thought('', { summary: ['**Thinking** hard'], encrypted: { family: 'openai', value: 'gAAAAAB' } }), text('Yes.')],
    'stop',
  ],
  'groq-tools': [[thought('I need the tool.'), call('fk2s', 'add', '{"a":1}')], 'tool_calls'],
  'gemini-tools': [
    [
      call('function-call-1', 'flight', '{"no":"LH1"}', { signature: { family: 'google', value: 'CpUBAdHt' } }),
      call('function-call-2', 'flight', '{"no":"LH2"}'),
    ],
    'tool_calls',
  ],
  'ollama-tools': [[call('', 'now', '{}'), call('', 'now', '{"tz":"UTC"}')], 'tool_calls'],
  'vllm-stop': [[text('one ')], 'stop_sequence'],
};

await test('every recorded answer is read part by part', async (t) => {
  t.same(Object.keys(said).sort(), cases.toSorted());
  for (const [name, [parts, reason]] of Object.entries(said)) {
    const answer = recordedAnswer(name);
    t.strictSame(plain(answer.parts), parts, name);
    t.equal(answer.finish.reason, reason, name);
  }
  t.equal(recordedAnswer('vllm-stop').finish.stopSequence, 'two');
  t.match(recordedAnswer('plain'), {
    id: 'chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT',
    model: 'gpt-4.1-2025-04-14',
    createdAt: 1_741_569_952,
    serviceTier: 'default',
  });
});

await test('usage counts the whole answer, wherever a server names it', async (t) => {
  const usageOf = (name: string): unknown => plain(recordedAnswer(name).usage);
  t.strictSame(usageOf('plain'), {
    inputTokens: 2006,
    outputTokens: 300,
    totalTokens: 2306,
    cachedTokens: 1920,
    reasoningTokens: 192,
    audioInputTokens: 0,
    audioOutputTokens: 0,
  });
  t.match(usageOf('deepseek-thinking'), { inputTokens: 16, cachedTokens: 10, reasoningTokens: 20 });
  t.match(usageOf('openrouter-thinking'), { cachedTokens: 0, cacheWriteTokens: 20 });
  t.match(
    usageOf('xai-thinking'),
    { outputTokens: 103, totalTokens: 135 },
    'thoughts beside the output are part of it',
  );
  t.equal(usageOf('ollama-tools'), undefined);
  t.match(readUsage({ completion_tokens: 2, total_tokens: 5 }), { inputTokens: 3, outputTokens: 2 });
  t.match(readUsage({ prompt_tokens: 3, completion_tokens: 2, total_tokens: 0 }), { totalTokens: undefined });
  t.equal(readUsage({ prompt_tokens: -1, total_tokens: 1.5 }), undefined);
});
