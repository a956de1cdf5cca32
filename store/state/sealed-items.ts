// Kept items carry a seal as documents do: what another program wrote into the store, or moved to another owner, is not given away.
import { createHmac, type KeyObject, timingSafeEqual } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { KeptItems, KeptKey } from './kept-items.ts';

/** The keys at this moment; without any, items are not sealed, and every one is taken as it is. */
export interface ItemKeys {
  /** Of new seals. */
  readonly sealing: KeyObject | undefined;
  /** Of seals that count. */
  readonly opening: readonly KeyObject[];
}

/** The first byte of a stored item. */
const [plain, sealed] = [0, 1];
const macBytes = 32;
/** Hashed at once: it holds the process up for a few milliseconds. */
const portionBytes = 1024 * 1024;
/** No seal of a document is the seal of an item. */
const purpose = 'kept item ';

/** The items of `store` with a seal in front: HMAC-SHA-256 over kind, id, owner and bytes. Items without a good one are not found. */
export function sealItems(store: KeptItems, keys: () => ItemKeys): KeptItems {
  return {
    async put(key, bytes, expiresAtMs) {
      const { sealing } = keys();
      const head =
        sealing === undefined ? Buffer.of(plain) : Buffer.concat([Buffer.of(sealed), await macOf(sealing, key, bytes)]);
      await store.put(key, Buffer.concat([head, bytes]), expiresAtMs);
    },
    async get(key) {
      const stored = await store.get(key);
      return stored === undefined ? undefined : opened(keys(), key, stored);
    },
    remove: (key) => store.remove(key),
  };
}

async function opened({ sealing, opening }: ItemKeys, key: KeptKey, stored: Buffer): Promise<Buffer | undefined> {
  const isSealed = stored[0] === sealed;
  const bytes = stored.subarray(isSealed ? 1 + macBytes : 1);
  if (sealing === undefined) return bytes;
  const given = stored.subarray(1, 1 + macBytes);
  if (!isSealed || given.length !== macBytes) return undefined;
  for (const each of opening) if (timingSafeEqual(await macOf(each, key, bytes), given)) return bytes;
  return undefined;
}

async function macOf(sealing: KeyObject, { kind, id, owner }: KeptKey, bytes: Uint8Array): Promise<Buffer> {
  const mac = createHmac('sha256', sealing).update(purpose + JSON.stringify([kind, id, owner]));
  for (let first = 0; first < bytes.length; first += portionBytes) {
    if (first > 0) await setImmediate();
    mac.update(bytes.subarray(first, first + portionBytes));
  }
  return mac.digest();
}
