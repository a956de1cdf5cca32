// Streamed answers under guardrails, event by event: what stays as it came, what is held back until when, and which events are added or left out.
import { test } from 'tap';
import type { Operation } from '../../../proxy/dialects/dialect.ts';
import { Guarding } from '../../../proxy/guardrails/guarding.ts';
import type { Checks, Guardrail } from '../../../proxy/guardrails/guardrail.ts';
import { openGuarded, railsOf } from './rails.ts';

const caller = { requestId: 'r', userPath: '/', model: 'm' };
const rule = { on: ['output'], regex: { patterns: ['ab+c', 'secret'], action: 'redact', replacement: '-' } };

/** What a client gets for each event. */
function through(operation: Operation, events: readonly string[], guardrails: readonly object[] = [rule]): string[] {
  const got: string[] = [];
  const guarding = new Guarding(railsOf(guardrails), caller, operation);
  const answer = { cancel: () => undefined, resume: () => undefined };
  const guard = { answer, report: (error: unknown) => got.push(String(error)) };
  let told = '';
  const sink = openGuarded(guarding, guard, {
    write(chunk) {
      told += chunk.toString();
      return true;
    },
    end: (failure) => got.push(`${told}end${failure === undefined ? '' : ` ${failure.code}`}`),
  });
  for (const event of events) {
    told = '';
    sink.write(Buffer.from(event));
    got.push(told);
  }
  told = '';
  sink.end(undefined);
  return got;
}

interface Thinking {
  readonly delta: { readonly reasoning?: string; readonly reasoning_details?: { readonly text: string }[] };
}

const dataIn = (events: string): unknown[] =>
  [...events.matchAll(/^data: (.*)$/gm)].map(([, data = '']): unknown => (data === '[DONE]' ? data : JSON.parse(data)));
