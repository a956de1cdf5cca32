// What a client of each door gets: asks one question, and reads the answer strictly, as one answer, one error, or neither.
import type { Gateway } from '../support/gateway.ts';
import type { Door } from './scenario.ts';
import type { Usage } from './wires.ts';

/** An error as a client sees it. */
export interface HeardError {
  readonly message: string;
  readonly code: string | null;
  readonly type: string;
}

/** What has come of one question. */
export interface Heard {
  readonly status: number;
  readonly retryAfter: number | undefined;
  readonly ms: number;
  readonly text: string;
  /** Undefined: the answer does not say how it ended. */
  readonly finish: 'complete' | 'filtered' | 'other' | undefined;
  readonly usage: Usage | undefined;
  /** A refusal, or the error event of a stream. */
  readonly error: HeardError | undefined;
  /** The stream has its last event; of another answer: it is a complete object. */
  readonly isEnded: boolean;
  /** What breaks the rules of the dialect; undefined: nothing. */
  readonly oddity: string | undefined;
}

export interface Question {
  readonly door: Door;
  readonly isStream: boolean;
  readonly model: string;
  readonly mark: string;
}

type Members = Readonly<Record<string, unknown>>;

const paths: Readonly<Record<Door, string>> = {
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  messages: '/v1/messages',
};

function bodyOf({ door, isStream: stream, model, mark }: Question): object {
  const messages = [{ role: 'user', content: mark }];
  if (door === 'responses') return { model, stream, store: false, input: mark };
  if (door === 'messages') return { model, stream, max_tokens: 500, messages };
  return { model, messages, ...(stream ? { stream, stream_options: { include_usage: true } } : {}) };
}

/** Asks, and reads until the end; `patienceMs`: what takes longer is a hang. */
export async function hear(gateway: Gateway, question: Question, patienceMs: number): Promise<Heard> {
  const { door, isStream } = question;
  const startedMs = performance.now();
  const since = (): number => performance.now() - startedMs;
  const signal = AbortSignal.timeout(patienceMs);
  let status = 0;
  let retryAfter: number | undefined;
  let text = '';
  let oddity: string | undefined;
  let type = '';
  try {
    const response = await gateway.fetch(paths[door], { method: 'POST', body: bodyOf(question), signal });
    status = response.status;
    type = response.headers.get('content-type') ?? '';
    const told = response.headers.get('retry-after');
    retryAfter = told === null ? undefined : Number(told);
    const decoder = new TextDecoder();
    for await (const piece of response.body ?? []) text += decoder.decode(piece as Uint8Array, { stream: true });
  } catch (error) {
    oddity = error instanceof Error && error.name === 'TimeoutError' ? 'it hangs' : 'the connection breaks';
  }
  const read = status === 200 && isStream ? readStream(door, text, type) : readWhole(door, status, text);
  return { status, retryAfter, ms: since(), ...read, oddity: oddity ?? read.oddity };
}

type Read = Pick<Heard, 'text' | 'finish' | 'usage' | 'error' | 'isEnded' | 'oddity'>;

const nothing: Read = {
  text: '',
  finish: undefined,
  usage: undefined,
  error: undefined,
  isEnded: false,
  oddity: undefined,
};

function readWhole(door: Door, status: number, text: string): Read {
  let body: Members;
  try {
    body = JSON.parse(text) as Members;
  } catch {
    return { ...nothing, oddity: 'the body is not JSON' };
  }
  const error = errorIn(body);
  if (error !== undefined || status !== 200) {
    const isEnvelope = error !== undefined && error.message !== '' && (door !== 'messages' || body['type'] === 'error');
    return { ...nothing, error, oddity: isEnvelope ? undefined : 'the error has not the envelope of the dialect' };
  }
  const answer = { ...nothing, isEnded: true, usage: usageIn(body) };
  if (door === 'chat') {
    const [choice] = listOf(body['choices']);
    const { content } = membersOf(choice?.['message']);
    return { ...answer, text: textOf(content), finish: finishOf(choice?.['finish_reason']) };
  }
  if (door === 'messages') {
    const words = listOf(body['content']).map((block) => textOf(block['text']));
    return { ...answer, text: words.join(''), finish: finishOf(body['stop_reason']) };
  }
  return { ...answer, text: outputText(body), finish: finishOfResponse(body) };
}

