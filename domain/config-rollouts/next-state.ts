// What becomes of a rollout: its state, the proxies and the time in, the next state out. Pure; the control plane stores what it gives.
import { durationMs } from '../../schemas/formats/units.ts';
import type { Rollout } from '../../schemas/types.ts';
import type { RolloutState, Trial } from './config-rollout.ts';
import { beyondLimits, limitsOf, type RevisionCounts, shareOf, sumCounts } from './figures.ts';
import type { SeenProxy, Sightings } from './sightings.ts';

/** A proxy as its heartbeats show it. */
export interface RolledProxy extends SeenProxy {
  /** It wants requests. */
  readonly isReady: boolean;
  /** When it was last heard, in Unix milliseconds. */
  readonly heardMs: number;
  /** The revision that it has in force. */
  readonly revision: string;
  /** A revision that its directory holds, and that it does not put in force. */
  readonly waiting: string | undefined;
  /** A revision that it could not put in force. */
  readonly rejected: string | undefined;
  /** Since it has `revision` in force; undefined: it does not say. */
  readonly counts: RevisionCounts | undefined;
}

/** The control plane that decides. */
export interface Deciding {
  /** The revision that it has in force. */
  readonly inForce: string;
  /** The rollout of the configuration in force; undefined: it has none. */
  readonly rollout: Rollout | undefined;
  /** A revision that its directory holds and that it does not put in force; undefined: there is none. */
  readonly waiting: { readonly revision: string; readonly sinceMs: number } | undefined;
  /** Its directory was not read yet. */
  readonly isReading: boolean;
  /** An operator has pinned a revision. */
  readonly isPinned: boolean;
}

export interface RolloutFacts {
  readonly own: Deciding;
  readonly proxies: readonly RolledProxy[];
  /** Of the proxies that go first. */
  readonly sightings: Sightings;
  /** Unix milliseconds. */
  readonly nowMs: number;
}

/** How long a proxy counts as one of the fleet after its last heartbeat. All times here are milliseconds. */
export const fleetMemoryMs = 30_000;
/** How long it is waited for proxies that have not read the revision yet, when there are fewer than shall go first. */
const gatherMs = 10_000;
/** A proxy that goes first may be silent for so long, and away without a heartbeat, as one is that was stopped in order. */
export const silentMs = 5_000;
export const awayMs = 60_000;
/** How long the proxies that go first may take to put the revision in force when the time is over. */
const graceMs = 10_000;
const mostRestarts = 1;

/** The next state; the same object when nothing changes. Undefined: there is no rollout. */
export function nextState(state: RolloutState | undefined, facts: RolloutFacts): RolloutState | undefined {
  const { own } = facts;
  if (own.isReading) return state;
  // What was aborted stays so: it is not tried again when the pin ends.
  if (own.isPinned) return state?.trial?.phase === 'aborted' ? state : withdrawn(state, facts, 'a revision is pinned');
  if (own.rollout === undefined) return withoutRollout(state, facts);
  if (state?.gates !== true) return { stable: own.inForce, gates: true, ...keptTrial(state) };
  const { trial } = state;
  const candidate = own.waiting?.revision;
  if (candidate === undefined)
    return stillRead(state, facts) ?? withdrawn(state, facts, 'the directory no longer holds the revision');
  if (trial?.revision === candidate) {
    if (trial.phase === 'canary') return judged(state, trial, facts, own.rollout);
    // What is finished is stable: this process takes it in a moment.
    if (trial.phase !== 'withdrawn') return state;
  }
  return begun(state, { candidate, rollout: own.rollout }, facts);
}

