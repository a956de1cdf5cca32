// Responses that clients asked to store: those that the gateway keeps, and which provider keeps the others, each for the user path of its request.
import { ItemTooLarge, type KeptItems, type KeptKey } from '../../store/state/kept-items.ts';
import { isObject, type JsonObject, type JsonValue } from '../dialects/json/json.ts';
import { parsedObject, writtenBody } from '../http/parsed-body.ts';
import { inSlices, sliced } from '../pacing/slices.ts';
import type { KeepingOfResponses } from '../snapshot/snapshot.ts';

export interface KeptResponsesOptions {
  readonly kept: KeptItems;
  /** Milliseconds since 1970, by the clock of the store. */
  readonly nowMs: () => number;
  /** As the configuration is at the moment. */
  readonly settings: () => KeepingOfResponses;
}

export interface KeepingPlace {
  readonly id: string;
  /** Of the request, normalised. */
  readonly owner: string;
  /** The provider that made it. */
  readonly providerName?: string | undefined;
  /** The record may be long: it is written in steps. */
  readonly isLong?: boolean;
}

/** Where a provider keeps a response. */
export interface ResponseHome {
  /** As its name was; it may be gone from the configuration since. */
  readonly provider: string;
  /** The mark of the API key that the response belongs to. */
  readonly key: string;
}

/** An item of a response that the gateway keeps. */
export interface KeptItem {
  readonly item: JsonObject;
  /** The id of the response. */
  readonly response: string;
  /** As long as its JSON at most; 0: it is in memory anyway. */
  readonly bytes: number;
}

export interface KeptResponse {
  readonly record: JsonObject;
  readonly providerName: string | undefined;
}

/** All of them reject with `StoreUnavailable`, which is answered 503. An id that is none of a response is found nowhere. */
export interface KeptResponses {
  /**
   * Keeps what JSON says of the record, in the place of one before. False: it was not kept, as the id is none of a response, the
   * record is too large, or the configuration has it so.
   */
  keep(record: object, place: KeepingPlace): Promise<boolean>;
  find(id: string, owner: string): Promise<KeptResponse | undefined>;
  /** Keeps an item of a response, as `keep` does. */
  keepItem(kept: Pick<KeptItem, 'item' | 'response'>, place: KeepingPlace): Promise<boolean>;
  findItem(id: string, owner: string): Promise<KeptItem | undefined>;
  /** Forgets an item, unless it was kept with another response. */
  forgetItem(id: string, owner: string, response: string): Promise<void>;
  /** Forgets the response, and which provider keeps it. True when there was either. */
  forget(id: string, owner: string): Promise<boolean>;
  /** That a provider keeps the response itself. False when the id is none of a response: it is not remembered. */
  remember(id: string, home: ResponseHome & { readonly owner: string }): Promise<boolean>;
  homeOf(id: string, owner: string): Promise<ResponseHome | undefined>;
  /** That its provider makes the response in the background, with this model. */
  begin(id: string, begun: { readonly model: string; readonly owner: string }): Promise<boolean>;
  /** Gives the model of a response that was begun, once in all. */
  finish(id: string, owner: string): Promise<string | undefined>;
}

/** Kinds of kept items. */
const [response, responseHome, responseBegun] = ['response', 'response_home', 'response_begun'];
const responseItem = 'response_item';

/** Its provider still makes it, in the background. */
export function isUnderWay({ status }: JsonObject): boolean {
  return status === 'queued' || status === 'in_progress';
}

/** `resp_` and 1 to 128 letters, digits, hyphens or underscores. */
export function isResponseId(id: string): boolean {
  return /^resp_[A-Za-z0-9_-]{1,128}$/.test(id);
}

/** An id of an item: of whatever kind, in up to 200 letters, digits, hyphens or underscores. */
export function isItemId(id: string): boolean {
  return /^[A-Za-z0-9_-]{1,200}$/.test(id);
}

export function keepResponses({ kept, nowMs, settings }: KeptResponsesOptions): KeptResponses {
  async function put(key: KeptKey, content: object, isLong: boolean = false): Promise<boolean> {
    if (!(key.kind === responseItem ? isItemId(key.id) : isResponseId(key.id))) return false;
    try {
      await kept.put(key, await inSlices(writtenBody(content as JsonValue, isLong)), nowMs() + settings().ttlMs);
      return true;
    } catch (error) {
      if (error instanceof ItemTooLarge) return false;
      throw error;
    }
  }

  async function get(key: KeptKey): Promise<JsonObject | undefined> {
    const bytes = isResponseId(key.id) ? await kept.get(key) : undefined;
    return bytes === undefined ? undefined : sliced(bytes.length, parsedObject(bytes));
  }

  async function findItem(id: string, owner: string): Promise<KeptItem | undefined> {
    const bytes = isItemId(id) ? await kept.get({ kind: responseItem, id, owner }) : undefined;
    if (bytes === undefined) return undefined;
    const { item, response: of } = (await sliced(bytes.length, parsedObject(bytes))) ?? {};
    return isObject(item) && typeof of === 'string' ? { item, response: of, bytes: bytes.length } : undefined;
  }

  return {
    async keep(record, { id, owner, providerName, isLong }) {
      if (!settings().isEnabled) return false;
      return put({ kind: response, id, owner: owner }, { record, provider: providerName }, isLong);
    },
    async find(id, owner) {
      const { record, provider } = (await get({ kind: response, id, owner: owner })) ?? {};
      if (!isObject(record)) return undefined;
      return { record, providerName: typeof provider === 'string' ? provider : undefined };
    },
    async keepItem({ item, response: of }, { id, owner, isLong }) {
      return settings().isEnabled && put({ kind: responseItem, id, owner }, { item, response: of }, isLong);
    },
    findItem,
    async forgetItem(id, owner, of) {
      const found = await findItem(id, owner);
      if (found?.response === of) await kept.remove({ kind: responseItem, id, owner });
    },
    async forget(id, owner) {
      if (!isResponseId(id)) return false;
      const kinds = [response, responseHome, responseBegun];
      const removed = await Promise.all(kinds.map((kind) => kept.remove({ kind, id, owner: owner })));
      return removed.includes(true);
    },
    remember: (id, { provider, key, owner }) => put({ kind: responseHome, id, owner: owner }, { provider, key }),
    async homeOf(id, owner) {
      const { provider, key } = (await get({ kind: responseHome, id, owner: owner })) ?? {};
      return typeof provider === 'string' && typeof key === 'string' ? { provider, key } : undefined;
    },
    begin: (id, { model, owner }) => put({ kind: responseBegun, id, owner: owner }, { model }),
    async finish(id, owner) {
      const key = { kind: responseBegun, id, owner: owner };
      const { model } = (await get(key)) ?? {};
      // Of several that read it at once, one removes it.
      return typeof model === 'string' && (await kept.remove(key)) ? model : undefined;
    },
  };
}
