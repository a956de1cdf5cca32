// The degraded parts with their causes and their start: of this plane, and of every proxy as it says itself.
import { timestamp } from '../domain/timestamp.ts';
import type { HeartbeatBody } from '../store/state/heartbeat-body.ts';
import type { Desired, Fleet, ProxyView } from './fleet.ts';
import type { Readiness } from './readiness.ts';

export interface Degraded {
  /** `control-plane`, or the name of a proxy. */
  readonly where: string;
  /** Stable, for programs: `config_rejected`. */
  readonly reason: string;
  /** When this plane first saw it; of a proxy that is silent, the time of its last heartbeat. Unix milliseconds. */
  readonly sinceMs: number;
  /** The cause in words; undefined where the reason says all. */
  readonly cause?: string | undefined;
}

export interface Degradation {
  /** Looks again, and gives what is degraded now: a store that is down before what follows from it, then the oldest first. */
  look(): readonly Degraded[];
}

export interface DegradationParts {
  readonly fleet: Pick<Fleet, 'proxies'>;
  readonly readiness: () => Readiness;
  readonly desired: () => Desired;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
}

export const ownName = 'control-plane';
/** A proxy may be behind for so long: it follows a change within a second. Milliseconds. */
const followMs = 2_000;
/** So many names are told of one reason. */
const mostNamed = 5;

export const storeDown = 'state_store_unavailable';

/** Whether it is that this plane does not reach its state store. */
export function isStoreDown({ where, reason }: Degraded): boolean {
  return where === ownName && reason === storeDown;
}

/** The times are exact when `look` is called often, as the watch of the fleet does. */
export function createDegradation({ fleet, readiness, desired, nowMs }: DegradationParts): Degradation {
  let known = new Map<string, Degraded>();
  return {
    look() {
      const proxies = fleet.proxies();
      const { reasons, causes = {} } = readiness();
      const isDown = reasons.includes(storeDown);
      const now = nowMs();
      const found: Degraded[] = [
        ...reasons.map((reason) => ({ where: ownName, reason, sinceMs: now, cause: causes[reason] })),
        ...(proxies.some(({ isLive }) => isLive) ? [] : [nobody(isDown, now)]),
        ...proxies.flatMap((proxy) => {
          const { instance: where, isLive, heardAtMs } = proxy;
          if (!isLive) return [{ where, reason: 'silent', sinceMs: heardAtMs, cause: silence(isDown) }];
          return [...reasonsOf(proxy, desired())].map(([reason, cause]) => ({ where, reason, sinceMs: now, cause }));
        }),
      ];
      known = new Map(
        found.map((each) => {
          const name = `${each.reason} ${each.where}`;
          return [name, { ...each, sinceMs: known.get(name)?.sinceMs ?? each.sinceMs }];
        }),
      );
      const isTrouble = ({ reason, sinceMs }: Degraded): boolean => reason !== 'behind' || now - sinceMs > followMs;
      const rank = (each: Degraded): number => (isStoreDown(each) ? 0 : 1);
      return [...known.values()].filter(isTrouble).sort((a, b) => rank(a) - rank(b) || a.sinceMs - b.sinceMs);
    },
  };
}

function nobody(isDown: boolean, sinceMs: number): Degraded {
  const cause = isDown
    ? 'none was heard through the state store, and none has told this control plane itself'
    : undefined;
  return { where: ownName, reason: 'no_proxy_is_live', sinceMs, cause };
}

function silence(isDown: boolean): string | undefined {
  return isDown ? 'it has not told this control plane itself either' : undefined;
}

/** The live proxies that reject the configuration on their disk. */
export function rejectingProxies(proxies: readonly ProxyView[]): string[] {
  return proxies
    .filter(({ isLive, body }) => isLive && body.config_problems.length > 0)
    .map(({ instance }) => instance);
}

/** With their causes. */
function reasonsOf(proxy: ProxyView, { environment }: Desired): Map<string, string | undefined> {
  const { body, isConverged, isShared } = proxy;
  const isOther = body.environment !== environment;
  return new Map(
    [
      ...(isShared ? ['instance_shared'] : []),
      ...(isOther ? ['environment_differs'] : []),
      ...(isConverged || isOther ? [] : ['behind']),
      ...saidOf(body),
      ...(body.store_trouble === undefined ? [] : [storeDown]),
      ...((body.refused_keys ?? []).length > 0 ? ['provider_key_refused'] : []),
      ...((body.left_out_providers ?? []).length > 0 ? ['providers_left_out'] : []),
      ...((body.unusable_target_count ?? 0) > 0 ? ['targets_unusable'] : []),
    ].map((reason) => [reason, causes[reason]?.(body)] as const),
  );
}

/** What its readiness says; of an older proxy, what follows from the rest of its heartbeat. */
function saidOf(body: HeartbeatBody): readonly string[] {
  if (body.ready !== undefined) return body.ready[1];
  return [
    ...(body.config_source === 'last-good' ? ['config_last_good'] : []),
    ...(body.config_problems.length > 0 ? ['config_rejected'] : []),
    ...(body.state_source === 'store' ? [] : [storeDown]),
    ...((body.secret_problems ?? []).length > 0 ? ['secret_file_unusable'] : []),
  ];
}

const causes: Readonly<Record<string, (body: HeartbeatBody) => string | undefined>> = {
  config_rejected: ({ config_problems, config_rejected, config_revision }) =>
    config_rejected === undefined
      ? config_problems[0]
      : `revision ${config_rejected[0]} is rejected and ${config_revision} stays in force: ${config_problems[0] ?? ''}`,
  config_pin_unusable: ({ config_given }) => config_given?.[2][0],
  secret_file_unusable: ({ secret_problems = [] }) => secret_problems[0],
  provider_key_file_unreadable: ({ secret_problems = [] }) => secret_problems[0],
  secret_reference_unreadable: ({ secret_problems = [] }) => secret_problems[0],
  state_store_unavailable: ({ store_trouble }) =>
    store_trouble === undefined
      ? undefined
      : `it says so itself, and serves with the rules and keys in force: ${store_trouble}`,
  provider_key_unusable: ({ secret_problems = [] }) => secret_problems[0],
  guardrail_unusable: ({ unusable_guardrails = [] }) => named(unusable_guardrails),
  provider_credential_missing: ({ cloud_identities = [] }) =>
    named(
      cloud_identities.flatMap((identity) =>
        identity[6] ? [] : `${identity[0]}: ${identity[5] ?? 'none has come yet'}`,
      ),
    ),
  providers_left_out: ({ left_out_providers = [] }) => named(left_out_providers),
  provider_key_refused: ({ refused_keys = [] }) => named(refused_keys.map(refusalWords)),
  targets_unusable: ({ unusable_targets = [] }) =>
    named(unusable_targets.map(([provider, model, reason]) => `${provider}/${model} (${reason.replaceAll('_', ' ')})`)),
};

function refusalWords([provider, position, keys, reason, sinceMs]: NonNullable<
  HeartbeatBody['refused_keys']
>[number]): string {
  const key = keys === 1 ? 'the key' : `key ${position} of ${keys}`;
  const since = `since ${timestamp(sinceMs)}`;
  return reason === 'account_used_up'
    ? `${provider} says that the account of ${key} has no money left, ${since}`
    : `${provider} refuses ${key}, ${since}`;
}

function named(names: readonly string[]): string | undefined {
  const more = names.length - mostNamed;
  if (names.length === 0) return undefined;
  return more > 0 ? `${names.slice(0, mostNamed).join('; ')}; and ${more} more` : names.join('; ');
}
