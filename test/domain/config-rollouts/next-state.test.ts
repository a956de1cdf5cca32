// What becomes of a rollout, decided by its state, the proxies and the time.
import { type Arbitrary, array, assert, constant, constantFrom, integer, oneof, property, record } from 'fast-check';
import { test } from 'tap';
import type { RolloutState } from '../../../domain/config-rollouts/config-rollout.ts';
import { noCounts, type RevisionCounts } from '../../../domain/config-rollouts/figures.ts';
import {
  canaryCount,
  type Deciding,
  endedBy,
  nextState,
  type RolledProxy,
} from '../../../domain/config-rollouts/next-state.ts';
import { type Sightings, sightingsAfter } from '../../../domain/config-rollouts/sightings.ts';
import { takingOf } from '../../../domain/config-rollouts/taking.ts';
import type { Rollout } from '../../../schemas/types.ts';
import { runs } from '../../support/extent.ts';

const rollout: Rollout = { proxies: 1, for: '60s', abort_if: { error_share: '5%', min_requests: 50 } };
const tickMs = 500;

/** A process of the model: what its directory holds, and what it has in force. Revisions other than those in `plain` have a rollout. */
interface Modelled {
  directory: string;
  inForce: string | undefined;
}

interface ModelledProxy extends Modelled {
  state: 'live' | 'dead' | 'away';
  startedAtMs: number;
  heardMs: number;
  counts: RevisionCounts;
  rejected: string | undefined;
}

/** A fleet with a control plane, which takes what it may at each tick. */
class Model {
  nowMs = 1_000_000;
  rollout: Rollout = rollout;
  state: RolloutState | undefined;
  readonly own: Modelled = { directory: 'a', inForce: 'a' };
  readonly proxies = new Map<string, ModelledProxy>();
  /** Each revision that a proxy has had. */
  readonly had = new Map<string, Set<string>>();
  waitingSinceMs = 0;
  #sightings: Sightings | undefined;

  constructor(names: readonly string[]) {
    for (const name of names) this.join(name);
  }

  join(name: string): void {
    const { directory } = this.own;
    const first = {
      state: 'live',
      startedAtMs: this.nowMs,
      heardMs: this.nowMs,
      counts: noCounts,
      rejected: undefined,
    } as const;
    this.proxies.set(name, { ...first, directory, inForce: undefined });
  }

  /** All directories hold it. */
  push(revision: string): void {
    this.waitingSinceMs = this.nowMs;
    for (const each of [this.own, ...this.proxies.values()]) each.directory = revision;
  }

  restartControlPlane(): void {
    this.#sightings = undefined;
    this.own.inForce = undefined;
    this.#take(undefined, this.own);
  }

  tick(times = 1): void {
    for (let count = 0; count < times; count += 1) {
      this.nowMs += tickMs;
      for (const [name, proxy] of this.proxies) {
        if (proxy.state !== 'live') continue;
        proxy.heardMs = this.nowMs;
        if (this.#take(name, proxy)) proxy.counts = noCounts;
        this.had.set(name, (this.had.get(name) ?? new Set()).add(proxy.inForce ?? ''));
      }
      this.#take(undefined, this.own);
      this.#decide();
    }
  }

  deciding(): Deciding {
    const { directory, inForce = '' } = this.own;
    const waiting = directory === inForce ? undefined : { revision: directory, sinceMs: this.waitingSinceMs };
    return { inForce, rollout: this.rollout, waiting, isReading: false, isPinned: false };
  }

  /** Those that have another revision than the stable one. */
  ahead(): string[] {
    const stable = this.state?.stable;
    return [...this.proxies].flatMap(([name, { state, inForce }]) =>
      state === 'live' && inForce !== stable ? [name] : [],
    );
  }

  #take(instance: string | undefined, process: Modelled): boolean {
    const { directory, inForce: before } = process;
    const inForce = before === undefined ? undefined : { revision: before, hasRollout: true };
    const taking = takingOf(this.state, { instance, directory, inForce });
    if (taking === 'directory') process.inForce = directory;
    if (taking === 'stable') process.inForce = this.state?.stable;
    return process.inForce !== before;
  }

