// The heartbeats that proxies have told themselves, because the state store does not take them. They are bounded: who tells has the master key.
import { type HeartbeatBody, heartbeatLifeMs } from '../store/state/heartbeat-body.ts';
import type { Heartbeat } from '../store/state/state-store.ts';

/** Proxies beyond these are not heard. */
const mostTold = 1_000;

export class ToldHeartbeats {
  /** By instance. */
  readonly #last = new Map<string, Heartbeat>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  take(instance: string, body: HeartbeatBody): void {
    if (this.#last.has(instance) || this.#last.size < mostTold)
      this.#last.set(instance, { instance, atMs: this.#nowMs(), body });
  }

  has(beat: Heartbeat): boolean {
    return this.#last.get(beat.instance) === beat;
  }

  /** Of each proxy the newer one, told or stored; sorted by instance. `stored`: with the times by this plane's clock. */
  beside(stored: readonly Heartbeat[]): readonly Heartbeat[] {
    if (this.#last.size === 0) return stored;
    const newest = new Map(stored.map((beat) => [beat.instance, beat]));
    for (const beat of this.#last.values())
      if (beat.atMs > (newest.get(beat.instance)?.atMs ?? Number.NEGATIVE_INFINITY)) newest.set(beat.instance, beat);
    return [...newest.values()].sort((a, b) => (a.instance < b.instance ? -1 : 1));
  }

  /** The store answers: what is over is no news any more, and a proxy that ended in order has no heartbeat there. */
  forgetSilent(): void {
    for (const { instance, atMs } of this.#last.values())
      if (this.#nowMs() - atMs >= heartbeatLifeMs) this.#last.delete(instance);
  }
}
