// What a store says has changed since a position: only what is certain, and as it is at one moment.
import { changedState } from '../../store/state/changed-state.ts';
import { mostNamed } from '../../store/state/state-store.ts';
import { type Case, change, put, remove } from './state-store-case-tools.ts';

export const sinceCases: Readonly<Record<string, Case>> = {
  async 'what was changed since a position comes alone, each document as it is now'(t, engine) {
    const place = await engine.start(t);
    const { store } = place;
    await change(store, put('rule', 'a'), put('rule', 'b'), put('rule', 'c'), put('key', 'k'), put('Ω "\n', '/é😀'));
    const before = await store.read();
    await change(store, put('rule', 'b', 1), remove('rule', 'a'), put('rule', 'new'), remove('rule', 'never there'));
    await change(store, put('rule', 'b', 2), remove('rule', 'new'), put('rule', 'a', 3), remove('rule', 'c'));
    await change(store, put('Ω "\n', '/é😀', null));
    const other = place.open();
    const changes = await other.changesSince(before);
    t.same(changes?.documents, [
      { kind: 'rule', id: 'a', body: 3, revision: 3 },
      { kind: 'rule', id: 'b', body: 2, revision: 3 },
      { kind: 'Ω "\n', id: '/é😀', body: null, revision: 4 },
    ]);
    t.same(changes?.deleted.map(({ id }) => id).sort(), ['c', 'never there', 'new']);
    t.same(changes && changedState(before, changes), await other.read(), 'which makes of it what is read');
    const now = await other.revision();
    t.same(await other.changesSince(now), {
      ...now,
      kinds: new Map(),
      documents: [],
      deleted: [],
      skipped: [],
      past: new Map(),
    });
  },

  async 'nothing is said of a position that the store does not go on from'(t, engine) {
    const { store } = await engine.start(t);
    t.equal(await store.changesSince(await store.revision()), undefined, 'there is no id');
    await store.initialise();
    t.equal(await store.changesSince(await store.revision()), undefined, 'there is no mark');
    await change(store, put('rule', 'a'));
    const seen = await store.revision();
    await change(store, put('rule', 'b'));
    t.ok(await store.changesSince(seen));
    const others = [{ mark: 'another' }, { mark: undefined }, { storeId: 'another' }, { revision: 0 }, { revision: 9 }];
    for (const other of others) t.equal(await store.changesSince({ ...seen, ...other }), undefined);
  },

  async 'nothing is said of a store that was written back, nor of changes that it does not remember'(t, engine) {
    const { store } = await engine.start(t);
    await change(store, put('rule', 'a'));
    const older = await store.read();
    await change(store, put('rule', 'a', 2));
    const seen = await store.read();
    // The document has a lower revision than was seen, and yet it is another one.
    const written = {
      ...older,
      revision: 3,
      mark: 'm',
      past: new Map([...(seen.past ?? []), [3, { marks: ['m'], deleted: [] }]]),
    };
    t.ok(await store.rewrite(written, seen));
    t.equal(await store.changesSince(seen), undefined);
    const since = await store.revision();
    await change(store, put('rule', 'b'));
    t.same(
      (await store.changesSince(since))?.documents.map(({ id }) => id),
      ['b'],
      'what comes afterwards is',
    );
    t.ok(await store.rewrite({ ...written, revision: 4, past: new Map() }, await store.revision()));
    await change(store, put('rule', 'b'));
    t.equal(await store.changesSince({ ...since, revision: 4, mark: 'm' }), undefined);
  },

  async 'nothing is said of changes by a version that names no documents, nor of a change of very many'(t, engine) {
    const place = await engine.start(t);
    const { store } = place;
    await change(store, put('rule', 'a'));
    const [first, rest] = [await store.revision(), { kind: 'rule', body: 0 }];
    await change(store, put('rule', 'b'));
    const second = await store.revision();
    await change(store, put('rule', 'c'));
    await place.forgetNames(2);
    t.equal(await store.changesSince(first), undefined);
    t.ok(await store.changesSince(second));
    const many = Array.from({ length: mostNamed + 1 }, (_, number) => ({ ...rest, id: String(number) }));
    await change(store, ...many.slice(1));
    t.equal((await store.changesSince(second))?.documents.length, mostNamed + 1);
    await change(store, ...many);
    t.equal(await store.changesSince(second), undefined);
  },

  async 'garbage among what was changed is skipped'(t, engine) {
    const place = await engine.start(t);
    const { store } = place;
    await change(store, put('rule', 'a'));
    const seen = await store.revision();
    await change(store, put('rule', 'b'), remove('rule', 'c'));
    await place.putDocument('rule', 'c', '{"revision":');
    t.match(await store.changesSince(seen), {
      documents: [{ id: 'b' }],
      deleted: [],
      skipped: [{ kind: 'rule', id: 'c' }],
    });
    await place.empty();
    t.equal(await store.changesSince(seen), undefined);
  },
};
