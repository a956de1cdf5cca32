// Calls of a provider that misbehaves, and what a client gets for each fault; for the upstream tests.
import type { upstreamFaults } from '../support/fake-upstream.ts';
import type { Gateway } from '../support/gateway.ts';

const keptBytes = 65_536;

export interface Heard {
  status: number;
  /** About the first and the last 64 KiB. */
  start: string;
  end: string;
  bytes: number;
  /** The connection broke before the answer was complete. */
  isBroken: boolean;
  ms: number;
  retryAfter: string | null;
}

/** One call, however it ends; only a little of the body is kept. */
export async function call(through: Gateway, model: string, stream = false): Promise<Heard> {
  const startedAtMs = performance.now();
  const response = await through.fetch('/v1/chat/completions', {
    method: 'POST',
    body: { model, stream, messages: [{ role: 'user', content: 'hello' }] },
    signal: AbortSignal.timeout(15_000),
  });
  const retryAfter = response.headers.get('retry-after');
  const heard = { status: response.status, start: '', end: '', bytes: 0, isBroken: false, ms: 0, retryAfter };
  /** The last pieces: at least `endBytes`, and little more. */
  const last: Uint8Array[] = [];
  let lastBytes = 0;
  try {
    for await (const piece of response.body ?? []) {
      const bytes: Uint8Array = piece;
      heard.bytes += bytes.length;
      if (heard.start.length < keptBytes) heard.start += Buffer.from(bytes).toString('latin1');
      last.push(bytes);
      lastBytes += bytes.length;
      while (lastBytes - (last[0]?.length ?? 0) >= keptBytes) lastBytes -= last.shift()?.length ?? 0;
    }
  } catch (error) {
    if (error instanceof Error && error.name === 'TimeoutError') throw error;
    heard.isBroken = true;
  }
  heard.end = Buffer.concat(last).toString('latin1').slice(-keptBytes);
  heard.ms = performance.now() - startedAtMs;
  return heard;
}

export interface Envelope {
  code: string | null;
  message: string;
  param: string | null;
  type: string;
  provider?: string;
}

export function envelopeIn(text: string): Envelope {
  return (JSON.parse(text) as { error: Envelope }).error;
}

/** The error event that ends a broken stream; nothing when the stream does not end with one. */
export function lastError({ end }: Heard): Envelope | undefined {
  const [event] = /data: \{"error":.*\}\n\n$/.exec(end) ?? [];
  return event === undefined ? undefined : envelopeIn(event.slice('data: '.length));
}

export type Expected =
  /** An envelope with this status and code. */
  | readonly [status: number, code: string]
  /** The provider's answer, whole. */
  | 'whole'
  /** Relayed until it broke, and then the connection is broken, too. */
  | 'broken'
  /** 200, and an error event with this code instead of [DONE]. */
  | { endsWith: string };

export const unreachable = [502, 'upstream_unavailable'] as const;
const disconnected = [502, 'upstream_disconnected'] as const;
const invalid = [502, 'upstream_invalid_response'] as const;
export const late = [504, 'upstream_timeout'] as const;
const incomplete = { endsWith: 'stream_incomplete' };

/** For each fault what the client of a JSON call and of a stream gets. */
export const verdicts: Record<
  keyof typeof upstreamFaults,
  readonly [json: Expected, stream: Expected, model?: string]
> = {
  'refuses the connection': [unreachable, unreachable],
  'never accepts the connection': [unreachable, unreachable, 'patient/fake-small'],
  'resets before the headers': [disconnected, disconnected],
  'closes before the headers': [disconnected, disconnected],
  'never answers': [late, late],
  'speaks no HTTP': [invalid, invalid],
  'sends a header of 1 MB': [invalid, invalid],
  'sends 20,000 headers': [invalid, invalid],
  'sends 2,000 informational responses': [invalid, invalid],
  'sends two Content-Lengths': [invalid, invalid],
  'sends Content-Length with Transfer-Encoding': [invalid, invalid],
  'sends less than its Content-Length': [disconnected, incomplete],
  'closes inside a chunk': [disconnected, incomplete],
  'resets inside a chunk': [disconnected, incomplete],
  'sends a bad chunk size': [invalid, { endsWith: 'upstream_invalid_response' }],
  'cuts a body that ends with the connection': [invalid, incomplete],
  'stalls in the middle': [late, { endsWith: 'upstream_timeout' }],
  'drips for ever': [late, { endsWith: 'upstream_timeout' }, 'hurried/fake-small'],
  'never ends its body': ['broken', { endsWith: 'upstream_timeout' }, 'hurried/fake-small'],
  'sends an event line of 100 MB': ['whole', 'whole', 'patient/fake-small'],
  'sends a gzip bomb': ['whole', { endsWith: 'upstream_invalid_response' }, 'patient/fake-small'],
  'stacks six encodings': ['whole', invalid],
  'answers 101': [invalid, invalid],
  'answers 099': [invalid, invalid],
  'answers 999': [invalid, invalid],
  'answers 204 with a body': [invalid, invalid],
  'answers twice': ['whole', 'whole'],
  'redirects elsewhere': [invalid, invalid],
  'answers 200 with HTML': [invalid, invalid],
};
