// Turns a failure of a store into a 503 that says whether to wait or to repair the store.
import { type StoreFailure, StoreUnavailable } from '../../store/state/store-unavailable.ts';
import { type ErrorCode, refusal } from '../errors.ts';
import { WriteInDoubt } from '../store/documents.ts';

const codes: Readonly<Partial<Record<StoreFailure, ErrorCode>>> = {
  full: 'store_full',
  evicts: 'store_evicts',
  unreplicated: 'store_unreplicated',
  read_only: 'store_read_only',
};

/** The refusal for a `StoreUnavailable` of the store with this name; any other error is returned unchanged. */
export function storeRefusal(error: unknown, store: 'record store' | 'state store' = 'state store'): unknown {
  if (!(error instanceof StoreUnavailable)) return error;
  const { reason } = error;
  const consequence =
    error instanceof WriteInDoubt
      ? '; the write may have happened, so read the current state before you try again'
      : '';
  // Of records only reads are refused.
  const code = store === 'record store' ? undefined : codes[reason];
  return refusal(code ?? 'store_unavailable', {
    fill: { store, reason, consequence },
    headers: { 'retry-after': '1' },
  });
}
