// A trip → the line of its record. The usual trip goes well at the first attempt: its record differs from the one before only in ids, numbers
// and what the client says of itself. So its line is put together of these and of pieces of a line that JSON.stringify made.
import { randomBytes } from 'node:crypto';
import type { AuditData } from '../../schemas/records/request-record.ts';
import { recordId } from '../../store/records/record-id.ts';
import { knownSecrets } from '../known-secrets.ts';
import { flat, isPlain } from '../line-text.ts';
import { durationNs, usageOfAccepted } from './attempts.ts';
import { numbersOf } from './numbers-of.ts';
import {
  acceptedOf,
  agentOf,
  type RecordedEnd,
  type RecordedParts,
  type RecordedTrip,
  readCallOf,
  recordOfTrip,
  sessionOf,
  type WrittenRecord,
} from './record-of-trip.ts';

/** Lines that are kept in pieces, of 2 KB each: when there are more, all are made anew. */
const mostPatterns = 1_000;
/** Of one caller at one target: other endpoints, streams, calls with a temperature. */
const mostOfCaller = 8;

type UsualTrip = RecordedTrip & {
  readonly [Name in 'principal' | 'call' | 'route' | 'accepted']: NonNullable<RecordedTrip[Name]>;
};

/** What the client says: of one pattern either all records have it, or none. */
interface Said {
  readonly session: string | undefined;
  readonly agent: string | undefined;
  readonly mostTokens: number | undefined;
  readonly temperature: number | undefined;
}

/** A usual trip that is over, and the id of its record. */
interface Ended {
  readonly trip: UsualTrip;
  readonly end: RecordedEnd;
  readonly said: Said;
  readonly id: string;
}

/** What the records of one pattern share. */
interface Shared {
  /** A bit for each member that may be absent, and for each that is true or false. */
  readonly shape: number;
  readonly status: number;
  readonly answered: number | undefined;
  readonly path: string;
  readonly revision: string;
  readonly caller: UsualTrip['principal'];
}

interface Pattern extends Shared {
  /** The line around what is not shared. */
  readonly pieces: readonly string[];
}

/** Stands for what is not shared: it is random, so it is nowhere else in a line. */
const gap = randomBytes(16).toString('hex');
const gapJson = JSON.stringify(gap);

/** Makes the lines of one process. */
export class RecordLines {
  readonly #parts: Pick<RecordedParts, 'hasUsage' | 'instance'>;
  /** By target, then by caller. */
  #patterns = new WeakMap<object, Map<string, Pattern[]>>();
  #kept = 0;

  constructor(parts: Pick<RecordedParts, 'hasUsage' | 'instance'>) {
    this.#parts = parts;
  }

  /** Patterns that are kept. */
  get kept(): number {
    return this.#kept;
  }

