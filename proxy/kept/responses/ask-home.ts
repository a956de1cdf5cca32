// Asks the provider that keeps a response for it, with the API key that it belongs to.
import { addForwarded } from '../../call/forwarded-headers.ts';
import { bodyWithoutSecrets } from '../../dialects/stream-secrets.ts';
import { requestHeaders } from '../../providers/key-headers.ts';
import { failureRefusal, wholeRejection } from '../../providers/provider-error.ts';
import type { TargetSpeech } from '../../providers/target-speeches.ts';
import { providerHeaders } from '../../providers/upstream-id.ts';
import { type ClientRequest, upstreamFor } from '../../snapshot/client-credential.ts';
import type { Snapshot, Upstream } from '../../snapshot/snapshot.ts';
import { noHead } from '../../upstream/answer-head.ts';
import type { ApiKey } from '../../upstream/api-keys.ts';
import type { Deadlines } from '../../upstream/deadlines.ts';
import type { Pools } from '../../upstream/pools.ts';
import { readWhole } from '../../upstream/read-whole.ts';
import type { ResponseHome } from '../kept-responses.ts';

/** The longest answer: a response may hold pictures. Bytes. */
const mostBytes = 16 * 1024 * 1024;

export interface HomeQuestion {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Behind the path of the endpoint: `/resp_1/cancel`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly requestId: string;
  /** Of its headers, those that the provider is configured to get are passed on. */
  readonly exchange: ClientRequest['exchange'];
}

export interface HomeParts {
  readonly snapshot: ClientRequest['snapshot'] & Pick<Snapshot, 'upstreams'>;
  readonly pools: Pick<Pools, 'get'>;
  readonly deadlines: Deadlines;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
}

export interface HomeAnswer {
  readonly status: number;
  /** JSON. */
  readonly body: Buffer;
  /** The headers of the provider that the client gets, by name. */
  readonly told: Readonly<Record<string, string>>;
}

/**
 * Undefined: the provider is no longer configured, or has no such endpoint any more. Rejects with the Refusal of an answer that is an
 * error or cannot be used, as for model requests. A provider that is taken out is asked all the same: it gets nothing new. Where the key is
 * no longer configured, the next one of the provider is taken: keys of one account know the same responses. Throws 401
 * `client_credential_missing` where it is asked with the credential of the client, and the request has none.
 */
export async function askHome(
  home: ResponseHome,
  question: HomeQuestion,
  { snapshot, pools, deadlines, nowMs }: HomeParts,
): Promise<HomeAnswer | undefined> {
  const known = snapshot.upstreams.find(({ name }) => name === home.provider);
  const upstream = known && upstreamFor(known, { exchange: question.exchange, snapshot });
  const speech = upstream?.speechesOf('').responses;
  if (upstream === undefined || speech === undefined || speech.translation !== undefined) return undefined;
  const { credentials, secrets, patience } = upstream;
  const key = credentials.marked(home.key) ?? credentials.pick(nowMs());
  const { method } = question;
  const path = pathOf(speech.path, question);
  const asked = { method, path, headers: headersOf(upstream, speech, key, question), mostBytes };
  const answer = await readWhole(pools.get(upstream), asked, patience, deadlines);
  if (answer.failure !== undefined) throw failureRefusal(answer, upstream, noHead);
  const { status, head, body } = answer;
  credentials.answered(key, status, head, nowMs());
  const rejected = wholeRejection(answer, speech.speaker, nowMs);
  if (rejected !== undefined) throw rejected;
  return { status, body: bodyWithoutSecrets(body, secrets), told: providerHeaders(head, upstream) };
}

function pathOf(endpoint: string, { path, query }: HomeQuestion): string {
  const [top = '', ownQuery = ''] = endpoint.split('?');
  const parameters = [ownQuery, query.toString()].filter((text) => text !== '');
  return top + path + (parameters.length === 0 ? '' : `?${parameters.join('&')}`);
}

function headersOf(
  { headers: further, forwarded }: Upstream,
  { keyStyle, headers: given }: TargetSpeech,
  key: ApiKey,
  { requestId, exchange }: HomeQuestion,
): string[] {
  const isUsual = keyStyle === undefined || key.style !== undefined;
  const ofKey = isUsual ? key.headers : requestHeaders(keyStyle, key.secret, further);
  const headers = [...ofKey, ...given, 'x-request-id', requestId];
  if (forwarded !== undefined) addForwarded(headers, exchange.request.rawHeaders, forwarded);
  return headers;
}