  #decide(): void {
    const proxies = [...this.proxies].flatMap(([instance, proxy]): RolledProxy[] => {
      if (proxy.state === 'away') return [];
      const { startedAtMs, heardMs, counts, rejected, directory, inForce = '' } = proxy;
      const waiting = directory === inForce ? undefined : directory;
      const isLive = proxy.state === 'live';
      return [
        { instance, isLive, isReady: isLive, heardMs, startedAtMs, revision: inForce, waiting, rejected, counts },
      ];
    });
    const trial = this.state?.trial;
    const of = trial === undefined ? '' : `${trial.revision} ${trial.beganMs}`;
    this.#sightings = sightingsAfter(this.#sightings, { of, proxies: trial?.proxies ?? [] }, proxies, this.nowMs);
    this.state = nextState(this.state, {
      own: this.deciding(),
      proxies,
      sightings: this.#sightings,
      nowMs: this.nowMs,
    });
  }
}

function begun(names = ['p1', 'p2', 'p3']): Model {
  const model = new Model(names);
  model.tick(2);
  model.push('b');
  model.tick(2);
  return model;
}

const noneSeen: Sightings = { of: '', atMs: 0, all: new Map() };
const phaseOf = (model: Model): string | undefined => model.state?.trial?.phase;
const inForce = (model: Model): (string | undefined)[] => [...model.proxies.values()].map((each) => each.inForce);
const counted = (counts: Partial<RevisionCounts>): RevisionCounts => ({ ...noCounts, ...counts });

await test('one proxy goes first, and the others follow when the time is over', async (t) => {
  const model = begun();
  t.same([phaseOf(model), inForce(model), model.own.inForce], ['canary', ['b', 'a', 'a'], 'a']);
  model.tick(117);
  t.equal(phaseOf(model), 'canary', 'just before the end');
  model.tick(4);
  t.same([phaseOf(model), inForce(model), model.own.inForce], ['finished', ['b', 'b', 'b'], 'b']);
});

await test('errors of the first proxy bring it back, and the others never have the revision', async (t) => {
  const model = begun();
  const first = model.proxies.get('p1') as ModelledProxy;
  first.counts = counted({ requests: 100, errors: 50 });
  model.tick(2);
  t.match(model.state?.trial, { phase: 'aborted', reason: /^error_share was 50 %/ });
  t.same(inForce(model), ['a', 'a', 'a']);
  model.tick(1_000);
  t.same([phaseOf(model), inForce(model)], ['aborted', ['a', 'a', 'a']], 'it waits');
  t.notOk(model.had.get('p2')?.has('b'));
  model.push('c');
  model.tick(3);
  t.match([model.state?.trial, inForce(model)], [{ revision: 'c', phase: 'canary' }, ['c', 'a', 'a']], 'the next one');
});

await test('an aborted revision is withdrawn with the directory', async (t) => {
  const model = begun();
  (model.proxies.get('p1') as ModelledProxy).rejected = 'b';
  model.tick(1);
  t.match(model.state?.trial, { phase: 'aborted', reason: 'p1 rejects the revision' });
  model.push('a');
  model.tick(1);
  t.match(model.state?.trial, { phase: 'withdrawn', reason: 'p1 rejects the revision' });
});

await test('a first proxy that is killed aborts within seconds', async (t) => {
  const model = begun();
  (model.proxies.get('p1') as ModelledProxy).state = 'dead';
  model.tick(12);
  t.match(model.state?.trial, { phase: 'aborted', reason: 'p1 has sent no heartbeat for 5 s' });
});

await test('silence of all proxies aborts nothing', async (t) => {
  const model = begun();
  for (const proxy of model.proxies.values()) proxy.state = 'dead';
  model.tick(60);
  t.equal(phaseOf(model), 'canary');
});

await test('one restart is none of the revision, two are', async (t) => {
  const model = begun();
  const first = model.proxies.get('p1') as ModelledProxy;
  Object.assign(first, { startedAtMs: model.nowMs, inForce: undefined });
  model.tick(2);
  t.same([phaseOf(model), first.inForce], ['canary', 'b'], 'it takes its former place');
  Object.assign(first, { startedAtMs: model.nowMs, inForce: undefined });
  model.tick(2);
  t.match(model.state?.trial, { phase: 'aborted', reason: 'p1 has restarted 2 times' });
});

