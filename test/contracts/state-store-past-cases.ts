// What a store remembers of its last changes: a mark for each, and what it deleted.
import { mostPast } from '../../store/state/state-store.ts';
import { type Case, change, put, remove } from './state-store-case-tools.ts';

export const pastCases: Readonly<Record<string, Case>> = {
  async 'each change has a mark of its own, and what it deleted is remembered'(t, engine) {
    const place = await engine.start(t);
    const { store } = place;
    await store.initialise();
    t.equal((await store.revision()).mark, undefined, 'a store without a change has none');
    await change(store, put('rule', 'a'), put('key', 'k'));
    const first = await store.revision();
    const storeId = first.storeId ?? '';
    const deletion = { storeId, expected: new Map(), changes: [remove('key', 'k'), put('rule', 'a', 2)] };
    const result = await store.commit(deletion);
    const { mark, past } = await place.open().read();
    t.match([first.mark, mark], [/^[\w-]{12}$/, /^[\w-]{12}$/]);
    t.same(result, { revision: 2, mark }, 'the commit says it');
    t.same(await store.commit({ ...deletion, changes: [] }), { revision: 2, mark }, 'and one that changes nothing');
    t.same(
      [...(past ?? [])],
      [
        [1, { marks: [first.mark], deleted: [] }],
        [2, { marks: [mark], deleted: [{ kind: 'key', id: 'k' }] }],
      ],
    );
  },

  async 'only the last changes are remembered'(t, engine) {
    const place = await engine.start(t);
    const { store } = place;
    await change(store, put('rule', 'a'));
    const before = await store.read();
    const revision = mostPast + 1;
    const ofBefore = { marks: ['m'], deleted: [] };
    const past = new Map([2, revision].map((number) => [number, ofBefore]));
    t.ok(await store.rewrite({ ...before, revision, mark: 'm', past }, before));
    await change(store, put('rule', 'b'));
    const after = await place.open().read();
    t.same([...(after.past?.keys() ?? [])], [revision, revision + 1]);
  },
};
