// Documents with the seal of the tests' master key, for tests that write into a store directly.
import { openStateStore, type StateStoreOptions } from '../../store/state/open.ts';
import { sealKey, sealOf } from '../../store/state/seal.ts';
import { type SealedStore, sealDocuments } from '../../store/state/sealed-store.ts';
import type { DocumentKey } from '../../store/state/state-store.ts';
import { masterKey } from './gateway.ts';

/** The body with its seal, as it lies in the store. */
export function sealed({ kind, id }: DocumentKey, body: object, key: string = masterKey): object {
  return { ...body, seal: sealOf(sealKey(key), { kind, id }, body) };
}

/** The store of gateways with the tests' master key, or another one. */
export function openSealedStore(options: StateStoreOptions, key: string = masterKey): SealedStore {
  return sealDocuments(openStateStore(options), { masterKey: key });
}
