// The events and the status of the followed managed state: events for the log; the status for readiness, metrics and heartbeats.
import type { Standing } from './custody.ts';
import type { StorePosition } from './state-store.ts';

/**
 * `applied`: in force now. `unavailable`, `available`: the store began to fail, or works again. `copy-used`: started without the
 * store. `emptied`: the store lost its documents, `behind`: it went back to an older state; what was in force stays. `reseeded`: and
 * was written back. `lost`: the documents are known to proxies alone. `replaced`: it is another store than before. `evicts`: it drops
 * keys by itself; `keeps`: it does not any more. `warning`: worth a line.
 */
export interface StateEvent {
  readonly kind:
    | 'applied'
    | 'unavailable'
    | 'available'
    | 'copy-used'
    | 'emptied'
    | 'behind'
    | 'reseeded'
    | 'lost'
    | 'replaced'
    | 'evicts'
    | 'keeps'
    | 'warning';
  readonly revision: number;
  readonly problem?: Error | string;
}

export interface StateStatus extends StorePosition {
  /** Where what is in force came from; `nothing` until the store was read for the first time, or was found new. */
  readonly source: 'store' | 'copy' | 'nothing';
  readonly isUp: boolean;
  /** Why it is not up, a sentence without secrets; absent while it is. */
  readonly trouble?: string | undefined;
  /** As of the last answer of the store. */
  readonly standing: Standing;
  /** Why the store may drop keys by itself, a sentence; undefined: it does not. It gets no new documents. */
  readonly evicts: string | undefined;
  /** How often what is in force was written back by this process. */
  readonly writeBacks: number;
  /** Stored documents that are not in force: those that are garbage, and those without a good seal. */
  readonly skipped: { readonly unreadable: number; readonly unsealed: number };
}

/** Where a state that is put in force came from. */
export interface StateOrigin {
  /** `nothing`: it is empty, because the store could not be read yet. */
  readonly source: StateStatus['source'];
}
