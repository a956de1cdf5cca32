// Managed documents are never written to a store that has lost them, and a write in doubt is said to be one.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Test, test } from 'tap';
import { storeRefusal } from '../../control-plane/admin/store-refusal.ts';
import { guardDocuments } from '../../control-plane/store/documents.ts';
import { createVerdict, type Sight } from '../../control-plane/store/verdict.ts';
import { followState } from '../../store/state/follow-state.ts';
import { openStateStore } from '../../store/state/open.ts';
import { stateFilePath } from '../../store/state/sqlite/file.ts';
import type { Commit } from '../../store/state/state-store.ts';
import { StoreUnavailable } from '../../store/state/store-unavailable.ts';
import { openSealedStore } from '../support/sealed.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

const start = Date.UTC(2026, 0, 1);

function startVerdict() {
  const at = { nowMs: start };
  const verdict = createVerdict(() => at.nowMs);
  const see = (afterMs: number, sight: Partial<Sight>): [isLost: boolean, isDecided: boolean] => {
    at.nowMs += afterMs;
    verdict.see({ store: 'nameless', liveProxies: 0, isRemembered: false, ...sight });
    return [verdict.isLost(), verdict.isDecided()];
  };
  return see;
}

const [open, isNew, isLost] = [
  [false, false],
  [false, true],
  [true, true],
];

await test('a store without an id is new once every proxy has had the time to speak', (t) => {
  const alone = startVerdict();
  t.same(alone(0, {}), open);
  t.same(alone(2_900, {}), open);
  t.same(alone(200, {}), isNew);
  const fleet = startVerdict();
  t.same(fleet(0, { liveProxies: 1 }), open);
  t.same(fleet(500, { liveProxies: 2 }), open);
  t.same(fleet(500, { liveProxies: 2 }), isNew);
  t.end();
});

await test('a store that was away is looked at anew', (t) => {
  const see = startVerdict();
  see(0, {});
  t.same(see(5_000, { store: 'unread' }), isNew, 'there is nothing to decide');
  t.same(see(500, {}), open);
  t.same(see(2_500, { liveProxies: 1, isRemembered: true }), isLost);
  t.end();
});

await test('a store that is met before the next look is not decided either', (t) => {
  const at = { nowMs: start };
  const verdict = createVerdict(() => at.nowMs);
  verdict.see({ store: 'unread', liveProxies: 0, isRemembered: false });
  verdict.meet();
  t.same([verdict.isLost(), verdict.isDecided()], open);
  at.nowMs += 3_000;
  t.same([verdict.isLost(), verdict.isDecided()], isNew);
  t.end();
});

await test('a store that proxies remember is lost until they say otherwise, and silence says nothing', (t) => {
  const see = startVerdict();
  t.same(see(0, { liveProxies: 1, isRemembered: true }), isLost);
  t.same(see(60_000, {}), isLost, 'the only proxy was stopped');
  t.same(see(500, { store: 'unread' }), isLost);
  t.same(see(500, { liveProxies: 1 }), open, 'it was started again and knows nothing');
  t.same(see(1_000, { liveProxies: 1 }), isNew);
  see(500, { liveProxies: 1, isRemembered: true });
  t.same(see(500, { store: 'named' }), isNew, 'or the store has its documents again');
  t.end();
});

/** A guard over a real store, with nobody who knows documents here. */
function startGuard(t: Test, verdict = { meet: () => undefined, isLost: () => false, isDecided: () => true }) {
  const directory = temporaryDirectory(t);
  const store = openStateStore({ directory, timeoutMs: 300 });
  t.teardown(() => store.close());
  const follower = {
    state: () => ({ storeId: undefined, revision: 0, kinds: new Map(), documents: [], skipped: [] }),
    status: () => ({
      storeId: undefined,
      revision: 0,
      source: 'nothing' as const,
      isUp: true,
      isEmptied: false,
      skipped: { unreadable: 0, unsealed: 0 },
    }),
    refresh: async () => undefined,
    commit: (wanted: Commit) => store.commit(wanted),
    kept: async () => undefined,
  };
  return { documents: guardDocuments(store, follower, verdict), directory };
}

const commit = { expected: new Map(), changes: [{ kind: 'rate_limit', id: 'a', body: {} }] };

await test('a commit that gets no answer is in doubt; what could not be read is not', async (t) => {
  const { documents, directory } = startGuard(t);
  t.match(await documents.commit(commit), { revision: 1 });
  const other = new DatabaseSync(stateFilePath(directory));
  t.teardown(() => other.close());
  other.exec('BEGIN EXCLUSIVE');
  const refused = await documents.commit(commit).catch((error: unknown) => storeRefusal(error));
  t.match(refused, { status: 503, code: 'store_unavailable', message: /may have happened.* look before/ });
  const unread = storeRefusal(new StoreUnavailable('unreachable', 'x'));
  t.notMatch((unread as Error).message, /may have happened/);
});

await test('what an empty store is must be decided before it is read', async (t) => {
  const verdict = { lost: false, decided: false, asked: 0 };
  const { documents } = startGuard(t, {
    meet: () => undefined,
    isLost: () => verdict.lost,
    isDecided() {
      verdict.asked += 1;
      return verdict.decided;
    },
  });
  const order: string[] = [];
  const reading = documents.read().then(() => order.push('read'));
  await waitFor('it to be asked again', () => verdict.asked > 2);
  order.push('decided');
  verdict.decided = true;
  await reading;
  t.same(order, ['decided', 'read']);
  verdict.lost = true;
  await t.rejects(documents.read(), StoreUnavailable);
});

await test('documents in force are not read again, and those that somebody else has written are', async (t) => {
  const directory = temporaryDirectory(t);
  const [store, other] = [openSealedStore({ directory, pollMs: 60_000 }), openSealedStore({ directory })];
  t.teardown(() => Promise.all([store.close(), other.close()]));
  await other.commit(commit);
  const reports = { apply: () => undefined, report: () => undefined };
  const follower = await followState({ store, copyPath: join(directory, 'copy.json'), reseeds: false, ...reports });
  const verdict = { meet: () => undefined, isLost: () => false, isDecided: () => true };
  const documents = guardDocuments(store, follower, verdict);
  t.equal(await documents.read(), follower.state(), 'the same object');
  await other.commit({ expected: new Map(), changes: [{ kind: 'rate_limit', id: 'b', body: {} }] });
  t.same(
    (await documents.read()).documents.map(({ id }) => id),
    ['a', 'b'],
  );
  t.equal(await documents.read(), follower.state());
});
