// Lists of a caller's files or batches: pages of every provider that keeps some, of which only what is the caller's is shown.

import { isObject, type JsonObject, listOf, numberOf, parseObject, textOf } from '../../dialects/json/json.ts';
import type { KeptHomes } from '../../kept/objects/kept-homes.ts';
import { type OwningCaller, ownerOf } from '../../kept/owner.ts';
import { keyHeaders } from '../../providers/key-headers.ts';
import { storePath } from '../../providers/paths.ts';
import { type ClientRequest, credentialFor, upstreamWith } from '../../snapshot/client-credential.ts';
import type { Snapshot, Upstream } from '../../snapshot/snapshot.ts';
import type { TargetStates } from '../../targets/target-states.ts';
import type { ApiKey } from '../../upstream/api-keys.ts';
import type { Deadlines } from '../../upstream/deadlines.ts';
import type { Pools } from '../../upstream/pools.ts';
import { readWhole } from '../../upstream/read-whole.ts';
import { withOwnResults } from '../usage/message-batch-tap.ts';
import { findKept, type KeptThing, noteFiles } from './aim-home.ts';
import { keepersOf, storeHeaders } from './store-target.ts';

/** The list that is asked for. */
export interface ListQuestion {
  readonly thing: KeptThing;
  readonly limit: number;
  /** The id behind which the page begins. */
  readonly after: string | undefined;
  /** Only files of this purpose. */
  readonly purpose: string | undefined;
  /** A provider's name or type; undefined: all. */
  readonly provider: string | undefined;
  readonly principal: OwningCaller;
  readonly snapshot: Snapshot;
  readonly requestId: string;
  /** Told of each record of the caller's, and the name of its provider. */
  readonly seen: (record: JsonObject, provider: string) => void;
  readonly exchange: ClientRequest['exchange'];
}

export interface KeptPage {
  /** Newest first. */
  readonly data: readonly JsonObject[];
  readonly hasMore: boolean;
  /** Providers of which something may be missing: they failed, are taken out, or have more than is read. */
  readonly incomplete: readonly string[];
}

export interface ListParts {
  readonly deadlines: Deadlines;
  /** Which providers keep the files and batches of callers. */
  readonly homes: KeptHomes;
  /** Monotonic milliseconds, anchored to wall time at start. */
  readonly nowMs: () => number;
  readonly pools: Pools;
  readonly targets: Pick<TargetStates, 'drainOf'>;
}

/** Entries of a page of a provider, most pages that are read, and the longest of them. */
const pageEntries = 100;
const mostPages = 10;
const mostBytes = 2 * 1024 * 1024;
/** Most providers that are asked for one list, and how many of them at a time. */
const mostKeepers = 32;
const atOnce = 4;
/** Digits of a number in a text: then the order of texts is that of numbers. */
const longestSeconds = 15;

/** A position in a list: by time, then by id. */
interface ListPosition {
  /** Later ones are greater. In one list all are of one format. */
  readonly at: string;
  readonly id: string;
}

interface Entry extends ListPosition {
  readonly record: JsonObject;
}

