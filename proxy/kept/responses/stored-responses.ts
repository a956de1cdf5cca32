// Keeps responses without delaying requests: no request waits for a write, and a response that is being written can already be read.

import { keptLimits } from '../../../store/state/kept-items.ts';
import { StoreUnavailable } from '../../../store/state/store-unavailable.ts';
import { isObject, type JsonObject, listOf, textOf } from '../../dialects/json/json.ts';
import type { StoredResponse } from '../../dialects/responses/stored-response.ts';
import { refusal } from '../../errors.ts';
import { shortBytes } from '../../pacing/slices.ts';
import {
  isItemId,
  isResponseId,
  type KeepingPlace,
  type KeptItem,
  type KeptResponses,
  type ResponseHome,
} from '../kept-responses.ts';
import type { WrittenElsewhere } from '../objects/kept-homes.ts';

/** An answer that is longer is not kept. */
export const mostKeptBytes = keptLimits.item;
/** Of what is being written, in bytes: it is held in memory. */
const mostPendingBytes = 32 * 1024 * 1024;

/** A response that can be asked for: one that the gateway keeps, or the place of one that a provider keeps. */
export type FoundResponse =
  | { readonly record: StoredResponse; readonly home?: undefined }
  | { readonly record?: undefined; readonly home: ResponseHome; readonly begun?: string | undefined };

/**
 * The outcomes of storing a response: kept here or at a provider, not kept because it is too large or unreadable, lost
 * because writing failed.
 */
export const storingOutcomes = ['kept', 'remembered', 'not_kept', 'failed'] as const;
export type StoringOutcome = (typeof storingOutcomes)[number];

export interface StoredResponsesOptions {
  readonly kept: KeptResponses;
  /** Told of each failure of the store. */
  readonly failed: (error: unknown) => void;
  readonly elsewhere?: WrittenElsewhere | undefined;
}

/** A response that is being written. */
interface Pending {
  readonly found: FoundResponse;
  readonly written: Promise<void>;
}

/** A response that is to be kept. */
export interface Keepable extends StoredResponse {
  /** Items that it was asked with and that got their ids here. */
  readonly further?: readonly JsonObject[];
}

/** An item that is being written. */
interface PendingItem extends KeptItem {
  readonly written: Promise<void>;
}

/** Items of one response that can be named by themselves, and of those that it was asked with, the last ones. */
const mostItems = 128;
export const mostFurther = 16;

/** An id belongs to a user path: for others it is not there. */
export class StoredResponses {
  readonly counts: Record<StoringOutcome, number> = { kept: 0, remembered: 0, not_kept: 0, failed: 0 };
  readonly #kept: KeptResponses;
  readonly #failed: (error: unknown) => void;
  readonly #elsewhere: WrittenElsewhere | undefined;
  readonly #pending = new Map<string, Pending>();
  readonly #pendingItems = new Map<string, PendingItem>();
  /** By owner: responses that are being read. */
  readonly #reading = new Map<string, Set<Promise<void>>>();
  /** Of what is being read or written. */
  #pendingBytes = 0;

  constructor({ kept, failed, elsewhere }: StoredResponsesOptions) {
    this.#kept = kept;
    this.#failed = failed;
    this.#elsewhere = elsewhere;
  }

