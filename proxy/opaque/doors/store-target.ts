// How a provider is asked for files and batches: with a key that stays the same for each of them.
import { addForwarded } from '../../call/forwarded-headers.ts';
import { isNamed } from '../../call/head.ts';
import type { JsonObject } from '../../dialects/json/json.ts';
import { responseTap } from '../../kept/responses/response-tap.ts';
import { relayedOf } from '../../providers/dialects.ts';
import { type StorePlace, storePath } from '../../providers/paths.ts';
import type { StoreName } from '../../providers/row.ts';
import { SecretsTap } from '../../providers/secrets-tap.ts';
import type { Snapshot, Upstream } from '../../snapshot/snapshot.ts';
import type { ApiKey } from '../../upstream/api-keys.ts';
import type { OpaqueBody } from '../../upstream/send-opaque.ts';
import type { UpstreamAnswer } from '../../upstream/upstream-answer.ts';
import type { OpaqueTarget, Tapped } from '../door.ts';

/** A request to a provider that keeps objects. */
export interface StoreQuestion {
  readonly upstream: Upstream;
  readonly place: StorePlace;
  readonly store: StoreName;
  readonly key: ApiKey;
  /** Behind the path of the place. */
  readonly suffix: string;
  /** Of the client, names and values in turn. */
  readonly rawHeaders: readonly string[];
  readonly contentType?: string | undefined;
  readonly body: () => OpaqueBody;
}

/** The longest record of a file or batch that is read. Bytes. */
const mostRecordBytes = 4 * 1024 * 1024;
const versions = ['anthropic-version', 'anthropic-beta'];
const nothing: Buffer = Buffer.alloc(0);

/** A body that there is not. */
export const noBody = (): Buffer => nothing;

export function storeTarget(question: StoreQuestion): OpaqueTarget {
  const { upstream, place, store, key, suffix, contentType, body } = question;
  const { name, clientAuth, opaque, secrets } = upstream;
  const { readError } = relayedOf(store === 'message_batches' ? 'messages' : 'chat');
  const headers = storeHeaders(question);
  if (contentType !== undefined) headers.push('content-type', contentType);
  return {
    upstream,
    model: '',
    path: storePath(place, suffix),
    headers,
    keyStyle: opaque.keyStyle,
    key,
    speaker: { name, secrets, clientAuth, readError },
    body,
  };
}

/** Without the key and what the provider is configured to get. */
export function storeHeaders({
  upstream: { clientAuth, opaque, forwarded = [] },
  store,
  rawHeaders,
}: Pick<StoreQuestion, 'upstream' | 'store' | 'rawHeaders'>): string[] {
  const headers: string[] = [];
  // With the credential of a client, versions are there already.
  const passed =
    store === 'message_batches' && clientAuth !== 'given' ? [...versions, ...forwarded.filter(isNoVersion)] : forwarded;
  addForwarded(headers, rawHeaders, passed);
  for (let index = 0; index < opaque.headers.length; index += 2) {
    const [name = '', value = ''] = opaque.headers.slice(index, index + 2);
    if (!headers.some((sent, at) => at % 2 === 0 && isNamed(sent, name.toLowerCase()))) headers.push(name, value);
  }
  return headers;
}

/** Reads the record that an answer is, when the client's bytes are on their way. */
export function recordTaps({ secrets }: Upstream, answer: UpstreamAnswer, take: (record: JsonObject) => void): Tapped {
  const taker = { needsOnlyId: false, mostBytes: mostRecordBytes, take, lost: () => undefined };
  return { taps: [new SecretsTap(secrets, false), responseTap(answer, taker)], usage: undefined };
}

/** The providers that keep something, or those of them with this name or type. `named` undefined: those of which it is known, if there are any. */
export function keepersOf(store: StoreName, named: string | undefined, { upstreams }: Snapshot): Upstream[] {
  const keeping = upstreams.filter(({ stores }) => stores[store] !== undefined);
  if (named !== undefined) {
    const exact = keeping.filter(({ name }) => name === named);
    return exact.length > 0 ? exact : keeping.filter(({ type }) => type === named);
  }
  const known = keeping.filter(({ stores }) => stores[store]?.isAssumed === false);
  return known.length > 0 ? known : keeping;
}

function isNoVersion(name: string): boolean {
  return !versions.includes(name);
}
