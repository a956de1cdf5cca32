// Calls of a provider that misbehaves, and what a client gets for each fault; for the upstream tests.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createServer } from 'node:tls';
import type { Test } from 'tap';
import { certificate } from '../support/certificate.ts';
import { extent } from '../support/extent.ts';
import type { Behaviour, upstreamFaults } from '../support/fake-upstream.ts';
import { type Gateway, readMetric } from '../support/gateway.ts';
import { listen } from '../support/ports.ts';
import { type Teardown, temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

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
  'sends an event line of 100 MB': [invalid, 'whole', 'patient/fake-small'],
  'sends a gzip bomb': ['broken', { endsWith: 'upstream_invalid_response' }, 'patient/fake-small'],
  'stacks six encodings': [invalid, invalid],
  'answers 101': [invalid, invalid],
  'answers 099': [invalid, invalid],
  'answers 999': [invalid, invalid],
  'answers 204 with a body': [invalid, invalid],
  'answers twice': ['whole', 'whole'],
  'redirects elsewhere': [invalid, invalid],
  'answers 200 with HTML': [invalid, invalid],
};

/** The fault as it is played: a redirect leads to `elsewhere`, the long line has `lineBytes`; a short run has fewer bytes where they prove nothing more. */
export function sized(fault: Behaviour, lineBytes: number, elsewhere: string): Behaviour {
  if (fault.kind === 'redirect') return { ...fault, location: elsewhere };
  if (fault.kind === 'long-sse-line') return { ...fault, bytes: lineBytes };
  if (fault.kind === 'gzip') return { ...fault, expandsTo: extent(64, 16) * 2 ** 20 };
  return fault;
}

export interface FaultyCall {
  readonly provider: string;
  readonly behaviour: Behaviour;
}

/** The client of that provider has heard what it should. */
export function holds(t: Test, heard: Heard, expected: Expected, { provider, behaviour }: FaultyCall): void {
  if (Array.isArray(expected)) {
    const [status, code] = expected as readonly [number, string];
    t.equal(heard.status, status);
    const error = envelopeIn(heard.end);
    t.same(error, { code, message: error.message, param: null, type: 'provider_error', provider });
    t.match(error.message, /^(The provider|The TLS)/);
    t.notMatch(heard.end, /127\.0\.0\.1|localhost|ECONN|UND_ERR|HPE_|sk-/, 'no address, no inner code, no key');
    return;
  }
  t.equal(heard.status, 200);
  t.equal(heard.isBroken, expected === 'broken');
  if (typeof expected === 'object' && 'endsWith' in expected) {
    t.match(lastError(heard), { code: expected.endsWith, type: 'provider_error', param: null, provider });
    const before = heard.end.slice(0, heard.end.lastIndexOf('data: {"error"'));
    t.ok(before === '' || before.endsWith('\n\n'), 'as an event of its own');
    if (behaviour.kind !== 'short-body') t.notMatch(heard.end, /\[DONE\]/);
  }
  if (expected === 'whole') isWhole(t, heard, heard.start.startsWith('data: '));
  if (behaviour.kind === 'long-sse-line') t.ok(heard.bytes > (behaviour.bytes ?? 0), 'every byte of it');
}

export function isWhole(t: Test, { end }: Heard, isStream: boolean): void {
  t.match(end, isStream ? /data: \[DONE\]\n\n$/ : /"finish_reason":"stop".*\}$/);
}

/** A slot of its consumer and one of its provider for each request. */
export function slotRules(providers: readonly string[]): object {
  const limits = [{ period: 'concurrent', max_requests: 100 }];
  return { user_paths: [{ path: '/', limits }], providers: providers.map((name) => ({ name, limits })) };
}

/** Until no request is open, and no rule holds a slot (NaN: there is no rule), in one scrape. Gives that text of metrics. */
export function untilFree(gateway: Gateway): Promise<string> {
  return waitFor('no request in flight and no slot held', async () => {
    const text = await (await gateway.fetch('/metrics', { signal: AbortSignal.timeout(10_000) })).text();
    return readMetric(text, 'gateway_requests_in_flight') === 0 && slotsIn(text) === 0 && text;
  });
}

/** The slots that all rules hold. */
export function slotsIn(metrics: string): number {
  return readMetric(metrics, 'gateway_rate_limit_in_flight') ?? Number.NaN;
}

/** What that model of that provider has cost so far, prompt and completion. */
export function tokensIn(metrics: string, provider: string, model: string): number {
  return readMetric(metrics, 'gateway_tokens_total', { provider, model }) ?? 0;
}

/** A provider to which no connection comes about, and what is said of it. */
export interface Unreachable {
  /** As its provider is configured. */
  readonly place: { readonly base_url: string; readonly ca_file?: string };
  readonly code: string;
  readonly reason: RegExp;
}

/** A name that is not known, and TLS servers that prove nothing or speak a version of old. */
export async function startUnreachable(t: Teardown): Promise<Record<string, Unreachable>> {
  const directory = temporaryDirectory(t, 'authorities');
  const current = certificate(2000, 2100);
  const old = certificate(2000, 2001);
  const code = 'upstream_tls';
  const start = async (options: object): Promise<string> => {
    const server = createServer(options, (socket) => void socket.on('error', () => {}));
    server.on('tlsClientError', () => {});
    t.teardown(() => server.close());
    return `https://127.0.0.1:${await listen(server)}/v1`;
  };
  const trusted = (name: string, { cert }: { cert: string }): string => {
    const path = join(directory, `${name}.pem`);
    writeFileSync(path, cert);
    return path;
  };
  const oldVersion = { minVersion: 'TLSv1', maxVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' };
  return {
    'unknown-host': {
      place: { base_url: 'http://no-such-host.invalid/v1' },
      code: 'upstream_dns',
      reason: /host name/,
    },
    'self-signed': { place: { base_url: await start(current) }, code, reason: /is self-signed/ },
    'other-host': {
      place: { base_url: await start(current), ca_file: trusted('current', current) },
      code,
      reason: /is for another host/,
    },
    expired: { place: { base_url: await start(old), ca_file: trusted('old', old) }, code, reason: /has expired/ },
    'tls-1-0': {
      place: { base_url: await start({ ...current, ...oldVersion }) },
      code,
      reason: /the handshake failed/,
    },
  };
}
