// The routes GET /admin/status and /admin/convergence: the desired revisions, those in force in each proxy, and how many follow. And POST
// /admin/heartbeats, where a proxy says itself what the store does not take.
import type { FastifyPluginAsync } from 'fastify';
import { standingPin } from '../../../domain/config-pins/config-pin.ts';
import { configPins } from '../../../domain/documents/kinds.ts';
import { timestamp } from '../../../domain/timestamp.ts';
import type { FollowStatus } from '../../../gitops/follow/config-status.ts';
import { formatProblem } from '../../../gitops/read/problem.ts';
import type { TokenKeys } from '../../../plane/identities/token-keys.ts';
import { heartbeatPath } from '../../../schemas/heartbeat-path.ts';
import { bodies } from '../../../schemas/validation/generated/bodies.js';
import { isEmptied } from '../../../store/state/custody.ts';
import {
  type HeartbeatBody,
  mostDiscovered,
  mostIdentities,
  mostProbes,
  mostProblems,
  mostRefusedKeys,
  mostUnusableTargets,
  readHeartbeatBody,
} from '../../../store/state/heartbeat-body.ts';
import type { StateStatus } from '../../../store/state/state-status.ts';
import type { Document } from '../../../store/state/state-store.ts';
import { type Degradation, type Degraded, ownName, storeDown } from '../../degradation.ts';
import { refusal } from '../../errors.ts';
import type { Desired, Fleet, ProxyView } from '../../fleet.ts';
import { createBodyReader, invalid } from '../../managed/read-body.ts';
import { storedKind } from '../../managed/stored-kind.ts';
import type { RoomStatus } from '../../records/keep-within.ts';
import { describePin } from '../config-pin/pins.ts';
import { readFilled, readWhole } from '../records/read-query.ts';
import { drainRows } from '../targets/drains.ts';

export interface StatusParts {
  readonly fleet: Fleet;
  readonly degradation: Degradation;
  desired(): Desired;
  config(): FollowStatus | undefined;
  state(): StateStatus;
  /** The managed documents in force here. */
  documents(): readonly Document[];
  readonly engine: 'sqlite' | 'redis';
  /** See `KeptRecords`. */
  room(): RoomStatus | undefined;
  /** Names the master key of this plane; see `SealedStore`. */
  keyMark(): string | undefined;
  /** Why files of secrets do not hold what is in force here, a sentence each. */
  secretProblems(): readonly string[];
  readonly tokenKeys: Pick<TokenKeys, 'states'>;
  readonly nowMs: () => number;
}

const readHeartbeat = createBodyReader(bodies.heartbeatWrite);

/** Answers with `schemas/admin/status.schema.json`. While the store is down, it shows the last heartbeats. */
export const status: FastifyPluginAsync<{ parts: StatusParts }> = async (app, { parts }) => {
  const { fleet, engine, nowMs } = parts;

  app.get('/admin/status', async () => {
    await fleet.refresh().catch(() => undefined);
    const desired = parts.desired();
    const config = parts.config();
    const { isUp, standing, source, storeId, evicts, writeBacks } = parts.state();
    const proxies = fleet.proxies();
    const degraded = parts.degradation.look();
    return {
      server_time: timestamp(nowMs()),
      converged: config?.lastReloadSuccessful !== false && areConverged(proxies),
      lag_seconds: fleet.lagSeconds(),
      degraded: degraded.map(({ where, reason, sinceMs, cause }) => {
        return { where, reason, since: timestamp(sinceMs), ...(cause === undefined ? {} : { cause }) };
      }),
      desired: {
        config_revision: desired.configRevision,
        state_revision: desired.stateRevision,
        environment: desired.environment,
      },
      proxies: proxies.map((proxy) => describeProxy(proxy, desired, parts.keyMark())),
      config_pin: pinIn(parts.documents(), nowMs()),
      ...waitingOf(config?.waiting),
      drained_targets: drainRows(parts.documents(), nowMs()),
      last_rejected_config: rejectedConfig(config),
      secret_problems: parts.secretProblems(),
      ...certificateOf(config?.certificate?.notAfterMs),
      identities: parts.tokenKeys.states().map((each) => ({
        name: each.name,
        issuer: each.issuer,
        keys: each.keys,
        usable: each.areUsable,
        fetched_at: each.fetchedAtMs === undefined ? null : timestamp(each.fetchedAtMs),
        last_error: each.lastError ?? null,
      })),
      store: {
        engine,
        status: isEmptied(standing) ? 'emptied' : standing === 'behind' ? 'behind' : isUp ? 'up' : 'down',
        source,
        store_id: storeId ?? null,
        trouble: storeTrouble(degraded),
        evicts: evicts ?? null,
        write_backs: writeBacks,
      },
      records: describeRoom(parts.room()),
    };
  });

  app.get('/admin/convergence', async ({ query }, reply) => {
    const { revision } = readFilled(query, ['revision']);
    const stateRevision =
      revision === undefined
        ? parts.desired().stateRevision
        : readWhole('revision', revision, [0, Number.MAX_SAFE_INTEGER]);
    await fleet.refresh().catch(() => undefined);
    const live = fleet.proxies().filter(({ isLive }) => isLive);
    const enforcing = live.filter(
      ({ body, isShared }) => !isShared && body.state_source === 'store' && body.state_revision >= stateRevision,
    );
    void reply.header('cache-control', 'no-store');
    return {
      server_time: timestamp(nowMs()),
      state_revision: stateRevision,
      proxies: { live: live.length, enforcing: enforcing.length },
    };
  });

  app.post(heartbeatPath, async ({ body, operator }, reply) => {
    // Proxies have the master key; without one everybody may do everything.
    if (operator.kind !== 'master_key' && operator.kind !== 'anonymous')
      throw refusal('admin_scope_denied', { fill: { what: 'speak for a proxy: that needs the master key' } });
    const { instance, heartbeat } = readHeartbeat(body);
    const said = readHeartbeatBody(heartbeat);
    if (said === undefined) throw invalid('heartbeat', 'must be the heartbeat of a proxy');
    fleet.told(instance, said);
    return reply.code(204).send();
  });
};

