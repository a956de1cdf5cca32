// A restore that is meant: a command puts an older state in force in every process, and lists first what it changes.
import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Test, test } from 'tap';
import { restoreState } from '../../control-plane/restore-state.ts';
import { authKeyBody } from '../../domain/keys/auth-key.ts';
import { followState } from '../../store/state/follow-state.ts';
import { keepState } from '../../store/state/last-good-state.ts';
import type { StoreSettings } from '../../store/state/open.ts';
import type { SealedStore } from '../../store/state/sealed-store.ts';
import type { StateEvent } from '../../store/state/state-status.ts';
import type { StoredState } from '../../store/state/state-store.ts';
import { masterKey } from '../support/gateway.ts';
import { sampleKey } from '../support/managed-state.ts';
import { startRedis } from '../support/redis.ts';
import { openSealedStore } from '../support/sealed.ts';
import { copyState } from '../support/state-copy.ts';
import { commitAnyhow } from '../support/store-calls.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

interface Stand {
  readonly settings: StoreSettings;
  readonly store: SealedStore;
  readonly put: (kind: string, id: string, body: object | undefined) => Promise<unknown>;
}

function startStand(t: Test, redisUrl?: string): Stand {
  const dataDirectory = temporaryDirectory(t);
  const settings = { dataDirectory, redisUrl, redisPrefix: 'gateway', masterKey, previousMasterKey: undefined };
  const redis = redisUrl === undefined ? {} : { redisUrl };
  const store = openSealedStore({ directory: dataDirectory, pollMs: 20, timeoutMs: 2_000, ...redis });
  t.teardown(() => store.close());
  return {
    settings,
    store,
    put: (kind, id, body) => commitAnyhow(store, { expected: new Map(), changes: [{ kind, id, body }] }),
  };
}

const key = (id: string, enabled: boolean): object => authKeyBody(sampleKey(`sk-gw-${id}`, { id, enabled }));
const ids = ({ documents }: StoredState): string[] => documents.map(({ id }) => id);

/** An older state and what has changed since. */
async function changeSince({ put }: Stand, keep: () => Promise<void>): Promise<void> {
  await put('rate_limit', 'old', { cap: 1 });
  await put('auth_key', 'k', key('k', true));
  await put('reset_epoch', 'r', { epoch: 1 });
  await put('config_rollout', 'fleet', { stable: 'older', gates: true, files: 'older' });
  await keep();
  await put('config_rollout', 'fleet', undefined);
  await put('reset_epoch', 'r', { epoch: 4 });
  await put('auth_key', 'k', key('k', false));
  await put('rate_limit', 'old', undefined);
  await put('rate_limit', 'new', { cap: 1 });
}

await test('a copy of the file is listed first, then in force in running processes', async (t) => {
  const stand = startStand(t);
  const { settings, store, put } = stand;
  const path = join(settings.dataDirectory, 'backup.sqlite');
  await changeSince(stand, async () => {
    copyState(settings.dataDirectory);
    copyFileSync(join(settings.dataDirectory, 'state.sqlite.copy'), path);
  });
  const events: StateEvent[] = [];
  const follow = async (name: string, owner?: { nowMs: () => number; witnesses: () => undefined }) => {
    const follower = await followState({
      store,
      copyPath: join(settings.dataDirectory, name),
      ...(owner === undefined ? {} : { owner }),
      apply: () => undefined,
      report: (event) => void events.push(event),
    });
    t.teardown(() => follower.end());
    return follower;
  };
  const followers = [await follow('plane', { nowMs: Date.now, witnesses: () => undefined }), await follow('proxy')];
  const before = await store.read();

  const listed = await restoreState(['backup.sqlite'], settings, settings.dataDirectory);
  t.equal(listed.code, 0);
  t.match(
    listed.output,
    /key "k" \(.*\) changed, AND WORKS AGAIN\n.*rule "new" removed\n.*rule "old" added\n.*nothing was changed/s,
  );
  t.notMatch(listed.output, /reset/, 'a reset is not undone');
  t.same(await store.read(), before, 'nothing was');

  const done = await restoreState(['--yes', path], settings, '/');
  t.match(done, { code: 0, output: /restored: every process/ });
  for (const follower of followers)
    await waitFor('the restored state', () => ids(follower.state()).join() === 'k,old,r');
  const restored = await store.read();
  t.match(restored.documents, [{ body: { enabled: true } }, { body: { cap: 1 } }, { body: { epoch: 4 } }]);
  t.ok(restored.revision > before.revision);
  t.not(restored.storeId, before.storeId);
  t.ok(events.some(({ kind }) => kind === 'replaced'));
  await put('rate_limit', 'after', {});
  for (const follower of followers) await waitFor('a change afterwards', () => ids(follower.state()).includes('after'));
  t.notOk(events.some(({ kind }) => kind === 'behind'));
});

await test('a copy of the managed state, and a Redis with a snapshot, are sources too', async (t) => {
  const [server, snapshot] = [await startRedis(t), await startRedis(t)];
  const stand = startStand(t, server.url);
  const elsewhere = startStand(t, snapshot.url);
  const path = join(stand.settings.dataDirectory, 'last-good-state.json');
  await changeSince(stand, async () => {
    const { storeId = '', ...state } = await stand.store.read();
    await keepState(path, { ...state, storeId });
    await snapshot.client().replicaof('127.0.0.1', server.port);
    await waitFor('a replica', async () => (await elsewhere.store.revision()).revision === state.revision);
    await snapshot.client().replicaof('NO', 'ONE');
  });
  for (const source of [path, snapshot.url]) {
    t.match(await restoreState([source, '--yes'], stand.settings, '/'), { code: 0 });
    t.same(ids(await stand.store.read()), ['k', 'old', 'r']);
    await stand.put('rate_limit', 'old', undefined);
  }
});

await test('what the store says after it was restored while nothing ran is put in force by name', async (t) => {
  const stand = startStand(t);
  let restore = (): void => undefined;
  await changeSince(stand, async () => {
    restore = copyState(stand.settings.dataDirectory);
  });
  const { storeId } = await stand.store.read();
  restore();
  t.match(await restoreState(['store', '--yes'], stand.settings, '/'), { code: 0 });
  const restored = await stand.store.read();
  t.same(ids(restored), ['k', 'old', 'r']);
  t.not(restored.storeId, storeId);
});

await test('a source that is none, or not sealed by this key, and a wrong command say what is wrong', async (t) => {
  const { settings, store, put } = startStand(t);
  await put('rate_limit', 'mine', {});
  const stranger = temporaryDirectory(t);
  const other = openSealedStore({ directory: stranger }, 'another master key');
  t.teardown(() => other.close());
  await commitAnyhow(other, { expected: new Map(), changes: [{ kind: 'rate_limit', id: 'theirs', body: {} }] });
  writeFileSync(join(stranger, 'text'), 'no state');
  const run = (...args: string[]) => restoreState(args, settings, stranger);
  t.match(await run('--yes', 'absent'), { code: 1, output: /there is no file .*absent/ });
  t.match(await run('--yes', 'text'), { code: 1, output: /is ignored: it is damaged/ });
  t.match(await run('state.sqlite'), { code: 0, output: /"theirs" is left out: it has no seal/ });
  t.match(await run(), { code: 2, output: /name one source\nusage:/ });
  t.match(await run('store', '--force'), { code: 2, output: /--force is unknown/ });
  t.match(await run('--help'), { code: 0, output: /Keys that were\s+revoked since then work again/ });
  t.same(ids(await store.read()), ['mine']);
});
