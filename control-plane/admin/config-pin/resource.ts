// The pin of the configuration: GET, PUT and DELETE /admin/config/pin.
import type { ConfigPin } from '../../../domain/config-pins/config-pin.ts';
import { configPins } from '../../../domain/documents/kinds.ts';
import { authorFacts } from '../../../domain/rules/authorship.ts';
import { timestamp } from '../../../domain/timestamp.ts';
import type { FollowStatus } from '../../../gitops/follow/config-status.ts';
import { formatProblem } from '../../../gitops/read/problem.ts';
import type { Fleet } from '../../fleet.ts';
import { readKnown } from '../../managed/known.ts';
import type { ManagedParts, ManagedResource, ManagedWrite, Named } from '../../managed/resource.ts';
import {
  describePin,
  endPin,
  type KnownPins,
  type PinnableRevisions,
  putPin,
  readPin,
  type WantedPin,
} from './pins.ts';

/** The parts of the process that this resource uses. */
export interface PinParts extends ManagedParts {
  readonly fleet: Pick<Fleet, 'refresh' | 'proxies'>;
  readonly status: () => FollowStatus | undefined;
}

type PinWrite<Wanted extends Named> = ManagedWrite<PinParts, KnownPins, Wanted>;

const nothing = { config: new Map<string, never>(), places: new Map<string, string>() };

/** The files come from `revisions`, and are shown nowhere. */
export function configPinResource(revisions: PinnableRevisions): ManagedResource<PinParts, KnownPins> {
  const put: PinWrite<WantedPin> = {
    method: 'PUT',
    read: (body, nowMs) => readPin(body, nowMs, revisions),
    decide: (known, wanted, { name }) => [putPin(known, wanted, name)],
  };
  const end: PinWrite<Named> = {
    method: 'DELETE',
    read: () => ({ key: '' }),
    decide: (known) => [endPin(known)],
  };
  return {
    path: '/admin/config/pin',
    kind: configPins,
    known: (_, state, nowMs) => readKnown(configPins, state, nothing, nowMs),
    async list({ fleet, status }, state, { nowMs, isStale }) {
      await fleet.refresh().catch(() => undefined);
      const [pin] = readKnown(configPins, state, nothing, nowMs).manual.all().values();
      return {
        server_time: timestamp(nowMs),
        pin: pin === undefined ? null : describePin(pin),
        ...standing(status(), fleet, pin),
        ...(isStale ? { stale: true } : {}),
      };
    },
    title: () => 'pin of the configuration',
    facts: (before, after) => ({ before: factsOf(before), after: factsOf(after) }),
    writes: [put, end],
  };
}

/** Where the pin is in force, where it cannot be, and what waits. */
function standing(
  config: FollowStatus | undefined,
  fleet: Pick<Fleet, 'proxies'>,
  pin: ConfigPin | undefined,
): Record<string, unknown> {
  const live = fleet.proxies().filter(({ isLive }) => isLive);
  const inForce = live.filter(({ body }) => pin !== undefined && body.config_revision === pin.revision);
  const [problem] = config?.given?.problems ?? [];
  const unusable = live.flatMap(({ instance: where, body }) => {
    const [first] = body.config_given?.[2] ?? [];
    return first === undefined ? [] : [{ where, problem: first }];
  });
  return {
    config_revision: config?.revision ?? '',
    waiting_revision: config?.waiting ?? null,
    waiting_problems: config?.given === undefined ? [] : config.problems.map(formatProblem),
    proxies: { live: live.length, in_force: inForce.length },
    unusable: [
      ...(problem === undefined ? [] : [{ where: 'control-plane', problem: formatProblem(problem) }]),
      ...unusable,
    ],
  };
}

function factsOf({ manual }: KnownPins): object | null {
  const [pin] = manual.all().values();
  return pin === undefined ? null : { revision: pin.revision, ...authorFacts(pin) };
}
