// What is said of the managed state while it is followed: events for the log, and where it stands for readiness, metrics and heartbeats.
import type { Standing } from './custody.ts';
import type { StorePosition } from './state-store.ts';

/**
 * `applied`: in force now. `unavailable`, `available`: the store began to fail, or works again. `copy-used`: started without the
 * store. `emptied`: the store lost its documents, what was in force stays; `reseeded`: and they were written back. `lost`: they are
 * known to proxies alone. `replaced`: it is another store than before. `warning`: worth a line.
 */
export interface StateEvent {
  readonly kind:
    | 'applied'
    | 'unavailable'
    | 'available'
    | 'copy-used'
    | 'emptied'
    | 'reseeded'
    | 'lost'
    | 'replaced'
    | 'warning';
  readonly revision: number;
  readonly problem?: Error | string;
}

export interface StateStatus extends StorePosition {
  /** Where what is in force came from; `nothing` until the store was read for the first time, or was found new. */
  readonly source: 'store' | 'copy' | 'nothing';
  readonly isUp: boolean;
  /** As of the last answer of the store. */
  readonly standing: Standing;
  /** Stored documents that are not in force: those that are garbage, and those without a good seal. */
  readonly skipped: { readonly unreadable: number; readonly unsealed: number };
}

/** Where a state that is put in force came from. */
export interface StateOrigin {
  /** `nothing`: it is empty, because the store could not be read yet. */
  readonly source: StateStatus['source'];
  /** How often the store has been away: after each time, the same revision may stand for something else. */
  readonly outages: number;
}
