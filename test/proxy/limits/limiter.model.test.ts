// Small cases tried out completely: every sequence of up to ten operations under up to three rules with caps 1 to 3.
import { test } from 'tap';
import type { Rule } from '../../../domain/rules/rule.ts';
import type { Lease } from '../../../proxy/limits/lease.ts';
import { createLimiter, type Limiter } from '../../../proxy/limits/limiter.ts';
import type { Matches } from '../../../proxy/limits/match.ts';
import { extent } from '../../support/extent.ts';
import { ruleOf } from './rule-of.ts';

const start = 1_800_000_000_000;
/** How many operations are tried under a rule set: in a short run one less where three rules make the most situations. */
const depthOf = ({ kinds: chosen }: RuleSet): number => extent(10, chosen.length === 3 ? 4 : 5);
/** About six times what it takes; what was covered is printed. */
const budgetMs = 60_000;

/** Half the ring, and the rest of it: together they leave the trailing period by exactly one slice. */
const waits = { half: 30_000, rest: 31_000 } as const;
const operations = ['request', 'release', 'refund', 'charge', 'half', 'rest', 'reset'] as const;
type Operation = (typeof operations)[number];

/**
 * The model. Times move by whole slices, so there is no doubt about what the trailing period holds: what is at most 60 slices old.
 * Immutable; ages and not times, so that equal situations are equal texts.
 */
interface State {
  /** Per rule the ages (in slices) of what is counted, newest first; for concurrency, one 0 per open request. */
  readonly counted: readonly (readonly number[])[];
  /** Requests under way, oldest first: which epoch of the first rule they were booked under, and their age. */
  readonly open: readonly { readonly age: number; readonly epoch: number }[];
  readonly epoch: number;
}

interface Node {
  readonly state: State;
  readonly way: readonly Operation[];
}

type Kind = 'user window' | 'user slots' | 'user tokens' | 'provider window';
const kinds: readonly Kind[] = ['user window', 'user slots', 'user tokens', 'provider window'];

interface RuleSet {
  readonly kinds: readonly Kind[];
  readonly caps: readonly number[];
  /** By the epoch of the first rule. */
  readonly rules: readonly (readonly Rule[])[];
}

function ruleFor(kind: Kind, cap: number, epoch: number): Rule {
  if (kind === 'user window') return ruleOf('user_path', '/a', 60, { maxRequests: cap, epoch });
  if (kind === 'user slots') return ruleOf('user_path', '/', 0, { maxRequests: cap, epoch });
  if (kind === 'user tokens') return ruleOf('user_path', '/', 60, { maxTokens: cap, epoch });
  return ruleOf('provider', 'p', 60, { maxRequests: cap, epoch });
}

/** Every set of one to three kinds with every combination of caps, small sets first. */
function ruleSets(): RuleSet[] {
  const choices = [1, 2, 3].flatMap((size) => combinations(kinds, size));
  return choices.flatMap((chosen) => {
    let caps: number[][] = [[]];
    for (const _ of chosen) caps = caps.flatMap((list) => [1, 2, 3].map((cap) => [...list, cap]));
    return caps.map((list) => {
      const rules = [0, 1].map((epoch) =>
        chosen.map((kind, index) => ruleFor(kind, list[index] ?? 1, index === 0 ? epoch : 0)),
      );
      return { kinds: chosen, caps: list, rules };
    });
  });
}

function combinations<Item>(items: readonly Item[], size: number): Item[][] {
  if (size === 0) return [[]];
  return items.flatMap((item, index) => combinations(items.slice(index + 1), size - 1).map((rest) => [item, ...rest]));
}

/** What the model says an operation does: the next state and whether a request is admitted; undefined when it cannot happen. */
function next(state: State, operation: Operation, set: RuleSet): (State & { refused?: boolean }) | undefined {
  const { counted, open, epoch } = state;
  switch (operation) {
    case 'half':
    case 'rest': {
      const slices = waits[operation] / 1_000;
      return {
        counted: counted.map((ages, index) =>
          set.kinds[index] === 'user slots' ? ages : ages.map((age) => age + slices).filter((age) => age <= 60),
        ),
        open: open.map((request) => ({ ...request, age: Math.min(61, request.age + slices) })),
        epoch,
      };
    }
    case 'request': {
      const isRefused = counted.some((ages, index) => ages.length >= (set.caps[index] ?? 0));
      if (isRefused) return { ...state, refused: true };
      return {
        counted: counted.map((ages, index) => (set.kinds[index] === 'user tokens' ? ages : [0, ...ages])),
        open: [...open, { age: 0, epoch }],
        epoch,
      };
    }
    case 'release':
    case 'refund': {
      const request = operation === 'release' ? open[0] : open.at(-1);
      if (request === undefined) return undefined;
      return {
        counted: counted.map((ages, index) => {
          const kind = set.kinds[index];
          if (kind === 'user slots') return ages.slice(1);
          if (operation === 'release' || kind === 'user tokens') return ages;
          if (index === 0 && request.epoch !== epoch) return ages;
          const place = ages.indexOf(request.age);
          return place === -1 ? ages : ages.toSpliced(place, 1);
        }),
        open: operation === 'release' ? open.slice(1) : open.slice(0, -1),
        epoch,
      };
    }
    case 'charge':
      if (!set.kinds.includes('user tokens')) return undefined;
      // More than the cap adds nothing to what can be seen.
      return {
        counted: counted.map((ages, index) =>
          set.kinds[index] === 'user tokens' ? [0, ...ages].slice(0, (set.caps[index] ?? 0) + 1) : ages,
        ),
        open,
        epoch,
      };
    default:
      // A reset of the first rule.
      if (epoch === 1) return undefined;
      return {
        counted: counted.map((ages, index) => (index === 0 && set.kinds[0] !== 'user slots' ? [] : ages)),
        open,
        epoch: 1,
      };
  }
}

