// Runs byte-level cases against one real proxy: what it must refuse, and what it must hand on untouched.
import type { Test } from 'tap';
import { type FakeUpstream, startFakeUpstream } from '../support/fake-upstream.ts';
import { type Gateway, masterKey, providerKey, startGateway } from '../support/gateway.ts';
import { openRaw, type RawConnection, type RawResponse, rawRequest, type Step } from '../support/raw-http.ts';
import { waitFor } from '../support/wait-for.ts';

/** A proxy and the provider behind it, shared by the cases of a file. */
export interface Stand {
  readonly gateway: Gateway;
  readonly upstream: FakeUpstream;
}

export interface Refusal {
  readonly status: number;
  readonly code: string;
  /** Default null. */
  readonly param?: string;
  /** Default: what the status stands for. */
  readonly type?: string;
}

export interface RefusedCase extends Refusal {
  readonly name: string;
  /** Bytes: a valid call follows them at once, and must not be served. Steps: sent as they are. */
  readonly send: Bytes | readonly Step[];
  /** The connection must carry the next request; default: it must close. */
  readonly keeps?: boolean;
}

export interface AcceptedCase {
  readonly name: string;
  readonly send: Bytes;
  /** The body that the provider must see; undefined: none of its business. */
  readonly forwarded?: Bytes;
}

export type Bytes = string | Buffer;

export const host = 'Host: gateway.test';
export const authorization = `Authorization: Bearer ${masterKey}`;
export const jsonType = 'Content-Type: application/json';
export const chatLine = 'POST /v1/chat/completions HTTP/1.1';
export const chat = '{"model":"fake-small","messages":[{"role":"user","content":"hi"}]}';

const typeOf: Record<number, string> = { 401: 'authentication_error', 404: 'not_found_error' };

/** A request head: the line, the header lines, the blank line. */
export function head(line: string, ...headers: string[]): string {
  return `${[line, ...headers].join('\r\n')}\r\n\r\n`;
}

/** A request with a Content-Length, in the caller's own header lines. */
export function request(line: string, headers: readonly string[], body: Bytes = ''): Buffer {
  return join(head(line, ...headers, `Content-Length: ${Buffer.byteLength(body)}`), body);
}

/** A chat call that lacks nothing; `headers` come on top. */
export function chatCall(body: Bytes = chat, ...headers: string[]): Buffer {
  return request(chatLine, [host, authorization, jsonType, ...headers], body);
}

/** A GET with a key. */
export function get(target: string, ...headers: string[]): string {
  return head(`GET ${target} HTTP/1.1`, host, authorization, ...headers);
}

/** Text in UTF-8 and bytes, one after the other. */
export function join(...parts: readonly Bytes[]): Buffer {
  return Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));
}

/** The body as one chunk, and the last one. */
export function chunked(body: Bytes, trailers = ''): Buffer {
  return join(`${Buffer.byteLength(body).toString(16)}\r\n`, body, `\r\n0\r\n${trailers}\r\n`);
}

/** Starts the pair. At the end of the test nothing may be left over from its cases: no open call, no unexpected failure. */
export async function startStand(
  t: Test,
  server: object,
  env: Record<string, string | undefined> = {},
): Promise<Stand> {
  const upstream = await startFakeUpstream({ t });
  const gateway = await startGateway(t, { upstream, env, config: { server: { shutdown_grace: '100ms', ...server } } });
  return { gateway, upstream };
}

/** What must hold after all cases of a stand, whatever they were. */
export async function checkStand(t: Test, { gateway, upstream }: Stand): Promise<void> {
  await waitFor(
    'every request to be settled',
    async () => (await gateway.metric('gateway_requests_in_flight')) === 0,
  ).catch((error: Error) => t.fail(error.message));
  const failures = gateway.process.logs().filter((line) => Number(line['level']) >= 50);
  t.same(failures, [], 'no failure inside');
  t.same(gateway.process.stderr, [], 'nothing on stderr');
  t.ok(gateway.process.running, 'the proxy still runs');
  t.same(upstream.malformed, [], 'the provider saw only well-formed requests');
  const unnamed = upstream.ledger.filter((entry) => entry.header('authorization') !== `Bearer ${providerKey}`);
  t.same(unnamed, [], 'each with the key of the provider');
}

/** Sends each case on a connection of its own and checks the whole refusal. */
export async function refuses(t: Test, stand: Stand, cases: readonly RefusedCase[]): Promise<void> {
  for (const each of cases) await t.test(each.name, (inner) => refusesOne(inner, stand, each));
}

/** Sends each case on a connection of its own; the provider must get it, byte for byte, and the connection must go on. */
export async function accepts(t: Test, stand: Stand, cases: readonly AcceptedCase[]): Promise<void> {
  for (const each of cases) await t.test(each.name, (inner) => acceptsOne(inner, stand, each));
}

