// What a proxy and the state store say to each other about shared limits: one message under way for each proxy. Units are requests, tokens,
// slots or money; whole numbers. Slices are those of domain/rules/slice.ts on the store's clock; all times in milliseconds.

/** The version of these messages; a proxy refuses a store of a newer one. */
export const exchangeVersion = 1;

/** Uses of a counter: the slice in which they happened, and how many. */
export type Uses = readonly (readonly [slice: number, units: number])[];

/** Sent after every connect, before the first exchange. */
export interface AttachMessage {
  readonly version: number;
  /** The proxy, and a text that it draws at its start. */
  readonly instance: string;
  readonly boot: string;
  /** Raised with every connection of this boot: what was sent on a former one is refused when it arrives late. */
  readonly connection: number;
  /** The session and the generation of the store as this boot last knew them; absent at first. */
  readonly session?: number;
  readonly generation?: string;
  /** The generation that a store without one takes. Random. */
  readonly fresh: string;
  /** Which run of the server answers on this connection, as the engine says it; empty where it cannot. */
  readonly server: string;
  /** How many proxies there were when this one last heard. 0: it never did. */
  readonly live: number;
}

/**
 * How the store knows the session that was named: it goes on; or it was buried, and all that it held was counted as used; or the store has
 * lost it, or knew none.
 */
export type FormerSession = 'known' | 'buried' | 'unknown';

export interface AttachAnswer {
  /** The version of the messages that the store was written with. */
  readonly version: number;
  readonly now: number;
  readonly generation: string;
  readonly session: number;
  readonly former: FormerSession;
  /** The last exchange of the former session that was applied; 0: none. */
  readonly sequence: number;
  readonly live: number;
  readonly rank: number;
  readonly recovering: boolean;
}

/** One counter of an exchange. */
export interface LimitItem {
  /** `counterKey`. */
  readonly key: string;
  /** Seconds; 0: a counter without a ring, which has no uses. */
  readonly period: number;
  readonly cap: number;
  /** What the session holds after the uses below: spare units, those of open requests, those set aside. */
  readonly held: number;
  /** The spare ones of these; the others are those of open requests. */
  readonly spare: number;
  readonly uses: Uses;
  /** Uses that did not happen: they are taken from the oldest slices within the bounds. */
  readonly refunds: readonly (readonly [low: number, high: number, units: number])[];
  /** Further spare units that are wanted. */
  readonly wish: number;
  /** Up to so many spare units are given, whatever the cap. */
  readonly least: number;
  /** The answer says in which slices units are used: that takes longer. */
  readonly dated: boolean;
}

/** Requests that wait for the same counters. */
export interface LimitGroup {
  readonly requests: number;
  /**
   * The index of an item, the units that each request needs there, and how many spare ones the session keeps for them. `alone`: 1 when a request
   * may go although there is no room for all its units, if no other one is open under the counter and its cap is not reached.
   */
  readonly needs: readonly (readonly [item: number, units: number, kept: number, alone: 0 | 1])[];
}

export interface ExchangeMessage {
  readonly session: number;
  readonly connection: number;
  /** Raised by one with each exchange of the session. */
  readonly sequence: number;
  /** The periodic one: sessions that are silent are buried, and live ones counted. */
  readonly beat: boolean;
  /** With it, the session has told all that it holds and has used since the store last knew. */
  readonly told: boolean;
  readonly items: readonly LimitItem[];
  readonly groups: readonly LimitGroup[];
}

/** What became of an item. */
export interface LimitAnswer {
  /** Units that were added to what the session holds. */
  readonly granted: number;
  /** Of what the session holds behind it, what is spare. */
  readonly spare: number;
  /** Behind it: cap − used − held by all; below 0 when a cap was lowered, or more was used than allowed. */
  readonly free: number;
  /** Used in the trailing period. */
  readonly used: number;
  /** Held by other sessions, and what open requests hold of that. */
  readonly others: number;
  readonly othersOpen: number;
  /** Until the units of the smallest request that may not go are free if nothing else happens; −1: that cannot be foreseen. */
  readonly freeInMs: number;
  /** Not all was granted: when to ask again, because others may give back until then; 0: nothing is left for sure; −1: not known. */
  readonly recallMs: number;
  /** The oldest and the newest slice with use, where that was asked; −1: none. */
  readonly oldest: number;
  readonly newest: number;
}

export type ExchangeAnswer =
  | {
      readonly status: 'done';
      readonly sequence: number;
      readonly now: number;
      /** Sessions that are not buried, and the place of this one among them. */
      readonly live: number;
      readonly rank: number;
      /** Nothing is granted until all sessions have told. */
      readonly recovering: boolean;
      readonly answers: readonly LimitAnswer[];
      /** For each group, how many of its requests may go. */
      readonly admitted: readonly number[];
    }
  /** The store does not know the session; or the message is of a former connection. Attach. */
  | { readonly status: 'unknown' | 'stale' };

/** Sent at a clean end, when nothing is held any more. */
export interface DetachMessage {
  readonly session: number;
  readonly connection: number;
}

/** A notice to all proxies: give back what is spare of this counter; or there may be room under it again. */
export interface LimitNotice {
  readonly kind: 'return' | 'room';
  readonly key: string;
}

/** One counter as anybody may read it. */
export interface LimitView {
  readonly used: number;
  readonly held: number;
  /** The oldest and the newest slice with use; −1: none. */
  readonly oldest: number;
  readonly newest: number;
  /** By instance: what its sessions hold, and what open requests hold of that. */
  readonly sessions: readonly (readonly [instance: string, held: number, open: number])[];
}

/** What a unit of a counter is. */
export type LimitLane = 'requests' | 'tokens' | 'slots';

/** The name of a counter. Each lane of each child of each epoch of a rule has one. The length of the rule key is in characters. */
export function counterKey(
  rule: { readonly key: string; readonly epoch: number; readonly periodSeconds: number },
  lane: LimitLane,
  child: string,
): string {
  return `${rule.periodSeconds}:${rule.key.length}:${rule.key}:${rule.epoch}:${lane}:${child}`;
}
