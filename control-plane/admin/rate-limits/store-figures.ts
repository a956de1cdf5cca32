// The figures of rules that the whole fleet counts, as the state store has them at this moment.
import { counterKey, type LimitLane, type LimitView } from '../../../domain/limits/exchange.ts';
import type { MergedRule } from '../../../domain/rules/merge.ts';
import type { OnStoreLoss } from '../../../domain/rules/on-store-loss.ts';
import { sliceCount, sliceStartMs } from '../../../domain/rules/slice.ts';
import type { LimitScope } from '../../../store/state/heartbeat-body.ts';
import type { LimitStore } from '../../../store/state/limits/limit-store.ts';
import type { LiveCounters } from './fleet-counters.ts';

/** The part of the process that knows of shared caps. */
export interface SharedLimits {
  readonly look: LimitStore['look'];
  /** As the configuration says it, or the engine of the store: it counts while no proxy says where its caps hold. */
  scope(): LimitScope;
  /** What holds while the store is lost, where a rule does not say it. */
  onStoreLoss(): OnStoreLoss;
}

/** Where caps hold, and how exactly. */
export interface Counting {
  readonly counted: LimitScope;
  /** The live proxies that share the caps, or of which each has them for itself. */
  readonly replicas: number;
  readonly isLost: boolean;
  readonly isRecovering: boolean;
  readonly onStoreLoss: OnStoreLoss;
}

/** A rule as the store has it; a lane that it does not limit is absent. */
export type SharedFigures = Partial<Record<LimitLane, LimitView>>;

/** So many rules of one answer are read from the store, and of one search; the others show what the proxies have counted. */
export const mostRead = 1_000;
export const mostSearched = 10_000;
/** So many counters are read at once: the store answers others in between. */
const countersAtOnce = 512;

export function countingOf({ scopes }: Pick<LiveCounters, 'scopes'>, limits: SharedLimits): Counting {
  const sharing = scopes.filter(({ scope }) => scope === 'fleet');
  const isShared = scopes.length === 0 ? limits.scope() === 'fleet' : sharing.length > 0;
  return {
    counted: isShared ? 'fleet' : 'replica',
    replicas: isShared ? sharing.length : scopes.length,
    isLost: sharing.some(({ store }) => store === 'lost'),
    isRecovering: sharing.some(({ store }) => store === 'recovering'),
    onStoreLoss: limits.onStoreLoss(),
  };
}

/** Of the first `most` rules that the fleet counts, by rule key; none when the store does not answer. Templates have no figures as a whole. */
export async function readShared(
  rules: readonly MergedRule[],
  look: LimitStore['look'],
  most: number = mostRead,
): Promise<ReadonlyMap<string, SharedFigures>> {
  const asked = rules
    .filter(({ perChild, counted }) => !perChild && counted)
    .slice(0, most)
    .flatMap((rule) => lanesOf(rule).map((lane) => ({ rule, lane })));
  const views: LimitView[] = [];
  for (let first = 0; first < asked.length; first += countersAtOnce) {
    const keys = asked.slice(first, first + countersAtOnce).map(({ rule, lane }) => keyOf(rule, lane));
    const said = await look(keys).catch(() => undefined);
    if (said === undefined) return new Map();
    views.push(...said);
  }
  const found = new Map<string, SharedFigures>();
  for (const [index, view] of views.entries()) {
    const of = asked[index];
    if (of !== undefined) found.set(of.rule.key, { ...found.get(of.rule.key), [of.lane]: view });
  }
  return found;
}

function keyOf(rule: MergedRule, lane: LimitLane): string {
  // Slots are held by open requests whatever is reset.
  return counterKey(lane === 'slots' ? { ...rule, epoch: 0 } : rule, lane, '');
}

/** What open requests hold of a counter. */
export function openOf(view: LimitView | undefined): number {
  let sum = 0;
  for (const [, , open] of view?.sessions ?? []) sum += open;
  return sum;
}

/** When the use of a rule began, and when all of it will have left, in Unix milliseconds; undefined without use. */
export function spanOf(
  { requests, tokens }: SharedFigures,
  periodSeconds: number,
): { readonly startMs: number; readonly endMs: number } | undefined {
  const used = [requests, tokens].filter((view) => view !== undefined && view.oldest >= 0) as LimitView[];
  if (used.length === 0) return undefined;
  return {
    startMs: sliceStartMs(Math.min(...used.map(({ oldest }) => oldest)), periodSeconds),
    endMs: sliceStartMs(Math.max(...used.map(({ newest }) => newest)) + sliceCount, periodSeconds),
  };
}

function lanesOf({ periodSeconds, maxRequests, maxTokens }: MergedRule): LimitLane[] {
  if (periodSeconds === 0) return ['slots'];
  return [
    ...(maxRequests === undefined ? [] : (['requests'] as const)),
    ...(maxTokens === undefined ? [] : (['tokens'] as const)),
  ];
}