  /** What JSON.stringify makes of the record of this trip. With `hasAudit` its last member is `data`. */
  ofTrip(trip: RecordedTrip, end: RecordedEnd, hasAudit: boolean): string {
    if (!isUsual(trip)) return JSON.stringify(recordOfTrip(trip, end, { ...this.#parts, hasAudit }));
    const call = readCallOf(trip);
    const numbers = hasAudit && call !== undefined ? numbersOf(call) : undefined;
    const said: Said = {
      session: sessionOf(trip, call),
      agent: hasAudit ? agentOf(trip, knownSecrets(trip)) : undefined,
      mostTokens: numbers?.max_tokens,
      temperature: numbers?.temperature,
    };
    const shape = shapeOf(trip, said, hasAudit);
    const known = this.#knownFor(trip);
    const id = recordId(trip.exchange.startedAtMs);
    const values = this.#values({ trip, end, said, id });
    for (const pattern of known) if (isOf(pattern, trip, end, shape)) return joined(pattern.pieces, values);
    const record = { ...recordOfTrip(trip, end, { ...this.#parts, hasAudit }), id };
    const line = JSON.stringify(record);
    const pieces = JSON.stringify(withGaps(record)).split(gapJson).map(flat);
    // A line that does not come out as this one is never put together.
    if (joined(pieces, values) === line) this.#keep(known, { ...sharedOf(trip, end, shape), pieces });
    return line;
  }

  #knownFor({ principal, accepted: { target } }: UsualTrip): Pattern[] {
    const ofTarget = this.#patterns.get(target) ?? new Map<string, Pattern[]>();
    const caller = principal.keyId ?? principal.kind;
    const known = ofTarget.get(caller);
    if (known !== undefined) return known;
    if (this.#kept >= mostPatterns) {
      this.#patterns = new WeakMap();
      this.#kept = 0;
    }
    const made: Pattern[] = [];
    this.#patterns.set(target, ofTarget.set(caller, made));
    return made;
  }

  #keep(known: Pattern[], pattern: Pattern): void {
    if (known.length < mostOfCaller) this.#kept += 1;
    else known.shift();
    known.push(pattern);
  }

  /** JSON of what is not shared, in the order of the members of a record. */
  #values({ trip, end, said, id }: Ended): string[] {
    const { exchange, call, accepted } = trip;
    const { nowMs } = end;
    const { session, agent, mostTokens, temperature } = said;
    const { startedAtMs } = exchange;
    const values = [`"${id}"`, textJson(exchange.id)];
    if (session !== undefined) values.push(textJson(session));
    values.push(String(Math.floor(startedAtMs)), String(durationNs(startedAtMs, nowMs)));
    values.push(textJson(call.model), textJson(exchange.clientAddress));
    values.push(String(Math.floor(accepted.startedAtMs)), String(durationNs(accepted.startedAtMs, nowMs)));
    if (this.#parts.hasUsage) values.push(JSON.stringify(usageOfAccepted(acceptedOf(trip, accepted, end))));
    if (agent !== undefined) values.push(textJson(agent));
    if (mostTokens !== undefined) values.push(String(mostTokens));
    if (temperature !== undefined) values.push(String(temperature));
    return values;
  }
}

function joined(pieces: readonly string[], values: readonly string[]): string {
  let line = pieces[0] ?? '';
  for (let index = 0; index < values.length; index += 1) line += `${values[index]}${pieces[index + 1]}`;
  return line;
}

/** A text as JSON. Nearly all are plain, which needs no escape. */
function textJson(text: string): string {
  return isPlain(text) ? `"${text}"` : JSON.stringify(text);
}

/** Of a caller who was let in, answered at the first attempt, and with nothing that is told of few requests only. */
function isUsual(trip: RecordedTrip): trip is UsualTrip {
  const { principal, call, route, accepted, failed, asked, ending, snapshot, guarding, caching } = trip;
  if (principal === undefined || call === undefined || route === undefined || accepted === undefined) return false;
  if (guarding !== undefined || caching?.semantic !== undefined) return false;
  if (failed.length > 0 || asked !== undefined || ending.refused !== undefined || snapshot.audit.hasHeaders)
    return false;
  return !accepted.reading?.translated.dropped.length;
}

/** The same record with gaps for what is not shared. */
function withGaps(record: WrittenRecord): unknown {
  const { session_id: session, attempts, data } = record;
  const attempt = { ...attempts?.[0], started_ms: gap, duration_ns: gap };
  return {
    ...record,
    id: gap,
    request_id: gap,
    ...(session === undefined ? undefined : { session_id: gap }),
    started_ms: gap,
    duration_ns: gap,
    requested_model: gap,
    client_ip: gap,
    attempts: [attempt.usage === undefined ? attempt : { ...attempt, usage: gap }],
    ...(data === undefined ? undefined : { data: { ...data, ...gapsOf(data) } }),
  };
}

function gapsOf(data: AuditData): Partial<Record<keyof AuditData, string>> {
  const names = ['user_agent', 'max_tokens', 'temperature'] as const;
  return Object.fromEntries(names.filter((name) => data[name] !== undefined).map((name) => [name, gap]));
}

function shapeOf({ call, route, snapshot, caching }: UsualTrip, said: Said, hasAudit: boolean): number {
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
    (caching === undefined ? 0 : 512)
  );
}

function sharedOf({ path, snapshot, principal, accepted }: UsualTrip, { status }: RecordedEnd, shape: number): Shared {
  return { shape, status, answered: accepted.answer?.status, path, revision: snapshot.revision, caller: principal };
}

/** Callers are compared by what they are: each connection has one of its own. */
function isOf(
  pattern: Pattern,
  { path, snapshot, principal, accepted }: UsualTrip,
  end: RecordedEnd,
  shape: number,
): boolean {
  const { caller } = pattern;
  return (
    pattern.shape === shape &&
    pattern.status === end.status &&
    pattern.answered === accepted.answer?.status &&
    pattern.path === path &&
    pattern.revision === snapshot.revision &&
    (caller === principal ||
      (caller.kind === principal.kind &&
        caller.keyId === principal.keyId &&
        caller.userPath === principal.userPath &&
        caller.keyHash === principal.keyHash &&
        caller.labels === principal.labels))
  );
}