/** Whether live proxies enforce what is desired, and none rejects what lies on its disk. */
function areConverged(proxies: readonly ProxyView[]): boolean {
  const live = proxies.filter(({ isLive }) => isLive);
  const isWell = ({ isConverged, isShared, body }: ProxyView): boolean =>
    isConverged && !isShared && body.config_problems.length === 0;
  return live.length > 0 && live.every(isWell);
}

/** Why the store cannot be used here, and since when. */
function storeTrouble(degraded: readonly Degraded[]): object | null {
  const found = degraded.find(({ where, reason }) => where === ownName && reason === storeDown);
  return found === undefined ? null : { since: timestamp(found.sinceMs), cause: found.cause ?? null };
}

function describeProxy(proxy: ProxyView, desired: Desired, keyMark: string | undefined): object {
  const { instance, isShared, isLive, heardAtMs, heardFrom, body, isConverged } = proxy;
  return {
    instance,
    instance_shared: isShared,
    live: isLive,
    converged: isConverged,
    heard_at: timestamp(heardAtMs),
    heard_from: heardFrom,
    ...(body.ready === undefined ? {} : { ready: { status: body.ready[0], reasons: body.ready[1] } }),
    started_at: timestamp(body.started_at_ms),
    config_revision: body.config_revision,
    config_source: body.config_source,
    state_revision: body.state_revision,
    state_source: body.state_source,
    limiter: body.limiter,
    ...(body.limit_scope === undefined ? {} : { limit_scope: body.limit_scope }),
    ...(body.limit_store === undefined ? {} : { limit_store: body.limit_store }),
    environment: body.environment,
    environment_matches: body.environment === desired.environment,
    last_config_error: body.config_problems.length === 0 ? null : body.config_problems,
    ...(body.config_rejected === undefined
      ? {}
      : { rejected_config: { revision: body.config_rejected[0], since: timestamp(body.config_rejected[1]) } }),
    ...givenOf(body.config_given),
    ...waitingOf(body.waiting_revision),
    ...(keyMark === undefined || body.master_key_mark === undefined
      ? {}
      : { master_key_matches: body.master_key_mark === keyMark }),
    secret_problems: body.secret_problems ?? [],
    ...certificateOf(body.certificate_not_after_ms),
    left_out_providers: body.left_out_providers ?? [],
    unusable_targets: (body.unusable_targets ?? [])
      .slice(0, mostUnusableTargets)
      .map(([provider, model, reason, untilMs, sinceMs]) => ({
        provider,
        model,
        reason,
        ...(sinceMs === undefined ? {} : { since: timestamp(sinceMs) }),
        until: timestamp(untilMs),
      })),
    refused_keys: (body.refused_keys ?? []).slice(0, mostRefusedKeys).map(([provider, key, keys, reason, sinceMs]) => {
      return { provider, key, keys, reason, since: timestamp(sinceMs) };
    }),
    unusable_target_count: body.unusable_target_count ?? 0,
    probes: (body.probes ?? []).slice(0, mostProbes).map(([provider, model, outcome, atMs]) => {
      return { provider, model, outcome, probed_at: atMs === null ? null : timestamp(atMs) };
    }),
    cloud_identities: (body.cloud_identities ?? []).slice(0, mostIdentities).map((identity) => {
      const [provider, source, principal, endsAtMs, renewedAtMs, problem, isValid, sessions] = identity;
      return {
        provider,
        source,
        principal,
        valid: isValid,
        expires_at: endsAtMs === null ? null : timestamp(endsAtMs),
        renewed_at: renewedAtMs === null ? null : timestamp(renewedAtMs),
        last_error: problem,
        sessions,
      };
    }),
    discovered_models: (body.discovered_models ?? []).slice(0, mostDiscovered).map(([provider, count, atMs]) => {
      return { provider, count, discovered_at: atMs === null ? null : timestamp(atMs) };
    }),
  };
}

/** What is given in place of a directory. */
function givenOf(given: HeartbeatBody['config_given']): object {
  if (given === undefined) return {};
  const [source, revision, problems] = given;
  return { given_config: { source, revision, problems: problems.slice(0, mostProblems) } };
}

function pinIn(documents: readonly Document[], nowMs: number): object | null {
  const pin = standingPin(storedKind(configPins, { documents }).values(), nowMs);
  return pin === undefined ? null : describePin(pin);
}

/** What a directory holds meanwhile. */
function waitingOf(revision: string | undefined): object {
  return revision === undefined ? {} : { waiting_config: { revision } };
}

/** The certificate of a listener with TLS. */
function certificateOf(notAfterMs: number | undefined): { readonly certificate?: object } {
  return notAfterMs === undefined ? {} : { certificate: { not_after: timestamp(notAfterMs) } };
}

function describeRoom(room: RoomStatus | undefined): object | null {
  if (room === undefined) return null;
  return {
    used_bytes: room.usedBytes,
    most_bytes: room.mostBytes,
    bodies_removed: room.bodiesRemoved,
    entries_removed: room.entriesRemoved,
  };
}

function rejectedConfig(config: FollowStatus | undefined): object | null {
  if (config === undefined || config.lastReloadSuccessful) return null;
  const { rejected, problems } = config;
  return {
    ...(rejected === undefined ? {} : { revision: rejected.revision, since: timestamp(rejected.sinceMs) }),
    problems: problems.map(formatProblem),
  };
}