/** Rejects with 404 `kept_not_found` for an `after` that is none of the caller's. */
export async function listKept(question: ListQuestion, parts: ListParts): Promise<KeptPage> {
  const { thing, limit, provider, snapshot } = question;
  const after = await placeOf(question, parts);
  const keepers = keepersOf(thing.store, provider, snapshot);
  const asked = keepers.slice(0, mostKeepers);
  const incomplete = keepers.slice(mostKeepers).map(({ name }) => name);
  const entries: Entry[] = [];
  const work = async (): Promise<void> => {
    for (let upstream = asked.shift(); upstream !== undefined; upstream = asked.shift()) {
      const { found, isWhole } = await entriesAt(upstream, after, question, parts);
      for (const entry of found) entries.push(entry);
      if (!isWhole) incomplete.push(upstream.name);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  entries.sort(newestFirst);
  const data = entries.slice(0, limit).map(({ record }) => record);
  return { data, hasMore: entries.length > limit, incomplete: incomplete.sort() };
}

/** Undefined: the list begins with the newest. */
async function placeOf(question: ListQuestion, parts: ListParts): Promise<ListPosition | undefined> {
  const { thing, after } = question;
  if (after === undefined) return undefined;
  const { upstream, key } = await findKept(thing, after, question, parts);
  const record = await ask(upstream, { key, suffix: `/${after}`, parameters: [] }, question, parts);
  // Nothing is listed behind an object that its provider no longer has.
  return record === undefined ? { at: '', id: '' } : entryOf(record);
}

/** The caller's entries at a provider, as many as can be on the page. With several keys, each may be of another account. */
async function entriesAt(
  upstream: Upstream,
  after: ListPosition | undefined,
  question: ListQuestion,
  parts: ListParts,
): Promise<{ found: readonly Entry[]; isWhole: boolean }> {
  const found = new Map<string, Entry>();
  let isWhole = true;
  for (const key of upstream.credentials.all) {
    isWhole = (await pagesOf(upstream, { key, after, found }, question, parts)) && isWhole;
  }
  return { found: [...found.values()], isWhole };
}

interface Pages {
  readonly key: ApiKey;
  readonly after: ListPosition | undefined;
  readonly found: Map<string, Entry>;
}

/** False: there is more than was read, or it could not be. */
async function pagesOf(
  upstream: Upstream,
  { key, after, found }: Pages,
  question: ListQuestion,
  parts: ListParts,
): Promise<boolean> {
  const isOfMessages = question.thing.kind === 'message_batch';
  const seen = new Set<string>();
  let last: string | undefined;
  for (let page = 0; page < mostPages; page += 1) {
    const behind = last === undefined ? [] : [`${isOfMessages ? 'after_id' : 'after'}=${encodeURIComponent(last)}`];
    const parameters = [`limit=${pageEntries}`, ...behind, ...(question.thing.kind === 'file' ? ['order=desc'] : [])];
    const answer = await ask(upstream, { key, suffix: '', parameters }, question, parts);
    const records = listOf(answer?.['data'])?.filter(isObject);
    if (answer === undefined || records === undefined) return false;
    const fresh = records.map(entryOf).filter(({ id }) => id !== '' && !seen.has(id));
    for (const { id } of fresh) seen.add(id);
    for (const entry of await owned(fresh, upstream, question, parts)) {
      if (after === undefined || newestFirst(after, entry) < 0) found.set(entry.id, entry);
    }
    last = fresh.at(-1)?.id;
    if (found.size > question.limit || last === undefined) return true;
    if (answer['has_more'] === false || (answer['has_more'] !== true && records.length < pageEntries)) return true;
  }
  return false;
}

/** Those that the caller has, with the files that they name. */
async function owned(
  entries: readonly Entry[],
  { name }: Upstream,
  { thing, purpose, principal, seen }: ListQuestion,
  { homes }: ListParts,
): Promise<Entry[]> {
  const wanted = entries.filter(({ record }) => purpose === undefined || record['purpose'] === purpose);
  const owner = ownerOf(principal);
  const found = await Promise.all(wanted.map(({ id }) => homes.find(thing.kind, id, owner)));
  return wanted.filter(({ record }, index) => {
    const home = found[index];
    if (home?.provider !== name) return false;
    if (thing.kind === 'batch') noteFiles(record, home, owner, { homes });
    seen(record, name);
    return true;
  });
}

interface AskedList {
  readonly key: ApiKey;
  readonly suffix: string;
  readonly parameters: readonly string[];
}

/** Undefined: the provider failed, is taken out, or said something else. */
async function ask(
  upstream: Upstream,
  { key, suffix, parameters }: AskedList,
  { thing: { store }, exchange, requestId, snapshot }: ListQuestion,
  { pools, deadlines, targets, nowMs }: ListParts,
): Promise<JsonObject | undefined> {
  const place = upstream.stores[store];
  if (place === undefined || targets.drainOf({ upstream, model: '' }) !== undefined) return undefined;
  const { rawHeaders } = exchange.request;
  const asked = askedFor(upstream, { exchange, snapshot });
  if (asked === undefined) return undefined;
  const own = [
    ...keyHeaders(key.style ?? upstream.opaque.keyStyle, key.secret),
    ...asked.headers,
    'accept-encoding',
    'identity',
  ];
  const headers = [...own, 'x-request-id', requestId, ...storeHeaders({ upstream: asked, store, rawHeaders })];
  const question = { path: storePath(place, suffix, parameters), headers, mostBytes };
  const answer = await readWhole(pools.get(upstream), question, upstream.patience, deadlines);
  if (answer.failure !== undefined) return undefined;
  upstream.credentials.answered(key, answer.status, answer.head, nowMs());
  return answer.status < 300 ? parseObject(answer.body.toString()) : undefined;
}

/** The upstream with the credential of the client where it is asked with that; undefined: the request has none. */
function askedFor(upstream: Upstream, asking: ClientRequest): Upstream | undefined {
  if (upstream.clientAuth !== 'needed') return upstream;
  const credential = credentialFor(upstream, asking);
  return credential && upstreamWith(upstream, credential);
}

function entryOf(record: JsonObject): Entry {
  const { id, created_at: made } = record;
  const seconds = numberOf(made);
  const at = seconds === undefined ? (textOf(made) ?? '') : String(seconds).padStart(longestSeconds, '0');
  return { at, id: textOf(id) ?? '', record: withOwnResults(record) };
}

/** Below 0: the first stands before the second. */
function newestFirst(one: ListPosition, other: ListPosition): number {
  if (one.at !== other.at) return one.at > other.at ? -1 : 1;
  return one.id === other.id ? 0 : one.id > other.id ? -1 : 1;
}
