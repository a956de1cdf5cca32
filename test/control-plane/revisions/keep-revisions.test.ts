// Revisions are kept behind reloads: while the store is away the newest wait within a bound, and what is too large is listed without its files.
import { randomBytes } from 'node:crypto';
import { type Test, test } from 'tap';
import { keepRevisions, type RevisionKeeperParts } from '../../../control-plane/revisions/keep-revisions.ts';
import { filesOf } from '../../../control-plane/revisions/pack-files.ts';
import type { ConfigEvent } from '../../../gitops/follow/config-status.ts';
import { hashOf, revisionOf, type SourceFile } from '../../../gitops/read/read.ts';
import { openRecordStore } from '../../../store/records/open-records.ts';
import { StoreUnavailable } from '../../../store/state/store-unavailable.ts';
import { temporaryDirectory } from '../../support/teardown.ts';
import { waitFor } from '../../support/wait-for.ts';

const file = (name: string, text: string | Uint8Array): SourceFile => ({ name, path: name, bytes: Buffer.from(text) });

function applied(...files: SourceFile[]): ConfigEvent {
  return { kind: 'applied', revision: revisionOf(hashOf(files, [])), problems: [], changes: [], files };
}

function startKeeper(t: Test, more: Partial<RevisionKeeperParts> = {}) {
  const store = openRecordStore({ directory: temporaryDirectory(t, 'gateway-records') });
  t.teardown(() => store.close());
  const lines: string[] = [];
  const say = (fields: unknown, text = String(fields)): void => void lines.push(text);
  const away = { isAway: false };
  const keeper = keepRevisions({
    store: {
      ...store,
      keepRevision: (...input) =>
        away.isAway ? Promise.reject(new StoreUnavailable('unreachable', 'it is away')) : store.keepRevision(...input),
    },
    commit: async () => undefined,
    mostBytes: () => 1e9,
    context: { environment: {}, variables: 'keep', entitlements: new Set() },
    secrets: () => [],
    instance: 'plane',
    kept: () => undefined,
    nowMs: () => 1_000,
    log: { info: say, warn: say },
    ...more,
  });
  t.teardown(() => keeper.close());
  const listed = async () => (await store.revisions()).map(({ revision }) => revision);
  return { store, keeper, away, lines, listed };
}

await test('while the store is away reloads go on, the newest revisions wait, and the others are counted', async (t) => {
  const { keeper, away, lines, listed } = startKeeper(t);
  away.isAway = true;
  const events = Array.from({ length: 100 }, (_, index) => applied(file('a.yaml', `{} # ${index}`)));
  for (const event of events) keeper.note(event);
  await waitFor('trouble', () => keeper.status().trouble !== undefined);
  t.match(keeper.status(), { kept: 0, lost: 80, trouble: 'it is away' });
  away.isAway = false;
  await waitFor('the newest', async () => (await listed())[0] === events.at(-1)?.revision);
  t.same(
    await listed(),
    events
      .slice(-20)
      .map(({ revision }) => revision)
      .toReversed(),
  );
  t.match(keeper.status(), { kept: 20, lost: 80, trouble: undefined });
  t.match(lines, [/cannot be kept.* the newest wait/, /are kept again/], 'once each');
});

await test('only the newest of large ones waits', async (t) => {
  const { keeper, away, listed } = startKeeper(t);
  away.isAway = true;
  const large = 'x'.repeat(9 * 1024 * 1024);
  const events = ['a', 'b', 'c'].map((name) => applied(file(`${name}.yaml`, large)));
  for (const event of events) keeper.note(event);
  t.equal(keeper.status().lost, 2);
  await waitFor('trouble', () => keeper.status().trouble !== undefined);
  away.isAway = false;
  await waitFor('it is kept', async () => (await listed()).length === 1);
  t.same(await listed(), [events[2]?.revision]);
});

await test('a directory of many files takes room once, and one beyond the bound is listed without its files', async (t) => {
  const most = 256 * 1024;
  const { keeper, store, listed } = startKeeper(t, { mostBytes: () => most });
  const many = Array.from({ length: 5_000 }, (_, index) =>
    file(`${String(index).padStart(4, '0')}.yaml`, `{} # ${index}`),
  );
  const [first, second] = [applied(...many), applied(...many.slice(0, -1), file('last.yaml', '{}'))];
  for (const event of [first, second]) keeper.note(event);
  await waitFor('both', async () => (await listed()).length === 2);
  t.match((await store.revisions())[0]?.files, { count: 5_000 });
  t.equal((await filesOf(store, first.revision))?.length, 5_000);
  const huge = applied(file('a.yaml', randomBytes(most)));
  keeper.note(huge);
  await waitFor('the third', async () => (await listed())[0] === huge.revision);
  t.match((await store.revisions())[0], { facts: { without_files: 'too_large' }, files: undefined });
  t.equal(await filesOf(store, huge.revision), undefined);
  t.same(keeper.status(), { kept: 3, lost: 0 });
});

await test('what the store refuses for ever is given up, and the next one is kept', async (t) => {
  const { store } = startKeeper(t);
  let isBroken = true;
  const { keeper, lines, listed } = startKeeper(t, {
    store: {
      ...store,
      keepRevision: (...input) => (isBroken ? Promise.reject(new Error('broken')) : store.keepRevision(...input)),
    },
  });
  keeper.note(applied(file('a.yaml', '{}')));
  await waitFor('it is lost', () => keeper.status().lost === 1);
  isBroken = false;
  keeper.note(applied(file('a.yaml', '{} #')));
  await waitFor('it is kept', () => keeper.status().kept === 1);
  t.match(lines, [/could not be kept/, /kept again/]);
  t.same(await listed(), []);
  t.equal((await store.revisions()).length, 1);
});
