// What an operator hears when the state store cannot be used: 503, and whether waiting helps or somebody must act.
import { type StoreFailure, StoreUnavailable } from '../../store/state/store-unavailable.ts';
import { type ErrorCode, refusal } from '../errors.ts';
import { WriteInDoubt } from '../store/documents.ts';

const codes: Readonly<Partial<Record<StoreFailure, ErrorCode>>> = {
  full: 'store_full',
  read_only: 'store_read_only',
};

/** The refusal for a `StoreUnavailable`; any other error is given back as it is. */
export function storeRefusal(error: unknown): unknown {
  if (!(error instanceof StoreUnavailable)) return error;
  const { reason } = error;
  const consequence =
    error instanceof WriteInDoubt ? '; the write may have happened all the same, look before trying again' : '';
  return refusal(codes[reason] ?? 'store_unavailable', {
    fill: { reason, consequence },
    headers: { 'retry-after': '1' },
  });
}
