// Seals on stored documents, in both engines: a program with write access but no master key gets nothing into force.
import { type Test, test } from 'tap';
import { sealKey, sealOf } from '../../../store/state/seal.ts';
import { type SealedStore, sealDocuments } from '../../../store/state/sealed-store.ts';
import type { SealOptions } from '../../../store/state/seals.ts';
import type { StoredState } from '../../../store/state/state-store.ts';
import { type Engine, redis, type StoreUnderTest, sqlite } from '../../contracts/state-store-engines.ts';
import { commitAnyhow } from '../../support/store-calls.ts';

const [ours, former, strange] = ['our-master-key-0123', 'the-former-key-0123', 'a-strange-key-01234'];
const kind = 'auth_key';
const body = { name: 'a', list: [1, { deep: null }], text: 'é\ud800"' };

function open(place: StoreUnderTest, more: Partial<SealOptions> = {}): SealedStore {
  return sealDocuments(place.store, { masterKey: ours, ...more });
}

const put = (store: Pick<SealedStore, 'commit' | 'revision'>, id: string, what: unknown = body) =>
  commitAnyhow(store, { expected: new Map(), changes: [{ kind, id, body: what }] });

const remove = (store: SealedStore, id: string) =>
  commitAnyhow(store, { expected: new Map(), changes: [{ kind, id, body: undefined }] });

const found = ({ documents }: StoredState) => Object.fromEntries(documents.map(({ id, body: what }) => [id, what]));
const outdated = ({ documents }: StoredState) => documents.filter(({ isOutdated }) => isOutdated).map(({ id }) => id);
const unsealed = ({ skipped }: StoredState) =>
  skipped
    .filter(({ isUnsealed }) => isUnsealed)
    .map(({ id }) => id)
    .sort();
const seal = (key: string, id: string, what: object) => sealOf(sealKey(key), { kind, id }, what);
const sealedBody = (key: string, id: string, what: object) => ({ ...what, seal: seal(key, id, what) });

/** Puts a document into the store as another program does; every one has the revision 1. */
async function forge(place: StoreUnderTest, engine: Engine, id: string, what: unknown): Promise<void> {
  const text = typeof what === 'string' ? what : JSON.stringify(what);
  await place.putDocument(kind, id, engine === redis ? `{"revision":1,"body":${text}}` : text);
}

