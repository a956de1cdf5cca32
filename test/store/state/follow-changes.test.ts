// A process reads what has changed, not everything; and what it has in force then is what reading everything gives.
import { join } from 'node:path';
import { type Test, test } from 'tap';
import type { StateOwner, Witnesses } from '../../../store/state/custody.ts';
import { followState } from '../../../store/state/follow-state.ts';
import { type SealedStore, sealDocuments } from '../../../store/state/sealed-store.ts';
import type { StateFollower } from '../../../store/state/state-follower.ts';
import type { Change, StoredState } from '../../../store/state/state-store.ts';
import { type Engine, redis, type StoreUnderTest, sqlite } from '../../contracts/state-store-engines.ts';
import { isFull } from '../../support/extent.ts';
import { createRandom } from '../../support/random.ts';
import { commitAnyhow } from '../../support/store-calls.ts';
import { temporaryDirectory } from '../../support/teardown.ts';
import { waitFor } from '../../support/wait-for.ts';

const masterKey = 'our-master-key-0123';

interface Counted {
  /** How often all documents were read. */
  wholes: number;
  /** Of how many documents was read what has become of them. */
  single: number;
}

interface Following {
  readonly follower: StateFollower;
  readonly applied: readonly StoredState[];
  readonly counted: Counted;
}

async function follow(t: Test, place: StoreUnderTest, owner?: StateOwner): Promise<Following> {
  const counted: Counted = { wholes: 0, single: 0 };
  const sealed = sealDocuments(place.open(), { masterKey });
  const store: SealedStore = {
    ...sealed,
    async read() {
      counted.wholes += 1;
      return sealed.read();
    },
    async changesSince(seen) {
      const changes = await sealed.changesSince(seen);
      if (changes !== undefined) counted.single += changes.documents.length + changes.deleted.length;
      return changes;
    },
  };
  const applied: StoredState[] = [];
  const follower = await followState({
    store,
    copyPath: join(temporaryDirectory(t), 'copy.json'),
    ...(owner === undefined ? {} : { owner }),
    apply: (state) => void applied.push(state),
    report: () => undefined,
  });
  t.teardown(() => follower.end());
  return { follower, applied, counted };
}

/** As the follower has it in force, in a form to compare. */
const plain = ({ storeId, revision, mark, kinds, documents, skipped, past }: StoredState): object => {
  return {
    storeId,
    revision,
    mark,
    kinds: [...kinds].sort(([a], [b]) => (a < b ? -1 : 1)),
    documents,
    skipped,
    past: [...(past ?? [])],
  };
};

const documents = (count: number): Change[] =>
  Array.from({ length: count }, (_, number) => ({ kind: 'rate_limit', id: `rule ${number}`, body: { number } }));

const cases: Readonly<Record<string, (t: Test, engine: Engine) => Promise<void>>> = {
  async 'one document among 5,000 is read alone, and the others are the same objects as before'(t, engine) {
    const place = await engine.start(t);
    const writer = sealDocuments(place.store, { masterKey });
    const all = documents(5_000);
    for (let first = 0; first < all.length; first += 1_000) {
      await commitAnyhow(writer, { expected: new Map(), changes: all.slice(first, first + 1_000) });
    }
    const { follower, applied, counted } = await follow(t, place);
    const before = follower.state();
    const changes = [{ kind: 'rate_limit', id: 'rule 70', body: { number: 1 } }];
    const { revision } = await commitAnyhow(writer, { expected: new Map(), changes });
    await waitFor('the change', () => applied.at(-1)?.revision === revision);
    t.strictSame(counted, { wholes: 1, single: 1 });
    const after = follower.state().documents;
    t.equal(after.filter((document, at) => document !== before.documents[at]).length, 1);
  },

  async 'after any changes, by any writer and to any store, what is in force is what all documents are'(t, engine) {
    for (let seed = 1; seed <= (isFull ? 40 : 4); seed += 1) await tryChanges(t, engine, seed);
  },
};

/** Changes of every sort in an order drawn from `seed`. */
async function tryChanges(t: Test, engine: Engine, seed: number): Promise<void> {
  const random = createRandom(seed);
  const draw = (count: number): number => Math.floor(random() * count);
  const place = await engine.start(t);
  const writer = sealDocuments(place.open(), { masterKey });
  await commitAnyhow(writer, { expected: new Map(), changes: documents(20) });
  const proxy = await follow(t, place);
  const heard = (): Witnesses => {
    return { atMs: Date.now(), live: 1, remembering: 1, seen: [proxy.follower.status()] };
  };
  const owner = await follow(t, place, { nowMs: Date.now, witnesses: heard });
  const drawn = (): Change => {
    const [kind, id] = [['auth_key', 'rate_limit', 'budget'][draw(3)] ?? '', `rule ${draw(30)}`];
    return { kind, id, body: draw(4) === 0 ? undefined : { number: draw(1_000) } };
  };
  let former = await place.store.read();
  const forge = (): Promise<unknown> =>
    commitAnyhow(place.store, { expected: new Map(), changes: [{ ...drawn(), body: { number: 1, seal: 'v1.x' } }] });
  const goBack = async (): Promise<unknown> => place.store.rewrite(former, await place.store.revision());
  const steps: Readonly<Record<string, () => Promise<unknown>>> = {
    commit: () => commitAnyhow(writer, { expected: new Map(), changes: Array.from({ length: 1 + draw(4) }, drawn) }),
    'a commit of the owner': async () => {
      const { storeId = null } = owner.follower.state();
      return owner.follower.commit({ storeId, expected: new Map(), changes: [drawn()] });
    },
    'a forgotten change': async () => place.forgetNames((await place.store.revision()).revision),
    remember: async () => {
      former = await place.store.read();
    },
    // A proxy that does not know all documents leaves a store that went back to others: so it is one or the other.
    ...(seed % 2 === 0 ? { 'a forged document': forge } : { 'go back': goBack }),
    look: () => Promise.all([proxy.follower.refresh(), owner.follower.refresh()]),
  };
  const names = Object.keys(steps);
  const taken: string[] = [];
  for (let step = 0; step < 25; step += 1) {
    const name = names[draw(names.length)] ?? '';
    taken.push(name);
    await steps[name]?.();
  }
  const reader = sealDocuments(place.open(), { masterKey });
  await waitFor(`both to have what is stored after ${taken.join()} (${engine.name}, seed ${seed})`, async () => {
    await Promise.all([proxy.follower.refresh(), owner.follower.refresh()]);
    const [stored, ...followed] = [await reader.read(), proxy.follower.state(), owner.follower.state()];
    return followed.every((state) => JSON.stringify(plain(state)) === JSON.stringify(plain(stored)));
  });
  t.pass(`seed ${seed}: ${taken.length} steps, ${proxy.counted.single} documents read alone`);
}

for (const engine of [sqlite, redis]) {
  for (const [claim, run] of Object.entries(cases)) await test(`${engine.name}: ${claim}`, (t) => run(t, engine));
}
