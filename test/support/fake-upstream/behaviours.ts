// The behaviours of a fake upstream as data: each compiles to the steps that its socket plays.

import { gzipSync } from 'node:zlib';
import { STATUS_CODES } from '../../../plane/http.ts';
import { fin, type Gate, pause, rst, type Step, silence } from '../steps.ts';
import { type Answer, type AnswerOptions, believableAnswer, failure } from './answers.ts';
import type { Entry, Field } from './entry.ts';

/** The behaviour of the port, before any request. Holds until the next `behave`; cannot stand in a list. */
export type PortBehaviour =
  /** The port is closed. Open connections are cut. */
  | { kind: 'refused' }
  /** The port listens and never accepts: a connect hangs. */
  | { kind: 'full-backlog' };

/** Acts as soon as the request's head is there, its body unread. */
export type EarlyBehaviour =
  /** Answers at once; what is left of the body is read afterwards. */
  | { kind: 'early'; next: Behaviour }
  /** Stops reading until the gate opens (or for ever), then goes on like a request that came just now. Until then it cannot see the client leave. */
  | { kind: 'stop-reading'; gate?: Gate; next?: Behaviour };

/** How a request is answered. Faults break the believable answer to that request, a stream if it asked for one. */
export type AnswerBehaviour =
  // Well-formed
  | ({ kind: 'openai' } & AnswerOptions & { pauseMs?: number })
  /** These bytes with a Content-Length; an object is sent as JSON. */
  | { kind: 'json'; body: string | Uint8Array | object; status?: number; headers?: Field[] }
  /** Bytes with pauses (milliseconds), gates and an ending between them, cut anywhere; text and bytes are one chunk each. */
  | { kind: 'sse'; chunks: Iterable<Step | number>; framing?: 'chunked' | 'eof'; status?: number; headers?: Field[] }
  /** A provider's own refusal: 401, 403, 404, 429, 500, 503 … */
  | { kind: 'error'; status: number; message?: string; retryAfter?: string }
  | { kind: 'hold'; gate: Gate; next?: Behaviour }
  | { kind: 'delay'; ms: number; next?: Behaviour }
  /** Anything at all. */
  | { kind: 'raw'; steps: Iterable<Step> }
  // Before the head
  | { kind: 'reset' }
  | { kind: 'fin' }
  | { kind: 'hang' }
  | { kind: 'not-http' }
  // The head
  | { kind: 'header-bomb'; bytes?: number }
  | { kind: 'many-headers'; count?: number }
  | { kind: 'informational-flood'; count?: number }
  | { kind: 'two-content-lengths' }
  | { kind: 'cl-and-te' }
  /** A status that is none, or none for a body; sent with a JSON body. */
  | { kind: 'odd-status'; status: '099' | '101' | '204' | '999' | (string & {}) }
  | { kind: 'redirect'; location: string; status?: number }
  // The body; `after` = pieces of the believable answer (events, or quarters of the JSON) sent whole before the fault
  | { kind: 'short-body'; missingBytes?: number }
  | { kind: 'cut-chunk'; after?: number }
  | { kind: 'reset-in-chunk'; after?: number }
  | { kind: 'bad-chunk-size'; after?: number }
  /** No length, no chunks: ends by FIN before the last pieces, so nothing in HTTP tells it from a whole answer. */
  | { kind: 'eof-cut'; after?: number }
  | { kind: 'stall'; after?: number }
  /** One byte at a time, for ever. */
  | { kind: 'drip'; everyMs?: number }
  /** As fast as it is read, for ever or up to that size. */
  | { kind: 'endless-body'; bytes?: number }
  | { kind: 'long-sse-line'; bytes?: number }
  /** Compressed without being asked; `expandsTo` pads it with spaces to a bomb. */
  | { kind: 'gzip'; expandsTo?: number }
  | { kind: 'stacked-encodings'; layers?: number }
  | { kind: 'two-responses' }
  | { kind: 'html' };

export type Behaviour = PortBehaviour | EarlyBehaviour | AnswerBehaviour;

