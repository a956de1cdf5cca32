// Keys are found by the digest of their secret, and after a change those that stay are found where they were.

import { array, assert, constantFrom, property, record } from 'fast-check';
import { test } from 'tap';
import { byId } from '../../../domain/documents/order.ts';
import type { AuthKey } from '../../../domain/keys/auth-key.ts';
import { KeysByDigest } from '../../../domain/keys/keys-by-digest.ts';
import { differences } from '../../../domain/sorted-list.ts';
import { runs } from '../../support/extent.ts';
import { sampleKey } from '../../support/managed-state.ts';

const digest = (start: string): string => start.padEnd(64, '0');

await test('whatever changes, each key is found by its whole digest, of two the one with the lower id', async (t) => {
  const drawn = record({ id: constantFrom('a', 'b', 'c', 'd'), start: constantFrom('00', '001', 'ff', '7e') });
  const states = array(array(drawn, { maxLength: 4 }), { maxLength: 4 });
  const made = new Map<string, AuthKey>();
  const keyOf = (id: string, start: string): AuthKey => {
    const key = made.get(id + start) ?? sampleKey('secret', { id, digest: digest(start) });
    made.set(id + start, key);
    return key;
  };
  assert(
    property(states, (all) => {
      let [keys, stored]: [KeysByDigest, readonly AuthKey[]] = [KeysByDigest.none, []];
      for (const state of all) {
        const byKeyId = new Map(state.map(({ id, start }) => [id, keyOf(id, start)]));
        const list = [...byKeyId.values()].sort(byId);
        const [before, those] = [keys, keys.values()];
        keys = keys.changed(differences(stored, list, byId));
        t.strictSame(before.values(), those, 'those before are as they were');
        t.strictSame([keys.size, keys.values().toSorted(byId)], [list.length, list]);
        for (const start of ['00', '001', 'ff', '7e'])
          t.equal(
            keys.get(digest(start)),
            list.find((key) => key.digest === digest(start)),
          );
        t.equal(keys.get('00'), undefined, 'a shared beginning is not enough');
        stored = list;
      }
    }),
    runs(200),
  );
});
