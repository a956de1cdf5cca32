// Asks a target for a session: what is sent in the handshake, and what an answer means that is none.
import { addForwarded } from '../call/forwarded-headers.ts';
import type { Exchange } from '../http/exchange.ts';
import type { WebSocketConnection } from '../http/web-socket.ts';
import { failureRefusal, invalid, wholeRejection } from '../providers/provider-error.ts';
import type { TargetSpeech } from '../providers/target-speeches.ts';
import type { Telemetry } from '../records/spans/telemetry.ts';
import type { Target } from '../snapshot/snapshot.ts';
import { noHead } from '../upstream/answer-head.ts';
import type { ApiKey } from '../upstream/api-keys.ts';
import { dialWebSocket } from '../upstream/dial/dial-web-socket.ts';
import type { Pools } from '../upstream/pools.ts';
import type { Reply } from './ask-targets.ts';

/** The request that every target of a session gets. */
export interface SessionWish {
  readonly exchange: Pick<Exchange, 'id' | 'request' | 'trace'>;
  /** Members of the client's query besides the model. */
  readonly query: URLSearchParams;
  readonly frameLimitBytes: number;
  readonly gone: AbortSignal;
}

interface DialParts {
  readonly pools: Pools;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
  readonly telemetry: Telemetry | undefined;
}

/** Headers of calls with a body of JSON. */
const framing: ReadonlySet<string> = new Set(['accept-encoding', 'content-type']);

/** Never rejects. */
export async function dialTarget(
  target: Target,
  key: ApiKey,
  wish: SessionWish,
  { pools, nowMs, telemetry }: DialParts,
): Promise<Reply<WebSocketConnection>> {
  const { upstream, model } = target;
  const speech = realtimeSpeech(target);
  const headers = realtimeHeaders(target, key, wish.exchange);
  const spanId = telemetry?.propagate(wish.exchange, headers);
  const handshake = {
    path: realtimePath(speech, '', [['model', model], ...wish.query]),
    headers,
    frameLimitBytes: wish.frameLimitBytes,
    firstByteMs: upstream.patience.firstByteMs,
  };
  const { switched, answer, failure } = await dialWebSocket(pools.get(upstream), handshake, wish.gone);
  if (switched !== undefined) return { status: 101, head: switched.head, spanId, value: switched.connection };
  if (failure !== undefined) {
    return { status: 0, head: noHead, spanId, refused: failureRefusal(failure, upstream, noHead), failure };
  }
  const { status, head } = answer;
  const refused =
    wholeRejection(answer, speech.speaker, nowMs) ?? invalid(answer, upstream, `its status is ${status}, not 101`);
  return { status, head, spanId, refused, failure: undefined };
}

/** How the target is asked; only targets that have it are. */
export function realtimeSpeech({ speeches }: Target): TargetSpeech {
  if (speeches.realtime === undefined) throw new Error('a target was to be asked for realtime, which it has not');
  return speeches.realtime;
}

/** The path of something of realtime (`''`: of a session), with these members of the query besides the provider's own. */
export function realtimePath({ path }: TargetSpeech, below: string, query: readonly (readonly string[])[]): string {
  const [own = '', ownQuery = ''] = path.split('?');
  const members = new URLSearchParams(ownQuery);
  for (const [name = '', value = ''] of query)
    if (!new URLSearchParams(ownQuery).has(name)) members.append(name, value);
  const text = members.toString();
  return own + below + (text === '' ? '' : `?${text}`);
}

/** Names and values in turn: the provider's key, what is configured, and what may be passed on of the client's own. */
export function realtimeHeaders(
  { upstream, speeches }: Target,
  key: ApiKey,
  { id, request }: SessionWish['exchange'],
): string[] {
  const headers = [...(speeches.realtime?.headers ?? []), 'x-request-id', id];
  for (let index = 0; index < key.headers.length; index += 2) {
    const name = key.headers[index] as string;
    if (!framing.has(name.toLowerCase())) headers.push(name, key.headers[index + 1] as string);
  }
  if (upstream.forwarded !== undefined) addForwarded(headers, request.rawHeaders, upstream.forwarded);
  return headers;
}
