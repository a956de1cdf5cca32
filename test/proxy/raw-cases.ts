// Runs byte-level cases against one real proxy: what it must refuse, and what it must hand on untouched.
import { isDeepStrictEqual } from 'node:util';
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
  const failures = gateway.process.logs().filter((line) => line['level'] === 'error' || line['level'] === 'fatal');
  t.same(failures, [], 'no failure inside');
  t.same(gateway.process.stderr, [], 'nothing on stderr');
  t.ok(gateway.process.running, 'the proxy still runs');
  t.same(upstream.malformed, [], 'the provider saw only well-formed requests');
  const unnamed = upstream.ledger.filter((entry) => entry.header('authorization') !== `Bearer ${providerKey}`);
  t.same(unnamed, [], 'each with the key of the provider');
}

/** Sends each case and checks the whole refusal. Cases that must close the connection have one each; the others share one. */
export async function refuses(t: Test, stand: Stand, cases: readonly RefusedCase[]): Promise<void> {
  const wrong: string[] = [];
  for (const each of cases.filter(({ keeps }) => !keeps)) {
    wrong.push(...(await faultsOfClosing(stand, each)).map((fault) => `${each.name}: ${fault}`));
  }
  const keeping = cases.filter(({ keeps }) => keeps);
  const seen = traffic(stand.upstream);
  const check = (each: RefusedCase, response: RawResponse | undefined) => [
    ...refusalFaults(response, each),
    ...trafficFaults(stand, seen),
  ];
  wrong.push(...(await faultsOfSeries(t, stand, keeping, check)));
  t.same(wrong, [], `of ${cases.length} requests each is refused as it should be`);
}

/** Sends the cases on one connection; the provider must get each of them, byte for byte. */
export async function accepts(t: Test, stand: Stand, cases: readonly AcceptedCase[]): Promise<void> {
  const { ledger } = stand.upstream;
  let calls = ledger.length;
  const wrong = await faultsOfSeries(t, stand, cases, ({ forwarded }, response) => {
    const faults = response?.status === 200 ? [] : [`answered ${response?.status} ${response?.text()}`];
    const entry = ledger[calls];
    calls += forwarded === undefined ? 0 : 1;
    if (ledger.length !== calls) faults.push(`the provider saw ${ledger.length} calls in place of ${calls}`);
    calls = ledger.length;
    if (forwarded === undefined) return faults;
    const { body = Buffer.alloc(0), trailers = [] } = entry ?? {};
    if (!body.equals(join(forwarded))) faults.push(`forwarded as ${show(body)}`);
    if (trailers.length > 0) faults.push(`forwarded with the trailers ${JSON.stringify(trailers)}`);
    return faults;
  });
  t.same(wrong, [], `of ${cases.length} requests each is accepted`);
}

/** Sends the requests one after the other on one connection, which must stay open: each is the next request of the one before. */
async function faultsOfSeries<Case extends { readonly name: string; readonly send: Bytes | readonly Step[] }>(
  t: Test,
  stand: Stand,
  cases: readonly Case[],
  check: (each: Case, response: RawResponse | undefined) => string[],
): Promise<string[]> {
  if (cases.length === 0) return [];
  const wrong: string[] = [];
  let connection = await openRaw(stand.gateway.port, { t });
  let answers = 0;
  for (const each of cases) {
    const response = await converse(connection, each.send, answers + 1);
    answers += 1;
    const faults = check(each, response);
    const { responses, closedByServer } = connection.exchange();
    if (responses.length !== answers)
      faults.push(`${responses.length} answers to ${answers} requests on the connection`);
    const isOver = response === undefined || closedByServer || response.header('connection') === 'close';
    if (isOver) faults.push('the connection does not stay open');
    if (isOver || responses.length !== answers) {
      connection.close();
      connection = await openRaw(stand.gateway.port, { t });
      answers = 0;
    }
    wrong.push(...faults.map((fault) => `${each.name}: ${fault}`));
  }
  wrong.push(...(await faultsOfNext(connection, answers + 1)).map((fault) => `behind ${cases.at(-1)?.name}: ${fault}`));
  connection.close();
  return wrong;
}