async function refusesOne(t: Test, { gateway, upstream }: Stand, expected: RefusedCase): Promise<void> {
  const seen = traffic(upstream);
  const { send } = expected;
  if (expected.keeps) {
    const connection = await openRaw(gateway.port, { t });
    const response = await converse(connection, send, 1);
    checkRefusal(t, response, expected);
    await checkNext(t, connection, 2);
  } else {
    const steps = typeof send === 'string' || Buffer.isBuffer(send) ? [join(send, chatCall())] : send;
    const { responses, rest, closedByServer } = await rawRequest(gateway.port, steps, {
      until: 'close',
      deadlineMs: 1500,
    });
    t.equal(responses.length, 1, 'one answer');
    checkRefusal(t, responses[0], expected);
    t.equal(rest.toString(), '', 'and nothing after it');
    t.ok(closedByServer, 'the connection is closed');
  }
  t.same(traffic(upstream), seen, 'the provider saw nothing');
  t.end();
}

async function acceptsOne(t: Test, { gateway, upstream }: Stand, { send, forwarded }: AcceptedCase): Promise<void> {
  const before = upstream.ledger.length;
  const connection = await openRaw(gateway.port, { t });
  const response = await converse(connection, send, 1);
  t.equal(response?.status, 200, response?.status === 200 ? 'accepted' : (response?.text() ?? 'no answer'));
  if (forwarded !== undefined) {
    t.equal(upstream.ledger.length, before + 1, 'one call upstream');
    const { body = Buffer.alloc(0), trailers } = upstream.ledger[before] ?? {};
    t.ok(body.equals(join(forwarded)), `forwarded unchanged (${show(body)})`);
    t.same(trailers, []);
  }
  await checkNext(t, connection, 2);
  t.end();
}

/** Checks every part of a refusal: status, envelope, headers. */
export function checkRefusal(t: Test, response: RawResponse | undefined, expected: Refusal): void {
  const { status, code, param = null, type = typeOf[status] ?? 'invalid_request_error' } = expected;
  if (!response) {
    t.fail('no answer');
    return;
  }
  const message = messageOf(response);
  t.equal(response.status, status, `status ${status} (${message ?? response.text()})`);
  t.match(response.header('content-type'), /^application\/json(;|$)/);
  t.match(response.header('x-request-id'), /^[A-Za-z0-9._-]{1,128}$/);
  t.ok(response.complete, 'whole');
  t.strictSame(parsed(response), { error: { code, message, param, type } }, 'exactly the envelope');
  t.match(message, /^[\P{C}]{10,1000}$/u, 'a message for people');
  t.notMatch(response.text(), /sk-test|node:|\.ts\b|HPE_|ERR_/, 'that gives nothing away');
}

/** The connection must serve another request as its `count`th answer. */
export async function checkNext(t: Test, connection: RawConnection, count: number): Promise<void> {
  const next = await converse(connection, head('GET /health HTTP/1.1', host), count);
  t.equal(next?.status, 200, 'the next request on the connection works');
  t.same(next?.json(), { status: 'ok' });
  t.equal(connection.exchange().responses.length, count, 'each request has one answer');
}

/** Sends and waits for the `count`th complete final answer of the connection. */
export async function converse(
  connection: RawConnection,
  send: Bytes | readonly Step[],
  count: number,
): Promise<RawResponse | undefined> {
  const finals = () => connection.exchange().responses.filter((each) => each.status >= 200 && each.complete);
  const steps = typeof send === 'string' || Buffer.isBuffer(send) ? [send] : send;
  const sent = connection.send(...steps);
  await connection
    .waitFor((exchange) => finals().length >= count || exchange.closedByServer, 6000)
    .catch(() => undefined);
  if (finals().length < count) connection.close();
  await sent;
  return finals()[count - 1];
}

/** How long the proxy's event loop stood still, at most, while `work` went on. Milliseconds, to about 10. */
export async function stallDuring({ gateway }: Stand, work: () => Promise<unknown>): Promise<number> {
  // Reading the metric starts a new measurement.
  await gateway.metrics();
  await work();
  const seconds = await gateway.metric('nodejs_eventloop_lag_max_seconds');
  return Math.round((seconds ?? Number.POSITIVE_INFINITY) * 1000);
}

/** Everything the provider has noticed so far. */
export function traffic({ ledger, connections }: FakeUpstream): { calls: number; bytes: number } {
  return {
    calls: ledger.length,
    bytes: connections.reduce((sum, connection) => sum + connection.bytesReceived, 0),
  };
}

function messageOf(response: RawResponse): string | undefined {
  const { error } = (parsed(response) ?? {}) as { error?: { message?: unknown } };
  return typeof error?.message === 'string' ? error.message : undefined;
}

function parsed(response: RawResponse): unknown {
  try {
    return response.json();
  } catch {
    return undefined;
  }
}

function show(body: Buffer): string {
  return body.length > 200 ? `${body.length} bytes` : body.toString('latin1');
}
