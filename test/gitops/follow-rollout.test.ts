// Following a directory whose revisions are rolled out: what may not be in force yet waits, also after a restart.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import {
  type ConfigRollout,
  configRolloutBody,
  type RolloutState,
} from '../../domain/config-rollouts/config-rollout.ts';
import { configRollouts } from '../../domain/documents/kinds.ts';
import { packFiles } from '../../gitops/read/packed-files.ts';
import { readDirectory, revisionOf } from '../../gitops/read/read.ts';
import { ConfigRollouts } from '../../plane/config-rollouts.ts';
import { bomb, broken, folder, limit, soonMs, start, until } from './following.ts';

const rolled = (cap: number): string => `${limit(cap)}rollout: { for: 1s }\n`;
const revisionIn = async (directory: string): Promise<string> => revisionOf((await readDirectory(directory)).hash);

/** A proxy `p1` that follows a directory, and the rollout that it knows. */
async function stand(t: Parameters<typeof start>[0], text = rolled(1), lastGoodFolder = folder(t)) {
  const directory = folder(t, { 'a.yaml': text });
  const packed = await packFiles((await readDirectory(directory)).files);
  const stable = await revisionIn(directory);
  const begin = (state?: RolloutState) => {
    let following: Awaited<ReturnType<typeof start>>['follower'] | undefined;
    const rollouts = new ConfigRollouts({ instance: 'p1', follower: () => following });
    const say = (next: Omit<RolloutState, 'stable' | 'gates'> & Partial<ConfigRollout>): void => {
      const body = configRolloutBody({ key: 'fleet', files: packed, stable, gates: true, ...next });
      rollouts.documents([{ kind: configRollouts.kind, id: 'fleet', body }]);
    };
    if (state !== undefined) say(state);
    return {
      say,
      following: async () => {
        const started = await start(t, directory, { lastGoodFolder, given: (asked) => rollouts.given(asked) });
        following = started.follower;
        return started;
      },
    };
  };
  return { directory, stable, begin, write: (next: string) => writeFileSync(join(directory, 'a.yaml'), next) };
}

const trialOf = (revision: string, phase: 'canary' | 'aborted' | 'finished', proxies = ['p1']) => ({
  trial: { revision, phase, proxies, beganMs: 0, untilMs: 1_000 },
});

await test('a revision waits until the rollout lets it in, and goes back when it is aborted', async (t) => {
  const { directory, stable, begin, write } = await stand(t);
  const { say, following } = begin();
  const { follower, cap, kinds } = await following();
  t.match(follower.status(), { revision: stable, source: 'directory', waiting: undefined });
  write(rolled(2));
  const next = await revisionIn(directory);
  t.ok(await until(() => follower.status().waiting === next, soonMs), 'it waits before there is a rollout');
  t.equal(cap(), 1);
  say(trialOf(next, 'canary', ['p2']));
  await follower.reload();
  t.equal(cap(), 1, 'another proxy goes first');
  say(trialOf(next, 'canary'));
  t.ok(await until(() => cap() === 2, soonMs), 'this one goes first');
  t.match(follower.status(), { revision: next, source: 'directory', waiting: undefined });
  say(trialOf(next, 'aborted'));
  t.ok(await until(() => cap() === 1, soonMs));
  t.match(follower.status(), { revision: stable, source: 'rollout', waiting: next });
  write(broken);
  t.ok(await until(() => !follower.status().lastReloadSuccessful, soonMs), 'a broken one is told all the same');
  write(rolled(2));
  t.ok(await until(() => follower.status().lastReloadSuccessful, soonMs));
  say({ stable: next, ...trialOf(next, 'finished') });
  t.ok(await until(() => cap() === 2, soonMs), 'finished');
  t.notOk(kinds().includes('given-unusable'));
});

await test('a process that starts in the midst keeps to its place', async (t) => {
  const lastGoodFolder = folder(t);
  const { directory, stable, begin, write } = await stand(t, rolled(1), lastGoodFolder);
  const first = await begin().following();
  await first.follower.close();
  write(rolled(2));
  const next = await revisionIn(directory);
  const alone = await begin().following();
  t.equal(alone.cap(), 1, 'without a rollout yet, by its own copy');
  t.ok(await until(() => alone.follower.status().waiting === next, soonMs));
  await alone.follower.close();
  const tried = await begin({ stable, gates: true, ...trialOf(next, 'canary') }).following();
  t.equal(tried.cap(), 2, 'one that goes first');
  await tried.follower.close();
  const aborted = await begin({ stable, gates: true, ...trialOf(next, 'aborted') }).following();
  t.equal(aborted.cap(), 1, 'one that has gone first, after the abort');
  await aborted.follower.close();
});

await test('a process that joins takes the files of the rollout', async (t) => {
  const { directory, stable, begin, write } = await stand(t);
  write(rolled(2));
  const next = await revisionIn(directory);
  const joined = await begin({ stable, gates: true, ...trialOf(next, 'canary', ['p2']) }).following();
  t.equal(joined.cap(), 1);
  t.ok(await until(() => joined.follower.status().waiting === next, soonMs));
  t.equal(joined.follower.status().directory, next);
});

await test('what has no rollout lets the next one in at once, and what adds one comes at once', async (t) => {
  const { begin, write } = await stand(t, limit(1));
  const { follower, cap } = await begin().following();
  write(rolled(2));
  t.ok(await until(() => cap() === 2, soonMs), 'it was added');
  write(rolled(3));
  t.ok(await until(() => follower.status().waiting !== undefined, soonMs), 'the next one waits');
  t.equal(cap(), 2);
});

await test('a document whose files cannot be unpacked changes nothing, and is told', async (t) => {
  const { stable, begin } = await stand(t);
  const { say, following } = begin();
  const { follower, cap } = await following();
  say({ stable: 'ffffffffffff', files: bomb() });
  t.ok(await until(() => (follower.status().given?.problems.length ?? 0) > 0, soonMs));
  t.match(follower.status(), { revision: stable, given: { source: 'rollout', revision: 'ffffffffffff' } });
  t.equal(cap(), 1);
});