  /** Reads a long response of the owner, or loses it: until it was read, no caller is told that it is not there. */
  reading(owner: string, bytes: number, read: () => Promise<void>): void | Promise<void> {
    if (this.#pendingBytes + bytes > mostPendingBytes) return this.lost();
    this.#pendingBytes += bytes;
    const readings = this.#reading.get(owner) ?? new Set();
    this.#reading.set(owner, readings);
    const done = read().finally(() => {
      this.#pendingBytes -= bytes;
      readings.delete(done);
      if (readings.size === 0) this.#reading.delete(owner);
    });
    readings.add(done);
    return done;
  }

  /** Keeps a response and what of it can be named by itself. `bytes`: about its length. `further`: items that it was asked with. */
  keep(id: string, owner: string, kept: Keepable, bytes: number): void {
    if (this.#pendingBytes + bytes > mostPendingBytes) {
      this.lost();
      return;
    }
    const { further = [], ...record } = kept;
    const items = isResponseId(id) ? [...outputOf(record).slice(0, mostItems), ...further] : [];
    if (items.length > 0) this.#keepItems(items, { id, owner, bytes });
    this.#write(id, owner, { record }, bytes);
  }

  /** An item of a kept response. Undefined: there is none for this user path. Rejects with 503 `stored_responses_unavailable`. */
  async findItem(id: string, owner: string): Promise<KeptItem | undefined> {
    const key = keyOf(id, owner);
    if (!this.#pendingItems.has(key) && this.#reading.has(owner)) await this.#read(owner);
    const pending = this.#pendingItems.get(key);
    return pending ?? this.#orElsewhere(id, owner, () => this.#kept.findItem(id, owner).catch(refuseStore));
  }

  /** Remembers which provider keeps a response. `begun`: the model that makes it in the background. */
  remember(id: string, owner: string, home: ResponseHome, begun?: string): void {
    this.#write(id, owner, { home, begun }, 0);
  }

  /** Gives the model of a response that was begun in the background, once in all. Rejects as the store does. */
  async finish(id: string, owner: string): Promise<string | undefined> {
    await this.#pending.get(keyOf(id, owner))?.written;
    return this.#kept.finish(id, owner);
  }

  /** A response that was to be kept cannot be. */
  lost(): void {
    this.counts.not_kept += 1;
  }

  /** Undefined: there is none for this user path. Rejects with 503 `stored_responses_unavailable`. */
  async find(id: string, owner: string): Promise<FoundResponse | undefined> {
    if (!this.#pending.has(keyOf(id, owner)) && this.#reading.has(owner)) await this.#read(owner);
    const pending = this.#pending.get(keyOf(id, owner));
    if (pending !== undefined || !isResponseId(id)) return pending?.found;
    return this.#orElsewhere(id, owner, () => this.#stored(id, owner));
  }

  /** Resolves once what is being written of this response or item can be read. */
  async written(id: string, owner: string): Promise<void> {
    await this.#read(owner);
    const key = keyOf(id, owner);
    await Promise.all([this.#pending.get(key)?.written, this.#pendingItems.get(key)?.written]);
  }

  /** What is found, if need be once other processes have written what they were writing. */
  async #orElsewhere<Found>(
    id: string,
    owner: string,
    find: () => Promise<Found | undefined>,
  ): Promise<Found | undefined> {
    const found = await find();
    if (found !== undefined || this.#elsewhere === undefined) return found;
    await this.#elsewhere(id, owner);
    return find();
  }

  async #stored(id: string, owner: string): Promise<FoundResponse | undefined> {
    const reading = Promise.all([this.#kept.find(id, owner), this.#kept.homeOf(id, owner)]);
    const [kept, home] = await reading.catch(refuseStore);
    const record = kept && recordIn(kept.record);
    if (record !== undefined) return { record };
    return home === undefined ? undefined : { home };
  }

  /** Forgets the response, and which provider keeps it. Rejects as `find`. */
  async forget(id: string, owner: string): Promise<void> {
    const record = (await this.find(id, owner))?.record;
    await this.#pending.get(keyOf(id, owner))?.written;
    const asked = record?.input_items.slice(-mostFurther) ?? [];
    const items = record === undefined ? [] : [...outputOf(record).slice(0, mostItems), ...asked];
    await Promise.all(items.map((item) => this.#forgetItem(idOf(item), owner, id)));
    await this.#kept.forget(id, owner).catch(refuseStore);
  }

  /** When nothing is being written. */
  async settled(): Promise<void> {
    await Promise.all([...this.#reading.keys()].map((owner) => this.#read(owner)));
    await Promise.all([...this.#pending.values()].map(({ written }) => written));
    await Promise.all([...this.#pendingItems.values()].map(({ written }) => written));
  }

  #keepItems(
    items: readonly JsonObject[],
    of: { readonly id: string; readonly owner: string; readonly bytes: number },
  ): void {
    const { id: response, owner, bytes } = of;
    const all = items.map((item) => this.#keepItem({ item, response, bytes: 0 }, owner, bytes > shortBytes));
    this.#pendingBytes += bytes;
    void Promise.all(all).finally(() => {
      this.#pendingBytes -= bytes;
    });
  }

  /** Resolves when it is kept, or has failed. */
  async #keepItem(kept: KeptItem, owner: string, isLong: boolean): Promise<void> {
    const id = idOf(kept.item);
    if (!isItemId(id)) return;
    const key = keyOf(id, owner);
    const before = this.#pendingItems.get(key)?.written;
    const write = async (): Promise<void> => {
      await before;
      await this.#kept.keepItem(kept, { id, owner, isLong }).catch((error: unknown) => this.#failed(error));
      if (this.#pendingItems.get(key) === pending) this.#pendingItems.delete(key);
    };
    const pending: PendingItem = { ...kept, written: Promise.resolve().then(write) };
    this.#pendingItems.set(key, pending);
    await pending.written;
  }

  async #forgetItem(id: string, owner: string, response: string): Promise<void> {
    await this.#pendingItems.get(keyOf(id, owner))?.written;
    await this.#kept.forgetItem(id, owner, response).catch(refuseStore);
  }

  /** When those that are being read now have been, or have failed. */
  async #read(owner: string): Promise<void> {
    const readings = this.#reading.get(owner);
    if (readings !== undefined) await Promise.allSettled(readings);
  }

  #write(id: string, owner: string, found: FoundResponse, bytes: number): void {
    const key = keyOf(id, owner);
    if (!isResponseId(id)) {
      this.lost();
      return;
    }
    this.#pendingBytes += bytes;
    const before = this.#pending.get(key);
    const write = async (): Promise<void> => {
      // In their order: the last one stays.
      await before?.written;
      try {
        this.counts[await this.#put({ id, owner, isLong: bytes > shortBytes }, found)] += 1;
      } catch (error) {
        this.counts.failed += 1;
        this.#failed(error);
      }
      this.#pendingBytes -= bytes;
      if (this.#pending.get(key) === pending) this.#pending.delete(key);
    };
    const pending: Pending = { found, written: Promise.resolve().then(write) };
    this.#pending.set(key, pending);
  }

  async #put(place: KeepingPlace, found: FoundResponse): Promise<StoringOutcome> {
    const { record, home } = found;
    const { id, owner } = place;
    if (home !== undefined) {
      const { begun: model } = found;
      if (model !== undefined) await this.#kept.begin(id, { model, owner });
      return (await this.#kept.remember(id, { ...home, owner })) ? 'remembered' : 'not_kept';
    }
    return (await this.#kept.keep(record, place)) ? 'kept' : 'not_kept';
  }
}

function outputOf({ response }: StoredResponse): readonly JsonObject[] {
  return (listOf(response['output']) ?? []).filter(isObject);
}

function idOf(item: JsonObject): string {
  return textOf(item['id']) ?? '';
}

function keyOf(id: string, owner: string): string {
  return `${id} ${owner}`;
}

/** The record in the store; undefined: the gateway did not write it. */
function recordIn({ response, input_items }: Readonly<Record<string, unknown>>): StoredResponse | undefined {
  if (!isObject(response) || !Array.isArray(input_items)) return undefined;
  return { response, input_items: input_items.filter(isObject) };
}

function refuseStore(error: unknown): never {
  if (!(error instanceof StoreUnavailable)) throw error;
  throw refusal('stored_responses_unavailable', { headers: { 'retry-after': '1' } });
}
