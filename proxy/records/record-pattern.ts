// Which records differ from each other only in what is written anew into the line of each.
import type { AttemptUsage } from '../../domain/records/usage.ts';
import type { CachedFacts } from '../../store/cache/answer-cache.ts';
import { countingOf, type RecordedEnd, type RecordedTrip } from './record-of-trip.ts';

export type UsualTrip = RecordedTrip & {
  readonly [Name in 'principal' | 'call' | 'route']: NonNullable<RecordedTrip[Name]>;
};

/** What the client says: of one pattern either all records have it, or none. */
export interface Said {
  readonly session: string | undefined;
  readonly agent: string | undefined;
  readonly mostTokens: number | undefined;
  readonly temperature: number | undefined;
}

/** A usual trip that is over, and the id of its record. */
export interface Ended {
  readonly trip: UsualTrip;
  readonly end: RecordedEnd;
  readonly said: Said;
  readonly usage: AttemptUsage | undefined;
  readonly id: string;
}

/** What the records of one pattern share. */
export interface Shared {
  /** A bit for each member that may be absent, and for each that is true or false. */
  readonly shape: number;
  /** Members of the usage. */
  readonly used: readonly string[];
  readonly source: AttemptUsage['source'] | undefined;
  readonly status: number;
  readonly answered: number | undefined;
  readonly path: string;
  readonly revision: string;
  readonly caller: UsualTrip['principal'];
  /** Whose answer it is that the cache gave. */
  readonly facts: CachedFacts | undefined;
}

const nothing: readonly string[] = [];

/** Of a caller who was let in, answered at the first attempt or by an equal request's answer, and with nothing that is told of few requests only. */
export function isUsual(trip: RecordedTrip): trip is UsualTrip {
  const { principal, call, route, accepted, failed, asked, ending, snapshot, guarding, caching } = trip;
  if (principal === undefined || call === undefined || route === undefined) return false;
  if ((accepted === undefined) === (caching?.hit === undefined) || placeOf(trip) === undefined) return false;
  if (guarding !== undefined || caching?.semantic !== undefined) return false;
  if (failed.length > 0 || asked !== undefined || ending.refused !== undefined || snapshot.audit.hasHeaders)
    return false;
  return !accepted?.reading?.translated.dropped.length;
}

/** What patterns are kept with: where the answer came from, or would have come from first. */
export function placeOf({ accepted, route }: RecordedTrip): object | undefined {
  return accepted?.target ?? route?.targets[0];
}

export function shapeOf({ trip, said, usage }: Ended, hasAudit: boolean): number {
  const { call, route, snapshot, caching } = trip;
  return (
    (said.session === undefined ? 0 : 1) |
    (said.agent === undefined ? 0 : 2) |
    (said.mostTokens === undefined ? 0 : 4) |
    (said.temperature === undefined ? 0 : 8) |
    (hasAudit ? 16 : 0) |
    (call.stream ? 32 : 0) |
    (route.isAlias ? 64 : 0) |
    (route.targets.length > 1 ? 128 : 0) |
    (snapshot.hasBudgets ? 256 : 0) |
    (caching === undefined ? 0 : 512) |
    (caching?.hit === undefined ? 0 : 1024) |
    (usage?.cost ? 2048 : 0) |
    (countingOf(trip) === undefined ? 0 : 4096) |
    (trip.askedBy === undefined ? 0 : 8192)
  );
}

export function sharedOf({ trip, end, usage }: Ended, shape: number): Shared {
  const { path, snapshot, principal, accepted, caching } = trip;
  return {
    shape,
    used: usage === undefined ? nothing : Object.keys(usage),
    source: usage?.source,
    status: end.status,
    answered: accepted?.answer?.status,
    path,
    revision: snapshot.revision,
    caller: principal,
    facts: caching?.hit?.facts,
  };
}

export function isOf(pattern: Shared, { trip, end, usage }: Ended, shape: number): boolean {
  const { path, snapshot, principal, accepted, caching } = trip;
  return (
    pattern.shape === shape &&
    pattern.status === end.status &&
    pattern.answered === accepted?.answer?.status &&
    pattern.path === path &&
    pattern.revision === snapshot.revision &&
    pattern.source === usage?.source &&
    areNames(pattern.used, usage) &&
    isSameCaller(pattern.caller, principal) &&
    isSamePlace(pattern.facts, caching?.hit?.facts)
  );
}

/** Whether these are the members of the usage, in their order. */
function areNames(names: readonly string[], usage: AttemptUsage | undefined): boolean {
  const own = usage === undefined ? nothing : Object.keys(usage);
  if (own.length !== names.length) return false;
  for (let index = 0; index < names.length; index += 1) if (own[index] !== names[index]) return false;
  return true;
}

/** Callers are compared by what they are: each connection has one of its own. */
function isSameCaller(one: UsualTrip['principal'], other: UsualTrip['principal']): boolean {
  return (
    one === other ||
    (one.kind === other.kind &&
      one.keyId === other.keyId &&
      one.shownPath === other.shownPath &&
      one.keyHash === other.keyHash &&
      one.labels === other.labels)
  );
}

function isSamePlace(one: CachedFacts | undefined, other: CachedFacts | undefined): boolean {
  if (one === other || one === undefined || other === undefined) return one === other;
  return one.provider === other.provider && one.type === other.type && one.model === other.model;
}