const chunk = (choice: object, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, finish_reason: null, ...choice }], ...more })}\n\n`;
const words = (content: string, index = 0): string => chunk({ index, delta: { content } });
const done = 'data: [DONE]\n\n';

await test('unchanged events go on as they came, with their comments and odd line ends', (t) => {
  const events = [
    ': keep-alive\n\n',
    'data: {"choices" : [{"index":0,"delta":{"role":"assistant","content":""}}], "x": 1.0}\r\n\r\n',
    'data:{"choices":[{"index":0,"delta":{"content":"plain \\u0077ord!"}}],"obfuscation":"zz"}\n\n',
    'event: odd\ndata: no JSON\n\n',
    'data: {"choices":[],"usage":{"total_tokens":3}}\n\n',
    done,
  ];
  t.same(through('chat', events), [...events, 'end']);
  t.end();
});

await test('what is held back comes with the next words, with the last ones, or before what ends them', (t) => {
  const held = through('chat', [words('x a'), words('b'), words('c y'), done]);
  t.match(held.map(dataIn), [
    [{ choices: [{ delta: { content: 'x ' } }] }],
    [],
    [{ choices: [{ delta: { content: '- y' } }] }],
    ['[DONE]'],
    [],
  ]);
  const last = through('chat', [words('x ab'), chunk({ delta: { content: 'b' }, finish_reason: 'stop' })]);
  t.match(dataIn(last[1] ?? ''), [{ choices: [{ delta: { content: 'abb' }, finish_reason: 'stop' }] }]);
  const [, before = ''] = through('chat', [
    words('x ab'),
    chunk({ delta: {}, finish_reason: 'stop' }, { usage: { total_tokens: 1 } }),
  ]);
  t.match(dataIn(before), [
    { id: 'c', choices: [{ delta: { content: 'ab' }, finish_reason: null }] },
    { usage: { total_tokens: 1 } },
  ]);
  t.notMatch(dataIn(before)[0], { usage: {} });
  t.match(through('chat', [words('x ab'), done]).map(dataIn)[1], [
    { choices: [{ delta: { content: 'ab' } }] },
    '[DONE]',
  ]);
  t.match(
    dataIn(through('chat', [words('x ab')])[1] ?? ''),
    [{ choices: [{ delta: { content: 'ab' } }] }],
    'also where the end is missing',
  );
  t.end();
});

await test('choices, thoughts and calls of tools are texts of their own', (t) => {
  const both = through('chat', [words('a', 0), words('a', 1), words('bc', 1), words('x', 0)]);
  t.match(both.map(dataIn), [
    [],
    [],
    [{ choices: [{ index: 1, delta: { content: '-' } }] }],
    [{ choices: [{ index: 0, delta: { content: 'ax' } }] }],
    [],
  ]);
  const thought = chunk({ delta: { reasoning_content: 'so a' } });
  const turned = through('chat', [thought, words('bc')]);
  t.match(
    dataIn(turned[1] ?? ''),
    [{ choices: [{ delta: { reasoning_content: 'a' } }] }, { choices: [{ delta: { content: 'bc' } }] }],
    'thoughts end where words begin',
  );
  const twice = (text: string): string =>
    chunk({ delta: { reasoning: text, reasoning_details: [{ type: 'reasoning.text', text, index: 0 }] } });
  const doubled = through('chat', [twice('an a'), twice('bc so'), done]).flatMap(dataIn) as { choices?: Thinking[] }[];
  const thoughts = doubled.map(({ choices }) => choices?.[0]?.delta);
  t.equal(thoughts.map((delta) => delta?.reasoning ?? '').join(''), 'an - so');
  const details = thoughts.flatMap((delta) => delta?.reasoning_details ?? []);
  t.equal(details.map(({ text }) => text).join(''), 'an - so', 'both are told clean');
  const listed = (text: string, type = 'text'): string =>
    chunk({ delta: { content: [type === 'text' ? { type, text } : { type, thinking: [{ type: 'text', text }] }] } });
  const parts = through('chat', [listed('a', 'thinking'), listed('bc', 'thinking'), listed('sec'), words('ret'), done]);
  t.notMatch(parts.join(''), /ab*c|secret/, 'lists of parts');
  t.match(parts.join(''), /"thinking":\[\{"type":"text","text":"-"\}\].*"-"/s);
  const call = (index: number, text: string, id?: string): string =>
    chunk({ delta: { tool_calls: [{ index, ...(id && { id, type: 'function' }), function: { arguments: text } }] } });
  const calls = through('chat', [call(0, '{"q":"a', 'c0'), call(1, '{"q":"ab', 'c1'), call(0, 'bc"}'), call(1, 'x"}')]);
  const told = ['', '1'].map((_, index) =>
    calls
      .flatMap((each) => dataIn(each))
      .flatMap((body) => {
        const { choices } = body as {
          choices: { delta: { tool_calls: { index: number; function: { arguments: string } }[] } }[];
        };
        return (choices[0]?.delta.tool_calls ?? [])
          .filter((each) => each.index === index)
          .map((each) => each.function.arguments);
      })
      .join(''),
  );
  t.same(told, ['{"q":"-"}', '{"q":"abx"}']);
  t.match(
    dataIn(calls[0] ?? ''),
    [{ choices: [{ delta: { tool_calls: [{ id: 'c0' }] } }] }],
    'what names a call is not left out',
  );
  t.end();
});

await test('events of messages are added before their block ends, and errors pass', (t) => {
  const event = (body: { type: string }): string => `event: ${body.type}\ndata: ${JSON.stringify(body)}\n\n`;
  const delta = (text: string) => ({ type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text } });
  const stop = { type: 'content_block_stop', index: 1 };
  const overloaded = event({ type: 'error', error: { type: 'overloaded_error' } } as { type: string });
  const got = through('messages', [event(delta('x ab')), event(stop), overloaded]);
  t.same(got, [event(delta('x ')), event(delta('ab')) + event(stop), overloaded, 'end']);
  t.end();
});

await test('a response tells a text in the same words wherever it tells it, and counts its events without a gap', (t) => {
  const place = { output_index: 0, content_index: 0 };
  const item = (text: string) => ({ type: 'message', content: [{ type: 'output_text', text }] });
  const bodies = [
    { type: 'response.output_text.delta', ...place, delta: 'x a' },
    { type: 'response.output_text.delta', ...place, delta: 'b' },
    { type: 'response.output_text.done', ...place, text: 'x ab' },
    { type: 'response.output_item.done', output_index: 1, item: item('a secret') },
    { type: 'response.completed', response: { output: [item('x ab'), item('a secret')] } },
  ];
  const events = bodies.map((body, index) => `data: ${JSON.stringify({ ...body, sequence_number: 5 + index })}\n\n`);
  const told = through('responses', events).flatMap((each) => dataIn(each));
  t.match(told, [
    { delta: 'x ', sequence_number: 5 },
    { type: 'response.output_text.delta', delta: 'ab', sequence_number: 6 },
    { text: 'x ab', sequence_number: 7 },
    { item: item('a -'), sequence_number: 8 },
    { response: { output: [item('x ab'), item('a -')] }, sequence_number: 9 },
  ]);
  t.equal(told.length, 5);
  t.end();
});

await test('an answer that must have a form is told at its end, all of it', (t) => {
  const form = { schema: { schema: { type: 'object' } } };
  const got = through('chat', [words('{'), words('}'), done], [form]);
  t.match(got.map(dataIn), [[], [], [{ choices: [{ delta: { content: '{}' } }] }, '[DONE]'], []]);
  const thought = chunk({ delta: { reasoning_content: 'hm' } });
  t.equal(through('chat', [thought], [form])[0], thought, 'thoughts are not');
  t.end();
});

await test('what comes as a whole within a stream is seen, under whatever name its event has', (t) => {
  const hidden = (operation: Operation, ...events: readonly string[]): void => {
    const told = through(operation, events).join('');
    t.notMatch(told, /secret/, told);
    t.match(told, /"-"|- |-"|\\"-/, 'something stands in its place');
  };
  const delta = (more: object): string => chunk({ delta: more });
  const event = (type: string, more: object): string => `data: ${JSON.stringify({ type, index: 0, ...more })}\n\n`;
  const named = (type: string, more: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ index: 0, ...more })}\n\n`;
  hidden('chat', delta({ content: 'x', note: 'secret' }), done);
  hidden('chat', chunk({ message: { content: 'a secret' } }), done);
  hidden('chat', delta({ tool_calls: [{ index: 0, function: { arguments: { a: 'secret' } } }] }), done);
  hidden('chat', chunk({}, { search_results: [{ title: 'secret' }] }), done);
  hidden('chat', delta({ annotations: [{ url_citation: { title: 'secret' } }] }), done);
  hidden('chat', delta({ audio: { transcript: 'a sec' } }), delta({ audio: { transcript: 'ret' } }), done);
  hidden(
    'chat',
    words('a sec'),
    delta({ reasoning_content: 'hm' }),
    words('ret'),
    chunk({ delta: {}, finish_reason: 'stop' }),
  );
  const signed = { anthropic: { thinking_blocks: [{ thinking: 'a secret', signature: 's' }] } };
  hidden('chat', delta({ reasoning_content: 'a secret' }), delta({ extra_content: signed }), done);
  hidden('messages', event('content_block_start', { content_block: { type: 'tool_use', input: { a: 'secret' } } }));
  hidden('messages', event('content_block_start', { content_block: { type: 'x', content: { stdout: 'secret' } } }));
  hidden(
    'messages',
    event('content_block_delta', { delta: { type: 'citations_delta', citation: { cited_text: 'secret' } } }),
  );
  hidden(
    'messages',
    named('content_block_delta', { delta: { type: 'text_delta', text: 'a secret' } }),
    named('content_block_stop', {}),
  );
  hidden(
    'responses',
    named('response.output_text.delta', { output_index: 0, content_index: 0, delta: 'a secret' }),
    named('response.output_text.done', { output_index: 0, content_index: 0, text: 'a secret' }),
  );
  hidden('responses', event('response.output_text.annotation.added', { annotation: { title: 'secret' } }));
  hidden('responses', event('response.code_interpreter_call_code.delta', { output_index: 0, delta: 'a secret ' }));
  const item = { type: 'code_interpreter_call', code: 'a secret', outputs: [{ logs: 'secret' }] };
  hidden('responses', event('response.output_item.done', { output_index: 0, item }));
  const result = { type: 'shell_call_output', output: [{ stdout: 'a secret' }] };
  hidden('responses', event('response.output_item.done', { output_index: 1, item: result }));
  const search = { type: 'tool_search_call', arguments: { query: 'a secret' } };
  hidden('responses', event('response.output_item.done', { output_index: 1, item: search }));
  const patch = (step: string, more: object) => event(`response.some_patch.${step}`, { output_index: 2, ...more });
  hidden(
    'responses',
    patch('delta', { delta: 'a sec' }),
    patch('delta', { delta: 'ret ' }),
    patch('done', { diff: 'secret' }),
  );
  hidden('messages', event('content_block_delta', { delta: { type: 'some_delta', content: 'a secret ' } }));
  const page = { type: 'web_fetch_tool_result', content: { source: { type: 'text', data: 'the secret' } } };
  hidden('messages', event('content_block_start', { content_block: page }));
  hidden('responses', event('response.cancelled', { response: { output: [item] } }));
  t.end();
});

