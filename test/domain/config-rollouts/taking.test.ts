// Which configuration a process may put in force while revisions are rolled out.
import { test } from 'tap';
import {
  configRolloutBody,
  type RolloutState,
  readConfigRollout,
  type Trial,
} from '../../../domain/config-rollouts/config-rollout.ts';
import { type Taker, takingOf } from '../../../domain/config-rollouts/taking.ts';

const trial: Trial = { revision: 'b', phase: 'canary', proxies: ['p1'], beganMs: 1_000, untilMs: 2_000 };
const canary: RolloutState = { stable: 'a', gates: true, trial };
const aborted: RolloutState = { ...canary, trial: { ...trial, phase: 'aborted', reason: 'errors' } };
const finished: RolloutState = { stable: 'b', gates: true, trial: { ...trial, phase: 'finished' } };
const open: RolloutState = { stable: 'a', gates: false };

const own = (instance: string | undefined, directory: string, inForce?: string, hasRollout = true): Taker => ({
  instance,
  directory,
  inForce: inForce === undefined ? undefined : { revision: inForce, hasRollout },
});

const cases: readonly [says: string, RolloutState | undefined, Taker, ReturnType<typeof takingOf>][] = [
  ['without a rollout anywhere the directory counts', undefined, own('p1', 'b', 'a', false), 'directory'],
  ['what is in force does not wait', undefined, own('p1', 'a', 'a'), 'directory'],
  ['so it does at the first start', undefined, own('p1', 'b'), 'directory'],
  ['a new revision waits before the control plane has begun', undefined, own('p1', 'b', 'a'), 'hold'],
  ['also where the last one that was rolled out had none', open, own('p1', 'c', 'b'), 'hold'],
  ['the first proxy takes what is tried', canary, own('p1', 'b', 'a'), 'directory'],
  ['the others hold it', canary, own('p2', 'b', 'a'), 'hold'],
  ['so does the control plane', canary, own(undefined, 'b', 'a'), 'hold'],
  ['one that joins takes the stable one', canary, own('p3', 'b'), 'stable'],
  ['one that is started anew takes its former place', canary, own('p1', 'b'), 'directory'],
  ['the first proxy goes back when it is aborted', aborted, own('p1', 'b', 'b'), 'stable'],
  ['also while its directory holds something else', aborted, own('p1', 'c', 'b'), 'stable'],
  ['the others stay', aborted, own('p2', 'b', 'a'), 'hold'],
  ['all take it when it is finished', finished, own('p2', 'b', 'a'), 'directory'],
  ['a directory that is late takes the files of the rollout', finished, own('p2', 'a', 'a'), 'stable'],
  ['the first proxy keeps what it tries until the next one is begun', canary, own('p1', 'c', 'b'), 'hold'],
  ['a directory that has the stable one again is taken', canary, own('p1', 'a', 'b'), 'directory'],
  ['without a rollout in the stable one the next is taken', open, own('p2', 'b', 'a', false), 'directory'],
];

for (const [says, state, taker, expected] of cases)
  await test(says, async (t) => void t.equal(takingOf(state, taker), expected));

await test('the document reads what it has written, and nothing else', async (t) => {
  const rollout = { key: 'fleet', files: 'H4s', ...aborted, trial: { ...trial, reason: 'errors', by: 'master_key' } };
  t.same(readConfigRollout('fleet', JSON.parse(JSON.stringify(configRolloutBody(rollout)))), rollout);
  const body = configRolloutBody(rollout) as { trial: object };
  for (const bad of [{ phase: 'x' }, { proxies: [1] }, { until: 'soon' }, { reason: 1 }])
    t.equal(readConfigRollout('fleet', { ...body, trial: { ...body.trial, ...bad } }), undefined, JSON.stringify(bad));
  t.equal(readConfigRollout('other', body), undefined);
});
