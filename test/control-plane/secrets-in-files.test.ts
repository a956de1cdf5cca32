// Files of the configuration in which a secret is written out come into no document of the state store.
import { test } from 'tap';
import { type PinnableRevisions, readPin } from '../../control-plane/admin/config-pin/pins.ts';
import { RolloutKeeper } from '../../control-plane/rollout/keep-rollout.ts';
import { openStateStore } from '../../store/state/open.ts';
import { temporaryDirectory } from '../support/teardown.ts';

const secret = 'a-key-of-no-known-shape-1234';
const filesOf = (value: string) => async () => [
  { name: 'a.yaml', path: 'a.yaml', bytes: Buffer.from(`providers: { a: { api_key: "${value}" } }\n`) },
];
const body = { revision: 'abcdefabcdef', reason: 'a test', expires_in: '2h' };

await test('a revision with a secret cannot be pinned', async (t) => {
  const pinnable = (value: string): PinnableRevisions => ({
    previous: async () => undefined,
    filesOf: filesOf(value),
    secrets: () => [secret],
  });
  t.match(await readPin(body, 0, pinnable(`$\{A_KEY}`)), { revision: body.revision });
  for (const value of [secret, `sk-proj-${'a1B2'.repeat(12)}`]) {
    const refused = await readPin(body, 0, pinnable(value)).catch((error: unknown) => error);
    t.match(refused, { message: /a secret seems to be written out in them/ });
    t.notMatch(refused, { message: value });
  }
});

await test('a revision with a secret is for all proxies at once, and the log says so', async (t) => {
  const store = openStateStore({ directory: temporaryDirectory(t) });
  t.teardown(() => store.close());
  const warnings: unknown[] = [];
  const keeper = new RolloutKeeper({
    store,
    fleet: { proxies: () => [], witnesses: () => undefined },
    documents: () => [],
    status: () => undefined,
    rollout: () => undefined,
    filesOf: filesOf(secret),
    secrets: () => [secret],
    nowMs: Date.now,
    log: { info: () => undefined, warn: (...said: unknown[]) => void warnings.push(said) },
  });
  await keeper.change(() => ({ stable: 'abcdefabcdef', gates: true }));
  const { documents } = await store.read();
  t.match(documents, [{ kind: 'config_rollout', body: { gates: false, files: '' } }]);
  t.match(JSON.stringify(warnings), /a secret seems to be written out in it .* in force everywhere at once/);
});