/** The faults by name, each with its defaults, for suites that go through all of them. (A name that DNS does not know needs no upstream.) */
export const upstreamFaults = {
  'refuses the connection': { kind: 'refused' },
  'never accepts the connection': { kind: 'full-backlog' },
  'resets before the headers': { kind: 'reset' },
  'closes before the headers': { kind: 'fin' },
  'never answers': { kind: 'hang' },
  'speaks no HTTP': { kind: 'not-http' },
  'sends a header of 1 MB': { kind: 'header-bomb' },
  'sends 20,000 headers': { kind: 'many-headers' },
  'sends 2,000 informational responses': { kind: 'informational-flood' },
  'sends two Content-Lengths': { kind: 'two-content-lengths' },
  'sends Content-Length with Transfer-Encoding': { kind: 'cl-and-te' },
  'sends less than its Content-Length': { kind: 'short-body' },
  'closes inside a chunk': { kind: 'cut-chunk' },
  'resets inside a chunk': { kind: 'reset-in-chunk' },
  'sends a bad chunk size': { kind: 'bad-chunk-size' },
  'cuts a body that ends with the connection': { kind: 'eof-cut' },
  'stalls in the middle': { kind: 'stall' },
  'drips for ever': { kind: 'drip' },
  'never ends its body': { kind: 'endless-body' },
  'sends an event line of 100 MB': { kind: 'long-sse-line' },
  'sends a gzip bomb': { kind: 'gzip', expandsTo: 64 << 20 },
  'stacks six encodings': { kind: 'stacked-encodings' },
  'answers 101': { kind: 'odd-status', status: '101' },
  'answers 099': { kind: 'odd-status', status: '099' },
  'answers 999': { kind: 'odd-status', status: '999' },
  'answers 204 with a body': { kind: 'odd-status', status: '204' },
  'answers twice': { kind: 'two-responses' },
  'redirects elsewhere': { kind: 'redirect', location: 'http://127.0.0.1:9/elsewhere' },
  'answers 200 with HTML': { kind: 'html' },
} as const satisfies Record<string, Behaviour>;

/** The bytes, pauses and endings of a behaviour for this request. Sets the entry's `usage`. */
export function stepsOf(behaviour: Behaviour, entry: Entry, models: readonly string[]): Iterable<Step> {
  // Nothing to think up: a believable answer to a million inputs takes seconds.
  if (behaviour.kind === 'json') {
    return fixed(behaviour.status ?? 200, [json, ...(behaviour.headers ?? [])], behaviour.body);
  }
  const answer = believableAnswer(entry, models, behaviour.kind === 'openai' ? behaviour : {});
  entry.usage = answer.usage;
  const whole = answer.chunks.join('');
  const pieces = answer.streaming ? answer.chunks : quarters(whole);
  const chunked: Field[] = [...answer.headers, ['transfer-encoding', 'chunked']];
  /** The head, and the first pieces whole. */
  const begin = (after = 2) => [head(200, chunked), ...pieces.slice(0, after).map(chunk)];
  const follow = (next: Behaviour = { kind: 'openai' }) => stepsOf(next, entry, models);

  switch (behaviour.kind) {
    case 'openai':
      return send(answer, behaviour.pauseMs);
    case 'sse':
      return stream(behaviour.chunks, behaviour.framing ?? 'chunked', behaviour.status ?? 200, [
        eventStream,
        ...(behaviour.headers ?? []),
      ]);
    case 'error': {
      const retry: Field[] = behaviour.retryAfter === undefined ? [] : [['retry-after', behaviour.retryAfter]];
      entry.usage = undefined;
      return send(failure(entry, behaviour.status, behaviour.message, retry));
    }
    case 'hold':
      return chain([behaviour.gate], follow(behaviour.next));
    case 'delay':
      return chain([pause(behaviour.ms)], follow(behaviour.next));
    case 'early':
    case 'stop-reading':
      return follow(behaviour.next);
    case 'raw':
      return behaviour.steps;

    case 'refused':
    case 'full-backlog':
    case 'reset':
      return [rst];
    case 'fin':
      return [fin];
    case 'hang':
      return [silence];
    case 'not-http':
      return ['SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n', fin];

    case 'header-bomb':
      return fixed(200, [...answer.headers, ['x-bomb', 'b'.repeat(behaviour.bytes ?? 1 << 20)]], whole);
    case 'many-headers': {
      const many = Array.from({ length: behaviour.count ?? 20_000 }, (_, index): Field => [`x-many-${index}`, 'v']);
      return fixed(200, [...answer.headers, ...many], whole);
    }
    case 'informational-flood': {
      const hint = head(103, [['link', '</style.css>; rel=preload']]);
      return chain(
        Array.from({ length: behaviour.count ?? 2000 }, () => hint),
        send(answer),
      );
    }
    case 'two-content-lengths': {
      const [right, wrong] = [`${Buffer.byteLength(whole)}`, `${Buffer.byteLength(whole) - 1}`];
      return [head(200, [...answer.headers, ['content-length', right], ['content-length', wrong]]), whole];
    }
    case 'cl-and-te':
      return [head(200, [...chunked, ['content-length', '5']]), chunk(whole), lastChunk];
    case 'odd-status':
      return fixed(behaviour.status, behaviour.status === '101' ? upgrade : answer.headers, whole);
    case 'redirect':
      return fixed(behaviour.status ?? 307, [['location', behaviour.location]], 'Moved');

    case 'short-body': {
      const length = Buffer.byteLength(whole) + (behaviour.missingBytes ?? 10);
      return [head(200, [...answer.headers, ['content-length', `${length}`]]), whole, fin];
    }
    case 'cut-chunk':
    case 'reset-in-chunk':
      return [
        ...begin(behaviour.after),
        `ffff\r\n${pieces[behaviour.after ?? 2] ?? ''}`,
        behaviour.kind === 'cut-chunk' ? fin : rst,
      ];
    case 'bad-chunk-size':
      return [...begin(behaviour.after), `xyz\r\n${whole}\r\n`, lastChunk];
    case 'eof-cut':
      return [head(200, [...answer.headers, ['connection', 'close']]), ...pieces.slice(0, behaviour.after ?? 2), fin];
    case 'stall':
      return [...begin(behaviour.after), silence];
    case 'drip':
      return chain([head(200, chunked)], drip(whole, answer.streaming ? ': drip\n' : ' ', behaviour.everyMs ?? 10));
    case 'endless-body': {
      const block = answer.streaming ? (pieces[1] ?? '').repeat(256) : ' '.repeat(65_536);
      const times = Math.ceil((behaviour.bytes ?? Number.POSITIVE_INFINITY) / block.length);
      return chain([head(200, chunked)], repeat(chunk(block), times), [lastChunk]);
    }
    case 'long-sse-line': {
      const bytes = behaviour.bytes ?? 100_000_000;
      return chain(
        [head(200, [eventStream, ['transfer-encoding', 'chunked']]), chunk('data: ')],
        repeat(chunk('x'.repeat(65_536)), Math.floor(bytes / 65_536)),
        [chunk(`${'x'.repeat(bytes % 65_536)}\n\n`), chunk('data: [DONE]\n\n'), lastChunk],
      );
    }
    case 'gzip':
      return fixed(
        200,
        [...answer.headers, ['content-encoding', 'gzip']],
        gzipSync(whole.padEnd(behaviour.expandsTo ?? 0)),
      );
    case 'stacked-encodings': {
      const layers = Array.from({ length: behaviour.layers ?? 6 }, () => 'gzip');
      const body = layers.reduce<Buffer>((inner) => gzipSync(inner), Buffer.from(whole));
      return fixed(200, [...answer.headers, ['content-encoding', layers.join(', ')]], body);
    }
    case 'two-responses':
      return chain(fixed(200, answer.headers, whole), fixed(200, [json], '{"smuggled":true}'));
    case 'html':
      return fixed(200, [['content-type', 'text/html']], '<!doctype html><title>Welcome</title><h1>It works!</h1>\n');
  }
  throw new Error(`unknown behaviour ${JSON.stringify(behaviour satisfies never)}`);
}

