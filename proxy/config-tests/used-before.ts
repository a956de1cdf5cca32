// Counts what was used before the request of a test, in the counters that its rules and budgets have.
import { budgetTitle } from '../../domain/budgets/budget.ts';
import { nanoDollarsOf } from '../../domain/budgets/money.ts';
import type { Pair } from '../../domain/rules/counter-row.ts';
import { type Rule, ruleTitle } from '../../domain/rules/rule.ts';
import { sliceAt, sliceCount, sliceStartMs } from '../../domain/rules/slice.ts';
import { normaliseUserPath } from '../../domain/user-path.ts';
import { lengthMs } from '../../gitops/config-tests/length-ms.ts';
import type { UsedBefore } from '../../schemas/types.ts';
import type { Path } from '../../schemas/validation/path.ts';
import type { MatchedCounter, Matches } from '../limits/match.ts';
import type { TestWorld } from './compiled.ts';
import { TestMistake, unknownName } from './test-mistake.ts';

/** Whose requests they were. */
export interface Usual {
  /** Normalised. */
  readonly userPath: string;
  readonly labels: readonly string[];
  readonly nowMs: number;
  /** The rules of a user path, as the endpoint counts them. */
  readonly ofConsumer: (userPath: string) => Matches;
  /** The rules of the first target, and of all of them. */
  readonly ofFirst: readonly Matches[];
  readonly ofTargets: readonly Matches[];
}

interface Sums {
  readonly match: MatchedCounter;
  readonly requests: Map<number, number>;
  readonly tokens: Map<number, number>;
}

/** The names by which a test may call a rule; the first is for people. */
export function namesOfRule(rule: Rule): readonly string[] {
  return [ruleTitle(rule), rule.id, ...(rule.name === undefined ? [] : [rule.name])];
}

/** Throws a `TestMistake` for a rule or budget that does not count the request. */
export function countUsed(used: readonly UsedBefore[], usual: Usual, world: TestWorld): void {
  const sums = new Map<string, Sums>();
  for (const [index, entry] of used.entries()) {
    const place = ['given', 'used_before', index];
    if (entry.spent !== undefined) spend(entry, usual, world, place);
    if (entry.requests === undefined && entry.tokens === undefined && entry.in_flight === undefined) continue;
    for (const match of matchesOf(entry, usual, place)) count(entry, match, usual, sums);
  }
  const rows = [...sums.values()].map(({ match: { caps, child }, requests, tokens }) => ({
    key: caps.rule.key,
    epoch: caps.rule.epoch,
    child,
    periodSeconds: caps.rule.periodSeconds,
    requests: pairsOf(requests),
    tokens: pairsOf(tokens),
  }));
  world.limiter.restore(rows, usual.nowMs);
}

/** Those that have counted an entry. */
function matchesOf(entry: UsedBefore, usual: Usual, place: Path): readonly MatchedCounter[] {
  const { rule: name, user_path: other } = entry;
  const userPath = other === undefined ? usual.userPath : (normaliseUserPath(other).path ?? '/');
  const consumer = usual.ofConsumer(userPath).matched();
  if (name === undefined) return [...consumer, ...distinct(usual.ofFirst)];
  const all = [...consumer, ...distinct(usual.ofTargets)];
  const found = all.filter(({ caps }) => namesOfRule(caps.rule).includes(name));
  if (found.length > 0) return found;
  const known = all.map(({ caps }) => ruleTitle(caps.rule));
  throw unknownName([...place, 'rule'], 'rule that counts this request', name, known);
}

function distinct(all: readonly Matches[]): readonly MatchedCounter[] {
  const byRule = new Map(all.flatMap((matches) => matches.matched().map((match) => [match.caps.rule.key, match])));
  return [...byRule.values()];
}

function count(entry: UsedBefore, match: MatchedCounter, { nowMs }: Usual, sums: Map<string, Sums>): void {
  const { caps, child } = match;
  const { rule, tally, slotsCap } = caps;
  if (slotsCap !== Number.POSITIVE_INFINITY) tally.open(child).inFlight += entry.in_flight ?? 0;
  if (rule.periodSeconds === 0) return;
  const key = `${rule.key} ${child}`;
  const sum = sums.get(key) ?? { match, requests: new Map(), tokens: new Map() };
  sums.set(key, sum);
  const spanMs = lengthOf(entry.over);
  const endMs = nowMs - lengthOf(entry.ago);
  const slices = { periodSeconds: rule.periodSeconds, nowMs, endMs, spanMs };
  if (rule.maxRequests !== undefined) spread(entry.requests ?? 0, slices, sum.requests);
  if (rule.maxTokens !== undefined) spread(entry.tokens ?? 0, slices, sum.tokens);
}

function lengthOf(duration: string | undefined): number {
  return duration === undefined ? 0 : lengthMs(duration);
}

interface Slices {
  readonly periodSeconds: number;
  readonly nowMs: number;
  /** When the last one came, and how long before it the first one. */
  readonly endMs: number;
  readonly spanMs: number;
}

/** Adds so many, at equal distances, to the slices of a window in which they came. */
function spread(amount: number, { periodSeconds, nowMs, endMs, spanMs }: Slices, slices: Map<number, number>): void {
  if (amount === 0) return;
  // The one before the end by k has come k · span / amount before it.
  const before = (ms: number): number => {
    if (ms > endMs) return amount;
    if (spanMs === 0) return 0;
    return Math.max(0, amount - Math.ceil(((endMs - ms + 1) * amount) / spanMs));
  };
  const first = Math.max(sliceAt(endMs - spanMs, periodSeconds), sliceAt(nowMs, periodSeconds) - sliceCount + 1);
  for (let slice = first; slice <= sliceAt(endMs, periodSeconds); slice += 1) {
    const here = before(sliceStartMs(slice + 1, periodSeconds)) - before(sliceStartMs(slice, periodSeconds));
    if (here > 0) slices.set(slice, (slices.get(slice) ?? 0) + here);
  }
}

function pairsOf(slices: ReadonlyMap<number, number>): readonly Pair[] {
  return [...slices].sort(([one], [other]) => one - other);
}

function spend(entry: UsedBefore, { userPath: own, labels, nowMs }: Usual, world: TestWorld, place: Path): void {
  const userPath = entry.user_path === undefined ? own : (normaliseUserPath(entry.user_path).path ?? '/');
  const all = world.budgets.ledgers.of({ userPath, labels }, nowMs);
  const namesOf = ({ kept: { budget } }: (typeof all)[number]): readonly string[] => [budgetTitle(budget), budget.id];
  const { budget: name } = entry;
  const found = name === undefined ? all : all.filter((ledger) => namesOf(ledger).includes(name));
  if (found.length === 0 && name !== undefined)
    throw unknownName(
      [...place, 'budget'],
      'budget that counts this request',
      name,
      all.flatMap((each) => namesOf(each)[0] ?? []),
    );
  if (found.length === 0)
    throw new TestMistake([...place, 'spent'], 'is counted by no budget: none covers this request');
  for (const ledger of found) ledger.charge(nanoDollarsOf(entry.spent ?? 0), nowMs);
}