const cases: Readonly<Record<string, (t: Test, engine: Engine) => Promise<void>>> = {
  async 'a document comes back plain, and lies there sealed, readable by those who know nothing of seals'(t, engine) {
    const place = await engine.start(t);
    const store = open(place);
    await put(store, 'a');
    t.match(await store.read(), {
      documents: [{ id: 'a', body, revision: 1, seal: seal(ours, 'a', body) }],
      skipped: [],
    });
    t.same(found(await store.read())['a'], body);
    t.same(found(await place.store.read())['a'], sealedBody(ours, 'a', body));
    await t.rejects(put(store, 'b', 'text'), TypeError);
    await remove(store, 'a');
    t.same((await store.read()).documents, []);
  },

  async 'what was forged is skipped, and takes nothing else out of force'(t, engine) {
    const place = await engine.start(t);
    const store = open(place);
    await put(store, 'good');
    const raw = place.store;
    await forge(place, engine, 'no seal', body);
    await forge(place, engine, 'the seal of another', sealedBody(ours, 'good', body));
    await forge(place, engine, 'the seal of another key', sealedBody(strange, 'the seal of another key', body));
    await forge(place, engine, 'another body', { ...sealedBody(ours, 'another body', body), name: 'b' });
    await forge(place, engine, 'a strange seal', { ...body, seal: 'v1.é' });
    await forge(place, engine, 'a seal that is no text', { ...body, seal: [1] });
    await forge(place, engine, 'no object', [1]);
    await forge(place, engine, 'deep', `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`);
    await forge(place, engine, 'deep and sealed', `{"seal":"v1.x","a":${'['.repeat(20_000)}${']'.repeat(20_000)}}`);
    const sealedElsewhere = sealOf(sealKey(ours), { kind: 'rate_limit', id: 'another kind' }, body);
    await forge(place, engine, 'another kind', { ...body, seal: sealedElsewhere });
    t.equal((await raw.read()).documents.length, 11, 'they can be read');
    const state = await store.read();
    t.same(found(state), { good: body });
    t.same(unsealed(state), [
      'a seal that is no text',
      'a strange seal',
      'another body',
      'another kind',
      'deep',
      'deep and sealed',
      'no object',
      'no seal',
      'the seal of another',
      'the seal of another key',
    ]);
  },

  async 'a body changed under its revision is looked at again'(t, engine) {
    const place = await engine.start(t);
    const store = open(place);
    await put(store, 'a', { name: 'a', enabled: false });
    await store.read();
    const good = found(await place.store.read())['a'] as object;
    await remove(store, 'a');
    await forge(place, engine, 'a', { ...good, enabled: true });
    t.same(unsealed(await store.read()), ['a']);
  },

  async 'the order of members is no part of what is sealed'(t, engine) {
    const place = await engine.start(t);
    await open(place).initialise();
    const turned = Object.fromEntries(Object.entries(sealedBody(ours, 'a', body)).toReversed());
    await forge(place, engine, 'a', turned);
    t.same(found(await open(place).read()), { a: body });
  },

  async 'documents sealed with the former key are in force, and known to be'(t, engine) {
    const place = await engine.start(t);
    await put(open(place, { masterKey: former }), 'old');
    await put(open(place), 'new');
    t.same(unsealed(await open(place).read()), ['old'], 'without the former key they are not');
    const state = await open(place, { previousMasterKey: former }).read();
    t.same(found(state), { old: body, new: body });
    t.same(outdated(state), ['old']);
    await put(open(place, { previousMasterKey: former }), 'old');
    t.same(found(await open(place).read()), { old: body, new: body });
  },

  async 'documents without any seal are taken over only where that was asked for, and until it is done'(t, engine) {
    const place = await engine.start(t);
    await put(place.store, 'old');
    await forge(place, engine, 'wrong', sealedBody(strange, 'wrong', body));
    t.same(unsealed(await open(place).read()), ['old', 'wrong']);
    const store = open(place, { adoptsUnsigned: true });
    const state = await store.read();
    t.same([found(state), outdated(state), unsealed(state)], [{ old: body }, ['old'], ['wrong']]);
    store.stopAdopting();
    t.same(unsealed(await store.read()), ['old', 'wrong']);
  },

  async 'without a master key everything is taken as it is, and nothing is sealed'(t, engine) {
    const place = await engine.start(t);
    const store = open(place, { masterKey: undefined });
    await put(store, 'plain');
    await put(open(place), 'sealed');
    const state = await store.read();
    t.same([found(state), outdated(state)], [{ plain: body, sealed: body }, []]);
    await place.empty();
    t.ok(await store.rewrite(state, await store.revision()));
    t.same(found(await place.store.read()), { plain: body, sealed: sealedBody(ours, 'sealed', body) });
  },

  async 'a renewed key: the former one seals while a proxy works with it, and counts until all are sealed anew'(
    t,
    engine,
  ) {
    const place = await engine.start(t);
    const marks = new Set<string>();
    const store = open(place, { masterKey: former, isInUse: (mark) => marks.has(mark) });
    const reader = open(place, { masterKey: former });
    const formerMark = store.keyMark() ?? '';
    t.notMatch(formerMark, /key/);
    marks.add(formerMark);
    await put(store, 'before');

    store.renewKeys({ masterKey: ours });
    t.equal(store.awaitedMark(), formerMark);
    t.not(store.keyMark(), formerMark);
    const change = { kind, id: 'meanwhile', body };
    const result = await commitAnyhow(store, { expected: new Map(), changes: [change] });
    marks.clear();
    // It lies there with the former seal, although the new key seals by now.
    t.match(store.asRead(change, result.revision ?? 0), { isOutdated: true, seal: seal(former, 'meanwhile', body) });
    t.same(outdated(await store.read()), ['before', 'meanwhile']);
    t.same(found(await reader.read()), { before: body, meanwhile: body }, 'what the former key reads');

    reader.renewKeys({ masterKey: ours });
    await put(store, 'before');
    t.same([outdated(await store.read()), outdated(await reader.read())], [['meanwhile'], ['meanwhile']]);
    await put(store, 'meanwhile');
    store.stopAdopting();
    t.same(outdated(await reader.read()), []);
    await forge(place, engine, 'late', sealedBody(former, 'late', body));
    for (const each of [store, reader])
      t.same(unsealed(await each.read()), ['late'], 'the former key is worth nothing');
  },

  async 'an emptied store gets its documents back sealed; a copy elsewhere is believed by its seals alone'(t, engine) {
    const place = await engine.start(t);
    const store = open(place, { previousMasterKey: former });
    await put(open(place, { masterKey: former }), 'old');
    await put(store, 'new');
    const state = await store.read();
    const copy = JSON.parse(JSON.stringify(state.documents)) as StoredState['documents'];
    t.same(found(await open(place).open({ ...state, documents: copy })), { new: body });
    const changed = copy.map((document) => ({ ...document, body: { ...body, name: 'changed' } }));
    t.same(found(await store.open({ ...state, documents: changed })), {});
    await place.empty();
    t.ok(await store.rewrite(state, await store.revision()));
    t.same(found(await open(place).read()), { old: body, new: body });
  },
};

for (const engine of [sqlite, redis]) {
  for (const [claim, run] of Object.entries(cases)) await test(`${engine.name}: ${claim}`, (t) => run(t, engine));
}
