// The example of an event stream.

/** An event stream, as `stream: true` asks for it. */
export const streamExample = [
  'data: {"choices":[{"index":0,"delta":{"content":"Hello!"}}]}',
  'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}',
  'data: [DONE]',
]
  .map((line) => `${line}\n\n`)
  .join('');
