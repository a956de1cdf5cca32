// Sessions that last end with the authority that opened them: a managed key that is revoked, a master key that another one has followed.
import { test } from 'tap';
import { credentialsOf } from '../../domain/keys/credentials.ts';
import { createKeyStreams } from '../../proxy/kept/key-streams.ts';
import { compile } from '../../proxy/snapshot/compile.ts';
import { sampleKey } from '../support/managed-state.ts';
import { waitFor } from '../support/wait-for.ts';
import { sampleConfig } from './sample-config.ts';

await test('what a token opened ends with the token', async (t) => {
  const snapshot = compile(sampleConfig({}), '', credentialsOf('first', []));
  const token = sampleKey('token', { id: 'company:ann' });
  let holds = true;
  const tokenKeys = { now: () => (holds ? token : undefined) };
  const streams = createKeyStreams(
    () => snapshot,
    () => 0,
    tokenKeys,
  );
  const cut = new Set<string>();
  const unwatch = [
    streams.watch({ keyId: token.id, tokenKey: token }, () => void cut.add('session'), true),
    streams.watch({ keyId: token.id, tokenKey: token }, () => void cut.add('stream')),
  ];
  t.teardown(() => unwatch.map((end) => end()));
  holds = false;
  await waitFor('the session', () => cut.has('session'));
  t.same([...cut], ['session'], 'streams of models go on, as with keys');
});

await test('a session ends when its key has expired by the clock as it is then, or another master key is in force', async (t) => {
  const expiresAtMs = 1_000_000;
  const keys = [sampleKey('a', { id: 'a', expiresAtMs }), sampleKey('b', { id: 'b' })];
  let now = 1_000;
  let snapshot = compile(sampleConfig({}), '', credentialsOf('first', keys));
  const streams = createKeyStreams(
    () => snapshot,
    () => now,
  );
  const cut = new Set<string>();
  const unwatch = [
    streams.watch({ keyId: 'a' }, () => void cut.add('a'), true),
    streams.watch({ keyId: 'b' }, () => void cut.add('b'), true),
    streams.watchMaster('first', () => void cut.add('first')),
  ];
  t.teardown(() => unwatch.map((end) => end()));
  now = expiresAtMs;
  await waitFor('the expired key', () => cut.has('a'));
  t.same([...cut], ['a']);
  snapshot = compile(sampleConfig({}), '', credentialsOf('second', keys));
  await waitFor('the former master key', () => cut.has('first'));
  t.same([...cut], ['a', 'first']);
});