const json: Field = ['content-type', 'application/json'];
const eventStream: Field = ['content-type', 'text/event-stream; charset=utf-8'];
const upgrade: Field[] = [
  ['connection', 'upgrade'],
  ['upgrade', 'websocket'],
];
const lastChunk = '0\r\n\r\n';

function send(answer: Answer, pauseMs?: number): Iterable<Step> {
  if (!answer.streaming) return fixed(answer.status, answer.headers, answer.chunks.join(''));
  const paced = pauseMs === undefined ? answer.chunks : answer.chunks.flatMap((piece) => [piece, pauseMs]);
  return stream(paced, 'chunked', answer.status, answer.headers);
}

/** A whole response with a Content-Length, head and body in one write. */
function fixed(status: number | string, headers: Field[], body: string | Uint8Array | object): Step[] {
  const bytes = toBytes(body);
  return [Buffer.concat([Buffer.from(head(status, [...headers, ['content-length', `${bytes.length}`]])), bytes])];
}

function* stream(
  chunks: Iterable<Step | number>,
  framing: 'chunked' | 'eof',
  status: number,
  headers: Field[],
): Generator<Step> {
  yield head(status, [...headers, framing === 'chunked' ? ['transfer-encoding', 'chunked'] : ['connection', 'close']]);
  for (const step of chunks) {
    if (typeof step === 'number') yield pause(step);
    else if (typeof step === 'string' || step instanceof Uint8Array) yield framing === 'chunked' ? chunk(step) : step;
    else yield step;
  }
  yield framing === 'chunked' ? lastChunk : fin;
}

function* drip(text: string, filler: string, everyMs: number): Generator<Step> {
  for (let rest = text; ; rest = filler) {
    for (const byte of rest) {
      yield chunk(byte);
      yield pause(everyMs);
    }
  }
}

function* repeat(step: Step, times: number): Generator<Step> {
  for (let count = 0; count < times; count += 1) yield step;
}

function* chain(...parts: Iterable<Step>[]): Generator<Step> {
  for (const part of parts) yield* part;
}

function head(status: number | string, headers: readonly Field[]): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Odd'}\r\n${lines}\r\n`;
}

function chunk(bytes: string | Uint8Array): Buffer {
  const body = toBytes(bytes);
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n')]);
}

function toBytes(body: string | Uint8Array | object): Uint8Array {
  if (body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

function quarters(text: string): string[] {
  const size = Math.ceil(text.length / 4);
  return [0, 1, 2, 3].map((index) => text.slice(index * size, (index + 1) * size));
}
