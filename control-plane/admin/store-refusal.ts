// What an operator hears when the state store cannot be used: 503, and whether waiting helps or somebody must act.
import { type StoreFailure, StoreUnavailable } from '../../schemas/store/store-unavailable.ts';
import { type ErrorCode, refusal } from '../errors.ts';

const codes: Readonly<Partial<Record<StoreFailure, ErrorCode>>> = {
  full: 'store_full',
  read_only: 'store_read_only',
};

/** The refusal for a `StoreUnavailable`; any other error is given back as it is. Only what was meant to write may have happened. */
export function storeRefusal(error: unknown, isWrite: boolean): unknown {
  if (!(error instanceof StoreUnavailable)) return error;
  const { reason } = error;
  const consequence = isWrite ? '; the write may have happened all the same, look before trying again' : '';
  return refusal(codes[reason] ?? 'store_unavailable', {
    fill: { reason, consequence },
    headers: { 'retry-after': '1' },
  });
}
