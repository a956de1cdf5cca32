// The bytes that travel in a measurement stand here once, so that every variant carries exactly the same.

/** What is asked for: one JSON answer to a request of 112 bytes (`json`) or of 1, 8 or 64 KiB; a stream sent at once, one
 *  write per event (`sse`), all in one write (`burst`) or in four (`quarters`); a stream with a pause after each event
 *  (`paced`); or one event per second without an end (`held`). `translated` and `translated-sse` are `json` and `sse` for
 *  a client of Anthropic, whose words the gateway translates. `fresh`, `fresh-sse` and `fresh-paced` are `json`, `sse` and `paced` with a request that
 *  nobody has sent before; `kept-sse` and `kept-paced` are `sse` and `paced` from a gateway that has kept the answer. */
export const WORKLOADS = [
  'json',
  'json-1k',
  'json-8k',
  'json-64k',
  'sse',
  'burst',
  'quarters',
  'paced',
  'held',
  'translated',
  'translated-sse',
  'fresh',
  'fresh-sse',
  'fresh-paced',
  'kept-sse',
  'kept-paced',
] as const;
/** One of `WORKLOADS`. */
export type Workload = (typeof WORKLOADS)[number];

/** Events a client receives of an instant stream, `[DONE]` included. */
export const INSTANT_EVENTS = 34;
/** The same of a translated one: its start, the words with what opens and closes their block, and what ends it. */
const TRANSLATED_EVENTS = INSTANT_EVENTS + 2;
/** The same of a stream that was kept: what was said in one piece, its end, `[DONE]`. */
const KEPT_EVENTS = 3;
/** Events a client receives of a stream in four writes, `[DONE]` included. */
export const QUARTERS_EVENTS = 31;
/** Events a client receives of a paced stream, `[DONE]` included. */
export const PACED_EVENTS = 100;
/** Milliseconds between two events of a paced stream. */
export const PACED_INTERVAL_MS = 5;
/** Milliseconds between two events of a stream without an end. */
export const HELD_INTERVAL_MS = 1000;
/** The models the bench provider serves; the name tells the provider how to write a stream. */
export const MODELS = ['chat-model', 'burst-model', 'quarters-model', 'paced-model', 'held-model'] as const;

/** The model of most workloads as a client names it. */
export const CHAT_MODEL = 'bench/chat-model';

/** What stands in the place of a number. */
const NUMBER = '############';
const EVENTS: Partial<Record<Workload, number>> = {
  sse: INSTANT_EVENTS,
  'translated-sse': TRANSLATED_EVENTS,
  'fresh-sse': INSTANT_EVENTS,
  'fresh-paced': PACED_EVENTS,
  'kept-sse': KEPT_EVENTS,
  'kept-paced': KEPT_EVENTS,
  burst: INSTANT_EVENTS,
  quarters: QUARTERS_EVENTS,
  paced: PACED_EVENTS,
};
const REQUEST_BYTES: Partial<Record<Workload, number>> = { 'json-1k': 1024, 'json-8k': 8192, 'json-64k': 65_536 };
// What the public gateway benchmark sends.
const USUAL_REQUEST_BYTES = 112;
const JSON_ANSWER_BYTES = 439;

/** Whether the answer of a workload is one JSON document. */
export function isJson(workload: Workload): boolean {
  return workload.startsWith('json') || workload === 'translated' || workload === 'fresh';
}

/** Where it is asked. */
export function pathOf(workload: Workload): string {
  return isTranslated(workload) ? '/v1/messages' : '/v1/chat/completions';
}

function isTranslated(workload: Workload): boolean {
  return workload.startsWith('translated');
}

/** Whether each request is another one. */
export function isFresh(workload: Workload): boolean {
  return workload.startsWith('fresh');
}

let numbers = 0;

/** The request of such a workload with a number that it had never before. */
export function numbered(request: Buffer): Buffer {
  const copy = Buffer.from(request);
  numbers += 1;
  copy.write(String(numbers).padStart(NUMBER.length, '0'), request.indexOf(NUMBER), 'latin1');
  return copy;
}

/** The secret of the managed key of this number. */
export function keySecret(index: number): string {
  return `sk-gw-bench-key-${String(index).padStart(27, '0')}`;
}

/** Events of one complete answer; 0 for JSON. */
export function expectedEvents(workload: Workload): number {
  return EVENTS[workload] ?? 0;
}

/** The request body of a workload. */
export function requestBody(workload: Workload): string {
  const isInstant = isJson(workload) || workload.endsWith('sse');
  const model = isInstant ? CHAT_MODEL : `bench/${workload.replace(/^(?:fresh|kept)-/, '')}-model`;
  const stream = !isJson(workload);
  const limit = isTranslated(workload) ? { max_tokens: 99 } : {};
  const build = (content: string): string =>
    JSON.stringify({ model, messages: [{ role: 'user', content }], stream, ...limit });
  const length = REQUEST_BYTES[workload] ?? (isTranslated(workload) ? 0 : USUAL_REQUEST_BYTES);
  const words = isFresh(workload) ? `${NUMBER} say hello.` : 'Say hello in a few words.';
  return build(padding(words, length - build('').length));
}

/** A complete HTTP answer with a 439-byte chat completion and its usage, ready to be written. */
export function jsonAnswer(): Buffer {
  const build = (content: string): string =>
    JSON.stringify({
      id: 'chatcmpl-bench0000000000000000',
      object: 'chat.completion',
      created: 1700000000,
      model: 'chat-model',
      system_fingerprint: 'fp_bench',
      choices: [{ index: 0, message: { role: 'assistant', content }, logprobs: null, finish_reason: 'stop' }],
      usage: { prompt_tokens: 14, completion_tokens: 32, total_tokens: 46 },
    });
  const body = build(padding('Hello there, how are you today?', JSON_ANSWER_BYTES - build('').length));
  return Buffer.from(
    `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    'latin1',
  );
}

/** The writes of a streamed answer: head and first event, then one HTTP chunk per event, the last one closing the body.
 *  With `usage` it is what a provider sends when asked for usage: `"usage":null` in every event and one event more. */
export function streamWrites(events: number, usage: boolean): Buffer[] {
  const payloads: string[] = [];
  for (let index = 0; index < events - 1; index += 1) {
    const first = index === 0;
    const last = index === events - 2;
    const delta = first ? { role: 'assistant', content: '' } : last ? {} : { content: ` word${index}` };
    const choices = [{ index: 0, delta, logprobs: null, finish_reason: last ? 'stop' : null }];
    payloads.push(JSON.stringify({ ...envelope(), choices, ...(usage ? { usage: null } : {}) }));
  }
  if (usage) {
    const counts = { prompt_tokens: 14, completion_tokens: events - 3, total_tokens: events + 11 };
    payloads.push(JSON.stringify({ ...envelope(), choices: [], usage: counts }));
  }
  payloads.push('[DONE]');
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n';
  return payloads.map((payload, index) => {
    const event = `data: ${payload}\n\n`;
    const end = index === payloads.length - 1 ? '0\r\n\r\n' : '';
    return Buffer.from(`${index === 0 ? head : ''}${event.length.toString(16)}\r\n${event}\r\n${end}`, 'latin1');
  });
}

function envelope(): Record<string, unknown> {
  return {
    id: 'chatcmpl-bench0000000000000000',
    object: 'chat.completion.chunk',
    created: 1700000000,
    model: 'chat-model',
    system_fingerprint: 'fp_bench',
  };
}

function padding(text: string, length: number): string {
  return text.padEnd(length, ' ok').slice(0, Math.max(length, 8));
}
