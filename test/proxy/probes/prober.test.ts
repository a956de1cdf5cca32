// Probes over two proxies that share a store: one asks, and what it finds counts in both.
import { type Test, test } from 'tap';
import type { Probed } from '../../../proxy/probes/ask-probe.ts';
import { Prober } from '../../../proxy/probes/prober.ts';
import { compile } from '../../../proxy/snapshot/compile.ts';
import type { ProbePlan } from '../../../proxy/snapshot/snapshot.ts';
import { TargetStates } from '../../../proxy/targets/target-states.ts';
import { openSqliteStore } from '../../../store/state/sqlite/store.ts';
import { temporaryDirectory } from '../../support/teardown.ts';
import { waitFor } from '../../support/wait-for.ts';
import { sampleConfig } from '../sample-config.ts';
import { nowMs, open } from '../stage-parts.ts';

const { routes, upstreams } = compile(
  sampleConfig({
    providers: { p: { models: ['m', 'n'], probe: { interval: '100ms', timeout: '300ms', model: 'm' } } },
  }),
  '',
  open,
);

/** A proxy that probes the provider and finds what `probed` says. */
function startProxy(t: Test, directory: string, instance: string, probed: (plan: ProbePlan) => Probed) {
  const store = openSqliteStore({ directory });
  const targets = new TargetStates();
  targets.keep(routes.targets);
  const ask = async (_: unknown, plan: ProbePlan) => probed(plan);
  const prober = new Prober({ turns: store.turns, instance, targets, nowMs, ask });
  prober.keep(upstreams);
  t.teardown(() => {
    prober.close();
    return store.close();
  });
  const stateOf = (model: string) => [...targets.known()].find((each) => each.model === model)?.state;
  const breakerOf = (model: string) => stateOf(model)?.breaker.state(nowMs());
  const breakIt = (model: string) => {
    for (let failure = 0; failure < 5; failure += 1) stateOf(model)?.breaker.failed(nowMs());
  };
  return { prober, breakerOf, breakIt };
}

await test('what one proxy finds closes and opens the breakers of both, of the probed model alone', async (t) => {
  const directory = temporaryDirectory(t);
  let outcome: Probed['outcome'] = 'unclear';
  let asked = 0;
  const find = () => {
    asked += 1;
    return { outcome, isNoted: false };
  };
  const proxies = ['a', 'b'].map((instance) => startProxy(t, directory, instance, find));
  const are = (model: string) => proxies.map(({ breakerOf }) => breakerOf(model));
  const known = () => proxies.map(({ prober }) => prober.known()[0]?.last?.outcome);
  for (const { breakIt } of proxies) for (const model of ['m', 'n']) breakIt(model);
  await waitFor('both to know of an unclear probe', () => known().every((each) => each === 'unclear'));
  t.notOk(are('m').includes('closed'), 'that says nothing');
  outcome = 'up';
  await waitFor('both breakers to close', () => are('m').every((state) => state === 'closed'));
  t.notOk(are('n').includes('closed'), 'of the other model nothing is known');
  outcome = 'down';
  const before = asked;
  await waitFor('both breakers to open', () => are('m').every((state) => state === 'open'));
  t.ok(asked - before >= 5, `each probe counts as one failure: ${asked - before}`);
});

await test('a provider without a plan is not probed, and one whose plan is gone no longer', async (t) => {
  const { prober } = startProxy(t, temporaryDirectory(t), 'a', () => ({ outcome: 'up', isNoted: false }));
  await waitFor('a probe', () => prober.known()[0]?.last?.outcome === 'up');
  prober.keep(upstreams.map((upstream) => ({ ...upstream, probe: undefined })));
  t.same(prober.known(), []);
});
