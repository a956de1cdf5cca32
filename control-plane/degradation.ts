// The degraded parts and their start: of this plane, and of every proxy as far as its heartbeat shows.
import type { Desired, Fleet, ProxyView } from './fleet.ts';
import type { Readiness } from './readiness.ts';

export interface Degraded {
  /** `control-plane`, or the name of a proxy. */
  readonly where: string;
  /** Stable, for programs: `config_rejected`. */
  readonly reason: string;
  /** When this plane first saw it; of a proxy that is silent, the time of its last heartbeat. Unix milliseconds. */
  readonly sinceMs: number;
}

export interface Degradation {
  /** Looks again, and gives what is degraded now, the oldest first. */
  look(): readonly Degraded[];
}

export interface DegradationParts {
  readonly fleet: Pick<Fleet, 'proxies'>;
  readonly readiness: () => Readiness;
  readonly desired: () => Desired;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
}

const ownName = 'control-plane';
/** A proxy may be behind for so long: it follows a change within a second. Milliseconds. */
const followMs = 2_000;

/** The times are exact when `look` is called often, as the watch of the fleet does. */
export function createDegradation({ fleet, readiness, desired, nowMs }: DegradationParts): Degradation {
  let known = new Map<string, Degraded>();
  return {
    look() {
      const proxies = fleet.proxies();
      const found: Degraded[] = [
        ...readiness().reasons.map((reason) => ({ where: ownName, reason, sinceMs: nowMs() })),
        ...(proxies.some(({ isLive }) => isLive)
          ? []
          : [{ where: ownName, reason: 'no_proxy_is_live', sinceMs: nowMs() }]),
        ...proxies.flatMap((proxy) => {
          const { instance: where, isLive, heardAtMs } = proxy;
          if (!isLive) return [{ where, reason: 'silent', sinceMs: heardAtMs }];
          return reasonsOf(proxy, desired()).map((reason) => ({ where, reason, sinceMs: nowMs() }));
        }),
      ];
      known = new Map(
        found.map((each) => {
          const name = `${each.reason} ${each.where}`;
          return [name, known.get(name) ?? each];
        }),
      );
      const isTrouble = ({ reason, sinceMs }: Degraded): boolean => reason !== 'behind' || nowMs() - sinceMs > followMs;
      return [...known.values()].filter(isTrouble).sort((a, b) => a.sinceMs - b.sinceMs);
    },
  };
}

function reasonsOf({ body, isConverged, isShared }: ProxyView, { environment }: Desired): string[] {
  const isOther = body.environment !== environment;
  return [
    ...(isShared ? ['instance_shared'] : []),
    ...(isOther ? ['environment_differs'] : []),
    ...(isConverged || isOther ? [] : ['behind']),
    ...(body.config_source === 'last-good' ? ['config_last_good'] : []),
    ...(body.config_problems.length > 0 ? ['config_rejected'] : []),
    ...(body.state_source === 'store' ? [] : ['state_store_unavailable']),
    ...((body.secret_problems ?? []).length > 0 ? ['secret_file_unusable'] : []),
    ...((body.left_out_providers ?? []).length > 0 ? ['providers_left_out'] : []),
    ...((body.unusable_target_count ?? 0) > 0 ? ['targets_unusable'] : []),
  ];
}
