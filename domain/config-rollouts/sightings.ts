// When each proxy that goes first was last seen alive, and how often it has started. Kept by the control plane, by its own clock. Pure.

/** A proxy as its heartbeats show it. */
export interface SeenProxy {
  readonly instance: string;
  readonly isLive: boolean;
  /** Of its process, by its own clock. */
  readonly startedAtMs: number;
}

export interface Sighting {
  /** Unix milliseconds. */
  readonly seenMs: number;
  readonly startedAtMs: number | undefined;
  readonly restarts: number;
}

export interface Sightings {
  /** Says which trial they are of. */
  readonly of: string;
  readonly atMs: number;
  readonly all: ReadonlyMap<string, Sighting>;
}

/** After a pause of so many milliseconds this process was suspended, or the store did not answer: nothing was silent meanwhile. */
const longestPauseMs = 5_000;

/** `of`: names the trial; those of another one are forgotten. */
export function sightingsAfter(
  before: Sightings | undefined,
  { of, proxies: names }: { readonly of: string; readonly proxies: readonly string[] },
  proxies: readonly SeenProxy[],
  nowMs: number,
): Sightings {
  const isContinued = before?.of === of;
  const hasPaused = !isContinued || Math.abs(nowMs - before.atMs) > longestPauseMs;
  const live = new Map(proxies.filter(({ isLive }) => isLive).map((proxy) => [proxy.instance, proxy]));
  const all = names.map((name): [string, Sighting] => {
    const known = isContinued ? before.all.get(name) : undefined;
    const proxy = live.get(name);
    const startedAtMs = proxy?.startedAtMs ?? known?.startedAtMs;
    const hasRestarted = known?.startedAtMs !== undefined && startedAtMs !== known.startedAtMs;
    const isSeen = proxy !== undefined || known === undefined || hasPaused;
    return [
      name,
      {
        seenMs: isSeen ? nowMs : known.seenMs,
        startedAtMs,
        restarts: (known?.restarts ?? 0) + (hasRestarted ? 1 : 0),
      },
    ];
  });
  return { of, atMs: nowMs, all: new Map(all) };
}