await test('first proxies that are all stopped in order abort after a minute', async (t) => {
  const model = begun();
  model.rollout = { ...rollout, for: '1h' };
  model.state = { ...(model.state as RolloutState) };
  (model.proxies.get('p1') as ModelledProxy).state = 'away';
  model.tick(110);
  t.equal(phaseOf(model), 'canary');
  model.tick(20);
  t.match(model.state?.trial, { phase: 'aborted', reason: /went away|no proxy has put it in force/ });
});

await test('a proxy that joins stays with the revision before, and a restart of the control plane changes nothing', async (t) => {
  const model = begun();
  const before = model.state;
  model.join('p4');
  model.restartControlPlane();
  model.tick(3);
  t.same([model.state, inForce(model), model.own.inForce], [before, ['b', 'a', 'a', 'a'], 'a']);
});

await test('ten revisions in a row meet one proxy only', async (t) => {
  const model = begun();
  for (const revision of 'cdefghijkl') {
    model.push(revision);
    model.tick(3);
    t.match([phaseOf(model), model.ahead()], ['canary', ['p1']]);
  }
  t.same([...(model.had.get('p2') ?? [])], ['a']);
});

await test('one proxy alone takes a revision at once, but not while another one has just been heard', async (t) => {
  const alone = begun(['p1']);
  alone.tick(1);
  t.same([phaseOf(alone), inForce(alone)], ['finished', ['b']]);
  const two = new Model(['p1', 'p2']);
  two.tick(1);
  (two.proxies.get('p2') as ModelledProxy).state = 'dead';
  two.push('b');
  two.tick(10);
  t.same([phaseOf(two), inForce(two)], [undefined, ['a', 'a']]);
  two.tick(60);
  t.equal(phaseOf(two), 'finished');
});

await test('of a fleet at least one proxy stays, whatever the rollout says', async (t) => {
  const counts = [1, 5, '1%', '50%', '99%'].map((proxies) =>
    [1, 2, 3, 20].map((live) => canaryCount({ proxies }, live)),
  );
  t.same(counts, [
    [0, 1, 1, 1],
    [0, 1, 2, 5],
    [0, 1, 1, 1],
    [0, 1, 1, 10],
    [0, 1, 2, 19],
  ]);
});

await test('a clock that was set back lets the time begin again', async (t) => {
  const model = begun();
  model.nowMs -= 3_600_000;
  model.tick(123);
  t.equal(phaseOf(model), 'finished');
});

await test('an operator finishes and aborts what is under way, and finishes what was aborted', async (t) => {
  const model = begun();
  const facts = { own: model.deciding(), nowMs: model.nowMs };
  const by = 'master_key';
  const aborted = endedBy(model.state, { phase: 'aborted', reason: 'no', by }, facts);
  t.match(aborted, { stable: 'a', trial: { phase: 'aborted', reason: 'no', by } });
  t.equal(endedBy(aborted, { phase: 'aborted', reason: 'no', by }, facts), undefined, 'once');
  const finished = endedBy(aborted, { phase: 'finished', reason: undefined, by }, facts);
  t.match(finished, { stable: 'b', trial: { phase: 'finished', by, reason: undefined } });
  model.state = finished;
  model.tick(2);
  t.same(inForce(model), ['b', 'b', 'b']);
  t.equal(
    endedBy(model.state, { phase: 'finished', reason: undefined, by }, { own: model.deciding(), nowMs: 0 }),
    undefined,
  );
});

await test('without a rollout the next revision is for all, and late proxies are let through', async (t) => {
  const model = begun();
  const proxies: RolledProxy[] = [
    {
      instance: 'p2',
      isLive: true,
      isReady: true,
      heardMs: 0,
      startedAtMs: 0,
      revision: 'a',
      waiting: 'c',
      rejected: undefined,
      counts: undefined,
    },
  ];
  const own: Deciding = { inForce: 'b', rollout: undefined, waiting: undefined, isReading: false, isPinned: false };
  const facts = { own, proxies, sightings: noneSeen, nowMs: model.nowMs };
  const open = nextState({ stable: 'b', gates: true }, facts);
  t.same(open, { stable: 'b', gates: false });
  t.same(nextState(open, { ...facts, own: { ...own, inForce: 'c' } }), { stable: 'c', gates: false });
  t.equal(nextState(undefined, { ...facts, proxies: [] }), undefined);
  t.equal(
    nextState(model.state, { ...facts, own: { ...own, isReading: true } }),
    model.state,
    'before the directory is read',
  );
  t.match(nextState(model.state, { ...facts, own: { ...own, isPinned: true } })?.trial, { phase: 'withdrawn' });
});

