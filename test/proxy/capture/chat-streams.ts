// Streams of chat: the event that begins them, what they say, and how they end.

const event = (choices: object | readonly object[], more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c', created: 1, model: 'm', choices, ...more })}\n\n`;
export const piece = (delta: object, more: object = {}, finish_reason: string | null = null): string =>
  event([{ index: 0, delta, ...more, finish_reason }]);
export const text = (content: string): string => piece({ content });
export const begun = piece({ role: 'assistant', content: '' });
export const ended = `${piece({}, {}, 'stop')}${event([], { usage: { prompt_tokens: 1, completion_tokens: 2 } })}data: [DONE]\n\n`;
const words = ['a', ' b', '"', '\\', '\n', 'ü', '\u{1f600}', '', '},{"delta":{"content":"x"'];
const twice = (made: string): string => made.repeat(2);
const called = { index: 0, id: 't', function: { name: 'f', arguments: 'x' } };
const logprobs = { content: [{ token: 'a', logprob: -1 }] };

/** One character a character: as bytes, they are UTF-8. */
export const streams: Readonly<Record<string, string>> = {
  words: words.map(text).join(''),
  'a role in each': words.map((content) => piece({ role: 'assistant', content, refusal: null })).join(''),
  thoughts: `${twice(piece({ reasoning_content: 'hm' }))}${twice(text('so'))}`,
  padding: words
    .map((content, at) => event([{ index: 0, delta: { content } }], { obfuscation: 'x'.repeat(at) }))
    .join(''),
  'probabilities twice': twice(piece({ content: 'a' }, { logprobs })),
  'thoughts beside words': twice(piece({ content: 'a', reasoning_content: 'b' })),
  'two choices': twice(event([0, 1].map((index) => ({ index, delta: { content: 'a' } })))),
  'calls of tools': ['{"', 'a":1}']
    .map((args, at) =>
      piece({ tool_calls: [{ index: 0, ...(at ? {} : { id: 't' }), function: { name: 'f', arguments: args } }] }),
    )
    .join(''),
  'an escape that JSON does not know': [text('a'), text('b').replace('"b"', '"\\q"'), text('c')].join(''),
  'half an escape': [text('a'), text('b').replace('"b"', '"\\u12"'), text('c')].join(''),
  'a control character': [text('a'), text('b').replace('"b"', '"\t"'), text('c')].join(''),
  'other ends of lines': twice(`${text('a').replace('\n\n', '\r\n\r\n')}${text('c')}`),
  'several lines of data': twice(piece({ content: 'a' }, { logprobs }).replace(',"logprobs"', '\ndata: ,"logprobs"')),
  'probabilities before words': twice(event([{ index: 0, logprobs, delta: { content: 'a' }, finish_reason: null }])),
  'calls of another choice': twice(
    event([
      { index: 1, delta: { tool_calls: [called] } },
      { index: 0, delta: { content: 'a' } },
    ]),
  ),
  'a refusal of another choice': twice(
    event([
      { index: 1, delta: { refusal: 'x' } },
      { index: 0, delta: { content: 'a' } },
    ]),
  ),
  'a message of another choice': twice(
    event([
      { index: 0, delta: { content: 'a' } },
      { index: 1, message: { content: 'm' } },
    ]),
  ),
  'a delta within another member': twice(
    event([{ index: 0, x: { delta: { content: 'x' } }, delta: { content: 'b' } }]),
  ),
  'nothing beside': words.map((content) => piece({ tool_calls: null, content, reasoning_content: null })).join(''),
  'nothing beside thoughts': words
    .map((said) => piece({ content: null, reasoning_content: said, role: 'assistant' }))
    .join(''),
  'a model of its own': words.map((content, at) => event([{ index: 0, delta: { content } }], { created: at })).join(''),
};