await test('signs, addresses and pictures pass as they are, and nothing is lost with words that are held back', (t) => {
  const picture = { type: 'image_generation_call', result: `${'iVBOR+'.repeat(100)}secret` };
  const events = [
    chunk({ delta: { content: 'x' } }, { provider: 'secret', citations: ['https://secret.example/a'] }),
    `data: ${JSON.stringify({ type: 'response.output_item.done', output_index: 0, item: picture })}\n\n`,
    `data: ${JSON.stringify({ type: 'response.image.delta', output_index: 0, delta: 'secret' })}\n\n`,
  ] as const;
  t.equal(through('chat', [events[0]])[0], events[0]);
  t.same(through('responses', events.slice(1)).slice(0, 2), events.slice(1));
  const kept = (delta: object): void => {
    const [first = ''] = through('chat', [chunk({ delta })]);
    t.not(first, '', JSON.stringify(delta));
  };
  kept({ audio: { id: 'a1', data: 'AAAA', transcript: 'secre' } });
  kept({
    content: [
      { type: 'text', text: 'secr' },
      { type: 'reference', reference_ids: [1] },
    ],
  });
  kept({ tool_calls: [{ index: 0, function: { name: 'f', arguments: '"secr' } }] });
  kept({ role: 'assistant', content: 'secr' });
  t.equal(through('chat', [chunk({ delta: { content: 'secr' } })])[0], '', 'words alone are held back');
  t.end();
});

await test('what comes as a whole is asked about once, and together', (t) => {
  const [flag] = railsOf([{ on: ['output'], keywords: { words: ['never'], action: 'flag' } }]);
  const asked: number[] = [];
  const checks: Checks = {
    texts(texts) {
      asked.push(texts.length);
      return { outcome: 'pass' };
    },
  };
  const found = { search_results: ['one', 'two'].map((title) => ({ title, url: 'https://example.com/' })) };
  const chunks = Array.from({ length: 20 }, () => chunk({ delta: { role: 'assistant' } }, found));
  const guarding = new Guarding([{ ...flag, output: checks } as Guardrail], caller, 'chat');
  const answer = { cancel: () => undefined, resume: () => undefined };
  const guard = { answer, report: (error: unknown) => t.fail(String(error)) };
  const sink = openGuarded(guarding, guard, {
    write: () => true,
    end: () => undefined,
  });
  for (const each of chunks) sink.write(Buffer.from(each));
  sink.end(undefined);
  t.same(asked, [2]);
  t.end();
});