/** The engine at the end of a way, from nothing. */
class Replay {
  readonly limiter: Limiter = createLimiter();
  readonly #set: RuleSet;
  #open: Lease[][] = [];
  readonly #path: Matches;
  readonly #target: Matches;
  nowMs = start;

  constructor(set: RuleSet) {
    this.#set = set;
    this.#reconcile(0);
    this.#path = this.limiter.forUserPath('/a/b');
    this.#target = this.limiter.forTarget('p', 'm');
  }

  /** True when a request was refused. */
  take(operation: Operation): boolean {
    switch (operation) {
      case 'half':
      case 'rest':
        this.nowMs += waits[operation];
        return false;
      case 'request': {
        const first = this.limiter.admit(this.#path, this.nowMs, 'reject');
        if (first.rejection !== undefined) return true;
        const second = this.limiter.admit(this.#target, this.nowMs, 'skip_target');
        if (second.rejection !== undefined) {
          first.lease.refund(this.nowMs);
          return true;
        }
        this.#open.push([first.lease, second.lease]);
        return false;
      }
      case 'release':
        for (const lease of this.#open.shift() ?? []) lease.release();
        return false;
      case 'refund':
        for (const lease of this.#open.pop() ?? []) lease.refund(this.nowMs);
        return false;
      case 'charge':
        this.limiter.charge(this.#path, 1, this.nowMs);
        return false;
      default:
        this.#reconcile(1);
        return false;
    }
  }

  /** Per rule of the set, what the engine counts. */
  counts(): number[] {
    const reports = [this.#path, this.#target].flatMap((matches) => this.limiter.report(matches, this.nowMs));
    return (this.#set.rules[0] ?? []).map(({ key }) => {
      const report = reports.find(({ rule }) => rule.key === key);
      if (report === undefined) throw new Error(`no rule ${key}`);
      return report.requestsUsed + report.tokensUsed + report.inFlight;
    });
  }

  #reconcile(firstEpoch: number): void {
    this.limiter.reconcile(this.#set.rules[firstEpoch] ?? []);
  }
}

/** Tries everything from one level to the next; returns the new level, or throws with the shortest way to a difference. */
function deepen(level: readonly Node[], seen: Set<string>, set: RuleSet): Node[] {
  const deeper: Node[] = [];
  for (const { state, way } of level) {
    for (const operation of operations) {
      const after = next(state, operation, set);
      if (after === undefined) continue;
      const { refused = false, ...reached } = after;
      const replay = new Replay(set);
      for (const earlier of way) replay.take(earlier);
      const isRefused = replay.take(operation);
      const counts = replay.counts();
      if (isRefused !== refused)
        throw new Error(`${story(set, way, operation)}: ${isRefused ? 'refused' : 'admitted'}`);
      if (!agree(counts, reached, set)) throw new Error(`${story(set, way, operation)}: counts ${counts.join(' ')}`);
      const text = stateText(reached);
      if (seen.has(text)) continue;
      seen.add(text);
      deeper.push({ state: reached, way: [...way, operation] });
    }
  }
  return deeper;
}

/** Equal situations give equal texts. */
function stateText({ counted, open, epoch }: State): string {
  return `${counted.join(';')} ${open.map((request) => `${request.age}.${request.epoch}`).join()} ${epoch}`;
}

function story({ kinds: chosen, caps }: RuleSet, way: readonly Operation[], last: string): string {
  return `${chosen.map((kind, index) => `${kind} ${caps[index]}`).join(', ')}: ${[...way, last].join(' ')}`;
}

/** Token counts beyond the cap are cut short in the model. */
function agree(counts: readonly number[], { counted }: State, { kinds: chosen, caps }: RuleSet): boolean {
  return counts.every((count, index) => {
    const ages = counted[index]?.length ?? 0;
    const cap = caps[index] ?? 0;
    return chosen[index] === 'user tokens' && ages > cap ? count >= ages : count === ages;
  });
}

await test('every short story under every small rule set ends as the definition says', {
  timeout: 90_000,
}, async (t) => {
  const began = performance.now();
  const searches = ruleSets().map((set) => {
    const state: State = { counted: set.kinds.map(() => []), open: [], epoch: 0 };
    return { set, level: [{ state, way: [] }] as Node[], seen: new Set([stateText(state)]), depth: 0 };
  });
  const deepest = Math.max(...searches.map(({ set }) => depthOf(set)));
  for (let depth = 1; depth <= deepest; depth += 1) {
    const reached = searches.filter(({ set }) => depthOf(set) >= depth);
    for (const search of reached) {
      if (performance.now() - began > budgetMs) break;
      search.level = deepen(search.level, search.seen, search.set);
      search.depth = depth;
    }
    const done = reached.filter((search) => search.depth === depth);
    t.comment(`${depth} operations: ${done.length} of ${reached.length} rule sets`);
  }
  const situations = searches.reduce((sum, { seen }) => sum + seen.size, 0);
  t.comment(`${situations} situations in ${((performance.now() - began) / 1_000).toFixed(1)} s`);
  t.equal(searches.length, 174);
  t.same(
    searches.filter(({ set, depth }) => depth !== depthOf(set)).map(({ set, depth }) => story(set, [], `${depth}`)),
    [],
    'every rule set was tried as deep as it should be',
  );
});
