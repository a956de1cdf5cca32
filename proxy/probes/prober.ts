// Providers that are probed: each again and again, by one proxy of the fleet at a time. What that one finds, the others learn from the state store.
import type { EndedTurn, Turns } from '../../store/state/state-store.ts';
import type { ProbePlan, Upstream } from '../snapshot/snapshot.ts';
import { type KnownProbe, type ProbeOutcome, probeOutcomes } from '../tallies/known-probe.ts';
import type { TargetStates } from '../targets/target-states.ts';
import type { Probed } from './ask-probe.ts';

export interface ProberParts {
  readonly turns: Turns;
  /** The name of this proxy. */
  readonly instance: string;
  readonly targets: Pick<TargetStates, 'known'>;
  /** Never rejects. */
  readonly ask: (upstream: Upstream, plan: ProbePlan) => Promise<Probed>;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
}

/** Times are varied by this part of them, so that the proxies of a fleet do not ask the store together. */
const spread = 0.1;
/** The least part of the interval between the end of a probe and the next one, whichever proxies make them. */
const leastPart = 0.8;
/** A turn lasts so much longer than the probe may: the store takes a while. Milliseconds. */
const lifeMarginMs = 2_000;

interface Watched {
  upstream: Upstream;
  readonly plan: ProbePlan;
  readonly name: string;
  readonly counts: Record<ProbeOutcome, number>;
  last: KnownProbe['last'];
  /** The end of the last turn that is known here; undefined: none was looked for yet. */
  seenAtMs: number | undefined;
  isGone: boolean;
  timer: NodeJS.Timeout | undefined;
}

export class Prober {
  readonly #parts: ProberParts;
  readonly #watched = new Map<string, Watched>();

  constructor(parts: ProberParts) {
    this.#parts = parts;
  }

  /** From now on these are probed, as far as they have a plan. */
  keep(upstreams: readonly Upstream[]): void {
    const present = new Set<string>();
    for (const upstream of upstreams) {
      const { probe: plan } = upstream;
      if (plan === undefined) continue;
      const name = JSON.stringify([
        upstream.name,
        upstream.origin,
        plan.model ?? null,
        plan.intervalMs,
        plan.timeoutMs,
      ]);
      present.add(name);
      const before = this.#watched.get(name);
      if (before === undefined) this.#watched.set(name, this.#begin(name, upstream, plan));
      else before.upstream = upstream;
    }
    for (const [name, watched] of this.#watched) {
      if (present.has(name)) continue;
      drop(watched);
      this.#watched.delete(name);
    }
  }

  /** What is known of each. */
  known(): KnownProbe[] {
    return [...this.#watched.values()].map(({ upstream, plan, last, counts }) => {
      return { provider: upstream.name, model: plan.model, last, counts };
    });
  }

  close(): void {
    for (const watched of this.#watched.values()) drop(watched);
  }

  #begin(name: string, upstream: Upstream, plan: ProbePlan): Watched {
    const counts = Object.fromEntries(probeOutcomes.map((outcome) => [outcome, 0])) as Watched['counts'];
    const state = { last: undefined, seenAtMs: undefined, isGone: false, timer: undefined };
    const watched: Watched = { name, upstream, plan, counts, ...state };
    this.#later(watched, plan.intervalMs * Math.random());
    return watched;
  }

  #later(watched: Watched, waitMs: number): void {
    // A timer holds 31 bits.
    watched.timer = setTimeout(() => void this.#turn(watched), Math.min(waitMs, 2 ** 31 - 1)).unref();
  }

  /** While the state store does not answer, nothing is probed: more than one proxy might do it. */
  async #turn(watched: Watched): Promise<void> {
    const { plan } = watched;
    const turn = { name: `probe ${watched.name}`, holder: this.#parts.instance };
    const times = { everyMs: Math.floor(plan.intervalMs * leastPart), lifeMs: plan.timeoutMs + lifeMarginMs };
    const given = await this.#parts.turns.take(turn, times).catch(() => undefined);
    if (given?.isTaken && !watched.isGone) {
      const { outcome, isNoted } = await this.#parts.ask(watched.upstream, plan);
      const ended = await this.#parts.turns.end(turn, outcome).catch(() => undefined);
      watched.counts[outcome] += 1;
      watched.seenAtMs = ended?.atMs ?? watched.seenAtMs ?? 0;
      this.#take(watched, outcome, isNoted);
    } else if (given !== undefined) this.#learn(watched, given.last);
    if (!watched.isGone) this.#later(watched, plan.intervalMs * (1 + spread * (2 * Math.random() - 1)));
  }

  /** What another proxy has found since; what was found before this one looked says nothing of now. */
  #learn(watched: Watched, ended: EndedTurn | undefined): void {
    const isFirst = watched.seenAtMs === undefined;
    const isNew = ended !== undefined && ended.atMs !== watched.seenAtMs;
    watched.seenAtMs = ended?.atMs ?? watched.seenAtMs ?? 0;
    const outcome = probeOutcomes.find((each) => each === ended?.value);
    if (isNew && !isFirst && outcome !== undefined) this.#take(watched, outcome, false);
  }

  /** Puts the outcome into the states of the targets that it is about. `isNoted`: a failure is there already. */
  #take(watched: Watched, outcome: ProbeOutcome, isNoted: boolean): void {
    const { plan, upstream } = watched;
    const nowMs = this.#parts.nowMs();
    watched.last = { outcome, atMs: Math.floor(nowMs) };
    if (outcome === 'unclear') return;
    const isUp = outcome === 'up';
    const isOfModel = plan.model !== undefined;
    for (const { provider, model, state } of this.#parts.targets.known()) {
      if (provider !== upstream.name || (isOfModel && model !== plan.model)) continue;
      if (isUp && isOfModel) state.served();
      if (isUp || (upstream.hasBreaker && !isNoted)) state.breaker.probed(nowMs, { isUp, isOfModel });
    }
  }
}

function drop(watched: Watched): void {
  watched.isGone = true;
  clearTimeout(watched.timer);
}