/** A refusal that closes the connection, although a valid call follows at once. */
async function faultsOfClosing(stand: Stand, expected: RefusedCase): Promise<string[]> {
  const { gateway, upstream } = stand;
  const seen = traffic(upstream);
  const { send } = expected;
  const steps = typeof send === 'string' || Buffer.isBuffer(send) ? [join(send, chatCall())] : send;
  const { responses, rest, closedByServer } = await rawRequest(gateway.port, steps, {
    until: 'close',
    deadlineMs: 1500,
  });
  return faultsOf([
    [responses.length === 1, `${responses.length} answers`],
    [rest.length === 0, `behind the answer comes ${show(rest)}`],
    [closedByServer, 'the connection stays open'],
  ]).concat(refusalFaults(responses[0], expected), trafficFaults(stand, seen));
}

function trafficFaults({ upstream }: Stand, before: ReturnType<typeof traffic>): string[] {
  const { calls, bytes } = traffic(upstream);
  return calls === before.calls && bytes === before.bytes ? [] : ['the provider heard of it'];
}

/** Of checks that came out wrong, what they say. */
function faultsOf(checks: readonly (readonly [isRight: boolean, fault: string])[]): string[] {
  return checks.filter(([isRight]) => !isRight).map(([, fault]) => fault);
}

/** What is wrong with a refusal: its status, its envelope, its headers. */
export function refusalFaults(response: RawResponse | undefined, expected: Refusal): string[] {
  const { status, code, param = null, type = typeOf[status] ?? 'invalid_request_error' } = expected;
  if (!response) return ['no answer'];
  const message = messageOf(response);
  const envelope = { error: { code, message, param, type } };
  return faultsOf([
    [response.status === status, `status ${response.status} instead of ${status} (${message ?? response.text()})`],
    [/^application\/json(;|$)/.test(response.header('content-type') ?? ''), 'it is not announced as JSON'],
    [/^[A-Za-z0-9._-]{1,128}$/.test(response.header('x-request-id') ?? ''), 'it has no request id'],
    [response.complete, 'it is not complete'],
    [isDeepStrictEqual(parsed(response), envelope), `${response.text()} instead of ${JSON.stringify(envelope)}`],
    [/^[\P{C}]{10,1000}$/u.test(message ?? ''), `the message for people is ${JSON.stringify(message)}`],
    [!/sk-test|node:|\.ts\b|HPE_|ERR_/.test(response.text()), `it gives something away: ${response.text()}`],
  ]);
}

/** Checks every part of a refusal: status, envelope, headers. */
export function checkRefusal(t: Test, response: RawResponse | undefined, expected: Refusal): void {
  t.same(refusalFaults(response, expected), [], `refused with ${expected.status} ${expected.code}`);
}

/** The connection must serve another request as its `count`th answer. */
export async function checkNext(t: Test, connection: RawConnection, count: number): Promise<void> {
  t.same(await faultsOfNext(connection, count), [], 'the next request on the connection works');
}

async function faultsOfNext(connection: RawConnection, count: number): Promise<string[]> {
  const next = await converse(connection, head('GET /health HTTP/1.1', host), count);
  const { responses } = connection.exchange();
  return faultsOf([
    [
      next?.status === 200 && next.text() === '{"status":"ok"}',
      `the next request gets ${next?.status} ${next?.text()}`,
    ],
    [responses.length === count, `${responses.length} answers to ${count} requests on the connection`],
  ]);
}

/** Sends the requests one after the other on one connection that stays open, and gives the answer to each. */
export async function converseAll(
  t: Test,
  { gateway }: Stand,
  requests: readonly Bytes[],
): Promise<(RawResponse | undefined)[]> {
  const connection = await openRaw(gateway.port, { t });
  const answers: (RawResponse | undefined)[] = [];
  for (const [index, each] of requests.entries()) answers.push(await converse(connection, each, index + 1));
  connection.close();
  return answers;
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

/** How long the proxy's event loop stood still, at most, while `work` went on. Milliseconds, to about 20. */
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