function readStream(door: Door, text: string, type: string): Read {
  if (!type.startsWith('text/event-stream')) return { ...nothing, oddity: `the stream has the type ${type}` };
  let read = nothing;
  let isDone = false;
  for (const block of text.split(/\r?\n\r?\n/).filter((part) => part.trim() !== '' && !part.startsWith(':'))) {
    const data = /^data: ?(.*)$/m.exec(block)?.[1] ?? '';
    // The end of a response that has failed is told twice.
    if (isDone && !block.startsWith('event: response.failed'))
      return { ...read, oddity: `an event behind the end: ${block.slice(0, 100)}` };
    if (data === '[DONE]') {
      isDone = true;
      continue;
    }
    let event: Members;
    try {
      event = JSON.parse(data) as Members;
    } catch {
      return { ...read, oddity: `an event is not JSON: ${block.slice(0, 100)}` };
    }
    read = take(door, read, event);
    if (door !== 'chat' && (read.isEnded || read.error !== undefined)) isDone = true;
  }
  return door === 'chat' && read.error === undefined ? { ...read, isEnded: isDone } : read;
}

function take(door: Door, read: Read, event: Members): Read {
  const type = event['type'];
  const isFailure = door === 'chat' ? 'error' in event : type === 'error' || type === 'response.failed';
  if (isFailure) {
    const said = type === 'response.failed' ? membersOf(event['response']) : event;
    return { ...read, error: errorIn(said) ?? errorIn({ error: event }) };
  }
  const usage = usageIn(event) ?? usageIn(membersOf(event['response'])) ?? usageIn(membersOf(event['message']));
  const joined = usage === undefined ? read.usage : { ...read.usage, ...usage };
  const next = { ...read, usage: joined };
  if (door === 'chat') {
    const [choice] = listOf(event['choices']);
    const { content } = membersOf(choice?.['delta']);
    const finish = finishOf(choice?.['finish_reason']) ?? read.finish;
    return { ...next, text: read.text + textOf(content), finish };
  }
  if (door === 'messages') {
    const delta = membersOf(event['delta']);
    const finish = finishOf(delta['stop_reason']) ?? read.finish;
    return { ...next, text: read.text + textOf(delta['text']), finish, isEnded: type === 'message_stop' };
  }
  const ends = type === 'response.completed' || type === 'response.incomplete';
  const text = type === 'response.output_text.delta' ? read.text + textOf(event['delta']) : read.text;
  if (!ends) return { ...next, text };
  const response = membersOf(event['response']);
  const oddity = outputText(response) === text ? undefined : 'the last event has other words than the stream';
  return { ...next, text, finish: finishOfResponse(response), isEnded: true, oddity };
}

/** The usage beside an answer: `prompt_tokens` or `input_tokens`, and so on. */
function usageIn(body: Members): Usage | undefined {
  const usage = membersOf(body['usage']);
  const input = usage['prompt_tokens'] ?? usage['input_tokens'];
  const output = usage['completion_tokens'] ?? usage['output_tokens'];
  if (input === undefined && output === undefined) return undefined;
  return {
    ...(input === undefined ? {} : { input: Number(input) }),
    ...(output === undefined ? {} : { output: Number(output) }),
  } as Usage;
}

function errorIn(body: Members): HeardError | undefined {
  const error = membersOf(body['error']);
  if (typeof error['message'] !== 'string') return undefined;
  const code = error['code'];
  return {
    message: error['message'],
    code: typeof code === 'number' ? String(code) : textOf(code) || null,
    type: textOf(error['type']),
  };
}

function finishOf(reason: unknown): Heard['finish'] {
  if (typeof reason !== 'string') return undefined;
  if (reason === 'stop' || reason === 'end_turn') return 'complete';
  return reason === 'content_filter' || reason === 'refusal' ? 'filtered' : 'other';
}

function finishOfResponse(response: Members): Heard['finish'] {
  if (response['status'] === 'completed') {
    const isRefusal = listOf(response['output']).some((item) =>
      listOf(item['content']).some((part) => part['type'] === 'refusal'),
    );
    return isRefusal ? 'filtered' : 'complete';
  }
  const { reason } = membersOf(response['incomplete_details']);
  return reason === 'content_filter' ? 'filtered' : 'other';
}

function outputText(response: Members): string {
  const parts = listOf(response['output']).flatMap((item) => listOf(item['content']));
  return parts.map((part) => (part['type'] === 'output_text' ? textOf(part['text']) : '')).join('');
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function membersOf(value: unknown): Members {
  return typeof value === 'object' && value !== null ? (value as Members) : {};
}

function listOf(value: unknown): readonly Members[] {
  return Array.isArray(value) ? value.map(membersOf) : [];
}
