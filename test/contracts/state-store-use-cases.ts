// The contract of the state store about the last use of documents, as cases for any engine.
import type { StateStore } from '../../store/state/state-store.ts';
import { type Case, change, put, remove } from './state-store-case-tools.ts';

const noted = async (store: StateStore, kind: string, ...ids: string[]): Promise<Record<string, number>> =>
  Object.fromEntries(await store.uses.of(kind, ids));

export const useCases: Readonly<Record<string, Case>> = {
  async 'the last use of a document is the latest hour of all writers'(t, engine) {
    const place = await engine.start(t);
    const { store } = place;
    t.same(await noted(store, 'auth_key', 'a', 'b'), {}, 'nothing was used yet');
    await change(store, put('auth_key', 'a'), put('auth_key', 'quote " 漢 __proto__'), put('other', 'a'));
    const { revision } = await store.revision();
    await store.uses.note('auth_key', [
      { id: 'a', hour: 495_000 },
      { id: 'quote " 漢 __proto__', hour: 1 },
      { id: 'nobody', hour: 7 },
    ]);
    const other = place.open();
    await other.uses.note('auth_key', [{ id: 'a', hour: 494_999 }]);
    await other.uses.note('other', [{ id: 'a', hour: 3 }]);
    const asked = ['a', 'nobody', 'quote " 漢 __proto__', 'absent'] as const;
    t.same(await noted(store, 'auth_key', ...asked), { a: 495_000, 'quote " 漢 __proto__': 1 }, 'none is lowered');
    t.same(await noted(store, 'other', ...asked), { a: 3 });
    await other.uses.note('auth_key', [{ id: 'a', hour: 495_001 }]);
    t.same(await noted(place.open(), 'auth_key', 'a'), { a: 495_001 });
    t.equal((await store.revision()).revision, revision, 'a use changes no document');
  },

  async 'a deleted document is forgotten, and late news of it are not kept'(t, engine) {
    const { store } = await engine.start(t);
    await change(store, put('auth_key', 'a'), put('auth_key', 'b'));
    const both = ['a', 'b'].map((id) => ({ id, hour: 9 }));
    await store.uses.note('auth_key', both);
    await change(store, remove('auth_key', 'a'));
    await store.uses.forget('auth_key', ['a', 'never']);
    await store.uses.note('auth_key', both);
    t.same(await noted(store, 'auth_key', 'a', 'b'), { b: 9 });
    await change(store, put('auth_key', 'a'));
    t.same(await noted(store, 'auth_key', 'a', 'b'), { b: 9 }, 'not even when one of that name comes');
  },

  async 'thousands of uses are written and read'(t, engine) {
    const { store } = await engine.start(t);
    const ids = Array.from({ length: 2_500 }, (_, index) => `key-${index}`);
    await change(store, ...ids.map((id) => put('auth_key', id)));
    for (let first = 0; first < ids.length; first += 500) {
      await store.uses.note(
        'auth_key',
        ids.slice(first, first + 500).map((id) => ({ id, hour: 495_000 })),
      );
    }
    const found = await store.uses.of('auth_key', ids);
    t.equal(found.size, ids.length);
    t.equal(found.get('key-2499'), 495_000);
  },
};