/** The end of the trial as an operator wants it; undefined: there is nothing to end so. */
export function endedBy(
  state: RolloutState | undefined,
  {
    phase,
    reason,
    by,
  }: { readonly phase: 'finished' | 'aborted'; readonly reason: string | undefined; readonly by: string },
  { own, nowMs }: Pick<RolloutFacts, 'own' | 'nowMs'>,
): RolloutState | undefined {
  const { trial: last } = state ?? {};
  const isOpen = last?.phase === 'canary' || last?.phase === 'aborted';
  // A control plane that has just started has not read its directory yet.
  const candidate = own.waiting?.revision ?? (own.isReading && isOpen ? last.revision : undefined);
  if (state?.gates !== true || candidate === undefined || own.isPinned) return undefined;
  const trial = last?.revision === candidate ? last : undefined;
  const said = { ...(reason === undefined ? {} : { reason }), by };
  if (phase === 'aborted')
    return trial?.phase === 'canary' ? ended(state, trial, { phase, ...said }, nowMs) : undefined;
  const { reason: _, by: __, ...begunAs } = trial ?? { revision: candidate, proxies: [], beganMs: nowMs };
  return { ...state, stable: candidate, trial: { ...begunAs, phase, untilMs: nowMs, ...said } };
}

/** The requests of the proxies that go first, since they have the revision. */
export function countsOfTrial(trial: Trial, proxies: readonly RolledProxy[]): RevisionCounts {
  return sumCounts(proxies.flatMap((proxy) => (isHolding(trial, proxy) ? (proxy.counts ?? []) : [])));
}

function isHolding(trial: Trial, { instance, isLive, revision }: RolledProxy): boolean {
  return isLive && revision === trial.revision && trial.proxies.includes(instance);
}

/** How many of so many live proxies go first. */
export function canaryCount({ proxies }: Pick<Rollout, 'proxies'>, live: number): number {
  const wanted = typeof proxies === 'number' ? proxies : Math.max(1, Math.floor(shareOf(proxies) * live));
  return Math.max(0, Math.min(wanted, live - 1));
}

/** Proxies that were silent while the last rollout ended may wait for the revision in force. */
function withoutRollout(state: RolloutState | undefined, { own, proxies }: RolloutFacts): RolloutState | undefined {
  const open = { stable: own.inForce, gates: false, ...keptTrial(state) };
  // Until this process has the stable revision, nothing is known of it.
  if (state?.gates === true) return state.stable === own.inForce ? open : state;
  const isAwaited =
    state?.stable !== own.inForce && proxies.some(({ isLive, waiting }) => isLive && waiting === own.inForce);
  return isAwaited ? open : state;
}

function keptTrial(state: RolloutState | undefined): { trial?: Trial } {
  return state?.trial?.phase === 'finished' ? { trial: state.trial } : {};
}

function withdrawn(state: RolloutState | undefined, { nowMs }: RolloutFacts, why: string): RolloutState | undefined {
  const { trial } = state ?? {};
  if (state === undefined || (trial?.phase !== 'canary' && trial?.phase !== 'aborted')) return state;
  return ended(state, trial, { phase: 'withdrawn', reason: trial.reason ?? why }, nowMs);
}

/**
 * The state of a trial that live proxies read in their directories, and this process does not: it is behind them, as one of two control planes
 * may be, or ahead. Undefined: there is none, or its time is long over.
 */
function stillRead(state: RolloutState, facts: RolloutFacts): RolloutState | undefined {
  const { trial } = state;
  const { own, proxies, nowMs } = facts;
  const isRead = proxies.some(({ isLive, waiting, revision }) => isLive && (waiting ?? revision) === trial?.revision);
  if (trial === undefined || own.rollout === undefined || !isRead) return undefined;
  if (trial.phase === 'aborted') return state;
  if (trial.phase !== 'canary' || nowMs > trial.untilMs + graceMs) return undefined;
  const next = judged(state, trial, facts, own.rollout);
  // Without its files, it is not made stable here.
  return next.stable === state.stable ? next : state;
}