await test('neither a pin nor a control plane that reads later takes back what proxies still read', (t) => {
  const model = begun();
  const behind = (phase: string): void => {
    for (const directory of ['a', 'older']) {
      model.own.directory = directory;
      model.tick(4);
      t.match(model.state?.trial, { revision: 'b', phase });
    }
  };
  behind('canary');
  (model.proxies.get('p1') as ModelledProxy).rejected = 'b';
  behind('aborted');
  const own = { ...model.deciding(), inForce: 'p', isPinned: true };
  t.equal(nextState(model.state, { own, proxies: [], sightings: noneSeen, nowMs: model.nowMs }), model.state);
  model.push('a');
  model.tick(3);
  t.equal(phaseOf(model), 'withdrawn');
  t.end();
});

const names = ['p1', 'p2', 'p3', 'p4', 'p5'];
const happening = oneof(
  { weight: 6, arbitrary: record({ what: constant('ticks' as const), count: integer({ min: 1, max: 30 }) }) },
  record({ what: constant('push' as const), revision: constantFrom('a', 'b', 'c', 'd') }),
  record({
    what: constantFrom('die' as const, 'leave' as const, 'restart' as const, 'reject' as const),
    name: constantFrom(...names),
  }),
  record({
    what: constant('errors' as const),
    name: constantFrom(...names),
    errors: integer({ min: 0, max: 100 }),
  }),
  record({ what: constant('plane' as const) }),
  record({ what: constant('clock' as const), ms: integer({ min: -7_200_000, max: 7_200_000 }) }),
);

type Happening = typeof happening extends Arbitrary<infer Value> ? Value : never;

function happen(model: Model, event: Happening): void {
  if (event.what === 'ticks') model.tick(event.count);
  else if (event.what === 'push') model.push(event.revision);
  else if (event.what === 'plane') model.restartControlPlane();
  else if (event.what === 'clock') model.nowMs += event.ms;
  else {
    const proxy = model.proxies.get(event.name);
    if (proxy === undefined) return;
    if (event.what === 'die') proxy.state = 'dead';
    else if (event.what === 'leave') proxy.state = 'away';
    else if (event.what === 'reject') proxy.rejected = model.own.directory;
    else if (event.what === 'errors') proxy.counts = counted({ requests: 100, errors: event.errors });
    else Object.assign(proxy, { state: 'live', startedAtMs: model.nowMs, inForce: undefined, rejected: undefined });
  }
}

await test('whatever happens, no more proxies than wanted are ahead, and each rollout ends', async (t) => {
  const most = constantFrom<Rollout['proxies']>(1, 2, '40%', 9);
  assert(
    property(most, integer({ min: 1, max: 5 }), array(happening, { maxLength: 40 }), (proxies, size, events) => {
      const model = new Model(names.slice(0, size));
      model.rollout = { ...rollout, proxies };
      model.tick(2);
      for (const event of events) {
        happen(model, event);
        model.tick(1);
        const wanted = Math.max(1, typeof proxies === 'number' ? proxies : 2);
        const tried = model.state?.trial?.phase === 'canary' ? model.state.trial.proxies.length : 0;
        if (tried > wanted || (tried > 0 && tried >= size)) throw new Error(`${tried} proxies are tried`);
      }
      // The time of the rollout, and what is waited for after it.
      model.tick(200);
      if (model.state?.trial?.phase === 'canary') throw new Error('it has not ended');
      const revisions = new Set(
        [...model.proxies.values()].flatMap((each) => (each.state === 'live' ? [each.inForce] : [])),
      );
      if (revisions.size > 1) throw new Error(`several revisions are in force: ${[...revisions].join()}`);
    }),
    runs(5_000),
  );
  t.pass('in every run');
});
