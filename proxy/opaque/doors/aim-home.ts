// Aims later requests for a caller's file or batch: they go to the provider that keeps it, with the key that it belongs to.

import { pathOf } from '../../call/head.ts';
import { type JsonObject, numberOf, objectOf, textOf } from '../../dialects/json/json.ts';
import { refusal } from '../../errors.ts';
import type { BatchKind, KeptHome, KeptHomes } from '../../kept/objects/kept-homes.ts';
import { type OwningCaller, ownerOf } from '../../kept/owner.ts';
import type { StorePlace } from '../../providers/paths.ts';
import type { StoreName } from '../../providers/row.ts';
import { SecretsTap } from '../../providers/secrets-tap.ts';
import type { Snapshot, Upstream } from '../../snapshot/snapshot.ts';
import { chargeBatch, type ReadBatch } from '../../stages/charge/charge-batch.ts';
import { tokenUsageOf } from '../../tokens/token-usage.ts';
import type { ApiKey } from '../../upstream/api-keys.ts';
import type { Aim, DoorParts, Knock } from '../door.ts';
import { guardedResults } from '../guarded-results.ts';
import { BatchResultsTap } from '../usage/batch-results-tap.ts';
import { MessageBatchTap } from '../usage/message-batch-tap.ts';
import { noBody, recordTaps, storeTarget } from './store-target.ts';

/** How objects of a kind are kept under their ids. */
export interface KeptThing {
  readonly kind: 'file' | BatchKind;
  readonly store: StoreName;
  /** Its path here, up to the id. */
  readonly path: string;
  /** In messages. */
  readonly what: string;
}

export const keptThings = {
  file: { kind: 'file', store: 'files', path: '/v1/files', what: 'file' },
  batch: { kind: 'batch', store: 'batches', path: '/v1/batches', what: 'batch' },
  messageBatch: {
    kind: 'message_batch',
    store: 'message_batches',
    path: '/v1/messages/batches',
    what: 'batch of messages',
  },
} as const satisfies Record<string, KeptThing>;

/** Where a file or batch is kept. */
export interface Found {
  readonly upstream: Upstream;
  readonly place: StorePlace;
  readonly key: ApiKey;
  readonly home: KeptHome;
}

/** Rejects with 404 `kept_not_found` where the caller has none with this id, or its provider keeps nothing any more. */
export async function findKept(
  thing: KeptThing,
  id: string,
  { snapshot, principal }: { readonly snapshot: Snapshot; readonly principal: OwningCaller },
  { homes, nowMs }: { readonly homes: KeptHomes; readonly nowMs: () => number },
): Promise<Found> {
  const home = await homes.find(thing.kind, id, ownerOf(principal));
  const upstream = snapshot.upstreams.find(({ name }) => name === home?.provider);
  const place = upstream?.stores[thing.store];
  if (home === undefined || upstream === undefined || place === undefined) {
    throw refusal('kept_not_found', { fill: { what: thing.what, id } });
  }
  const { credentials } = upstream;
  return { upstream, place, home, key: credentials.marked(home.key) ?? credentials.pick(nowMs()) };
}

/** Gives the aim of a door. `action`: what stands behind the id, such as `/content`. */
export function aimHome(thing: KeptThing, action = ''): (knock: Knock, gateway: DoorParts) => Promise<Aim> {
  return async (knock, gateway) => {
    const { exchange, method, principal } = knock;
    const path = pathOf(exchange.request.url ?? '');
    const id = path.slice(thing.path.length + 1, path.length - action.length);
    const { upstream, place, key, home } = await findKept(thing, id, knock, gateway);
    const { rawHeaders } = exchange.request;
    const question = { upstream, place, store: thing.store, key, suffix: `/${id}${action}`, rawHeaders, body: noBody };
    const isContent = action === '/content' || action === '/results';
    return {
      targets: [{ ...storeTarget(question), isKeeper: true }],
      call: undefined,
      tap: (answer) => {
        const secrets = new SecretsTap(upstream.secrets, false);
        const batch = thing.kind === 'file' ? home.batch : id;
        const charge = (used: ReadBatch['used']): void => {
          if (batch === undefined || !knock.readsUsage) return;
          const kind = thing.kind === 'file' ? 'batch' : thing.kind;
          const read = { id: batch, kind, used, provider: upstream.name, status: answer.status };
          void chargeBatch({ ...read, path: `${thing.path}/:id${action}`, exchange, principal }, gateway);
        };
        const guarded = isContent
          ? guardedResults(answer, knock, (error) => gateway.reportFailure(error, exchange.id))
          : undefined;
        const told = guarded === undefined ? [] : [guarded.tap];
        if (isContent && batch !== undefined && answer.status === 200)
          return { taps: [new BatchResultsTap(charge), secrets, ...told], usage: undefined, answer: guarded?.answer };
        if (isContent) return { taps: [secrets, ...told], usage: undefined, answer: guarded?.answer };
        if (method === 'DELETE') forget(thing, id, ownerOf(principal), gateway);
        if (thing.kind === 'message_batch') return { taps: [secrets, new MessageBatchTap()], usage: undefined };
        return recordTaps(upstream, answer, (record) => {
          noteFiles(record, home, ownerOf(principal), gateway);
          if (thing.kind === 'batch') charge(usedBy(record));
        });
      },
    };
  };
}

/** States of a batch at work. */
const atWork: ReadonlySet<string> = new Set(['validating', 'in_progress', 'finalizing', 'cancelling']);

/** Tokens that a batch has used; undefined: it is not over, or does not say. */
export function usedBy(record: JsonObject): ReadBatch['used'] {
  const usage = atWork.has(textOf(record['status']) ?? '') ? undefined : tokenUsageOf(record['usage']);
  const requests = numberOf(objectOf(record['request_counts'])?.['completed']) ?? 1;
  // Some providers tell it with the output alone.
  if (usage === undefined || usage.totalTokens === 0) return [];
  return [{ model: textOf(record['model']) ?? '', usage, requests }];
}

/** A batch names the files that the provider has made of it: they belong to its caller, too. */
export function noteFiles(
  record: JsonObject,
  { provider, key }: KeptHome,
  owner: string,
  { homes }: { readonly homes: KeptHomes },
): void {
  for (const member of ['output_file_id', 'error_file_id']) {
    const id = textOf(record[member]);
    const batch = member === 'output_file_id' ? textOf(record['id']) : undefined;
    if (id !== undefined && id !== '') homes.remember('file', id, owner, { provider, key, isBatchInput: false, batch });
  }
}

function forget({ kind }: KeptThing, id: string, owner: string, gateway: DoorParts): void {
  gateway.homes.forget(kind, id, owner).catch((error: unknown) => gateway.reportFailure(error, id));
}