function begun(
  state: RolloutState,
  { candidate, rollout }: { readonly candidate: string; readonly rollout: Rollout },
  facts: RolloutFacts,
): RolloutState | undefined {
  const { own, proxies, nowMs } = facts;
  const live = proxies.filter(({ isLive }) => isLive);
  const fleet = proxies.filter(({ isLive, heardMs }) => isLive || nowMs - heardMs < fleetMemoryMs);
  const trial = { revision: candidate, beganMs: nowMs, untilMs: nowMs };
  if (live.length === 1 && fleet.length === 1) {
    const said = { phase: 'finished', proxies: [], reason: 'there is one proxy' } as const;
    return { ...state, stable: candidate, trial: { ...trial, ...said } };
  }
  const count = canaryCount(rollout, live.length);
  const before = state.trial?.proxies ?? [];
  const able = live
    .filter(({ isReady, waiting, rejected }) => isReady && waiting === candidate && rejected !== candidate)
    .map(({ instance }) => instance)
    // Those that went first the last time go first again: no other proxy meets a revision that is being mended.
    .sort((a, b) => Number(before.includes(b)) - Number(before.includes(a)) || (a < b ? -1 : 1));
  const isPatient = nowMs - (own.waiting?.sinceMs ?? nowMs) < gatherMs;
  if (count === 0 || able.length === 0 || (able.length < count && isPatient)) {
    return stillRead(state, facts) ?? withdrawn(state, facts, 'the directory holds another revision');
  }
  const untilMs = nowMs + durationMs(rollout.for);
  return { ...state, trial: { ...trial, phase: 'canary', proxies: able.slice(0, count), untilMs } };
}

function judged(state: RolloutState, trial: Trial, facts: RolloutFacts, rollout: Rollout): RolloutState {
  const { proxies, nowMs } = facts;
  const canaries = proxies.filter(({ instance }) => trial.proxies.includes(instance));
  const isHeld = canaries.some((proxy) => isHolding(trial, proxy));
  const counts = countsOfTrial(trial, proxies);
  const reason = troubleOf(trial, canaries, facts) ?? beyondLimits(counts, limitsOf(rollout));
  if (reason !== undefined) return ended(state, trial, { phase: 'aborted', reason }, nowMs);
  // The clock was set back: the time begins again.
  if (nowMs < trial.beganMs)
    return { ...state, trial: { ...trial, beganMs: nowMs, untilMs: nowMs + durationMs(rollout.for) } };
  if (nowMs < trial.untilMs) return state;
  if (isHeld) return ended({ ...state, stable: trial.revision }, trial, { phase: 'finished' }, nowMs);
  if (nowMs < trial.untilMs + graceMs) return state;
  return ended(state, trial, { phase: 'aborted', reason: 'no proxy has put it in force' }, nowMs);
}

/** Why the proxies that go first are no proof, in words; undefined: they are. */
function troubleOf(trial: Trial, canaries: readonly RolledProxy[], facts: RolloutFacts): string | undefined {
  const rejecting = canaries.find(({ isLive, rejected }) => isLive && rejected === trial.revision);
  if (rejecting !== undefined) return `${rejecting.instance} rejects the revision`;
  for (const [name, { restarts }] of facts.sightings.all)
    if (restarts > mostRestarts) return `${name} has restarted ${restarts} times`;
  // When all proxies are silent, the revision is not why.
  if (!facts.proxies.some(({ isLive }) => isLive)) return undefined;
  const unseen = (name: string): number => facts.nowMs - (facts.sightings.all.get(name)?.seenMs ?? facts.nowMs);
  const silent = canaries.find(({ instance, isLive }) => !isLive && unseen(instance) >= silentMs);
  if (silent !== undefined) return `${silent.instance} has sent no heartbeat for ${silentMs / 1000} s`;
  return trial.proxies.every((name) => unseen(name) >= awayMs) ? `${trial.proxies.join(', ')} went away` : undefined;
}

function ended(
  state: RolloutState,
  trial: Trial,
  end: Pick<Trial, 'phase' | 'reason' | 'by'>,
  nowMs: number,
): RolloutState {
  return { ...state, trial: { ...trial, untilMs: nowMs, ...end } };
}
