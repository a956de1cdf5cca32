// A trip → the line of its record. The usual trip goes well at the first attempt, or is answered from the cache: its record differs from the
// one before only in ids, numbers and what the client says of itself. So these are written into the bytes of a line that JSON.stringify made.
import { randomBytes } from 'node:crypto';
import type { AuditData } from '../../domain/records/request-record.ts';
import type { AttemptUsage } from '../../domain/records/usage.ts';
import { recordId } from '../../store/records/record-id.ts';
import { durationNs, usageOfAccepted } from './attempts.ts';
import { usageOfCached } from './cached-attempt.ts';
import { knownSecrets } from './known-secrets.ts';
import { JsonValues, LineTemplate, type Places } from './line-template.ts';
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
import {
  type Ended,
  isOf,
  isUsual,
  placeOf,
  type Said,
  type Shared,
  shapeOf,
  sharedOf,
  type UsualTrip,
} from './record-pattern.ts';

/** Templates that are kept, of 2 KB each: when there are more, all are made anew. */
const mostPatterns = 1_000;
/** Of one caller at one target: other endpoints, streams, calls with a temperature. */
const mostOfCaller = 8;

interface Pattern extends Shared {
  /** The line without what is not shared. */
  readonly template: LineTemplate;
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

  /** The record of this trip as JSON, perhaps with spaces in it. With `hasAudit` its last member is `data`. Bytes hold it until the next call. */
  ofTrip(trip: RecordedTrip, end: RecordedEnd, hasAudit: boolean): string | Buffer {
    if (!isUsual(trip)) return JSON.stringify(recordOfTrip(trip, end, { ...this.#parts, hasAudit }));
    const call = readCallOf(trip);
    const numbers = hasAudit && call !== undefined ? numbersOf(call) : undefined;
    const said: Said = {
      session: sessionOf(trip, call),
      agent: hasAudit ? agentOf(trip, knownSecrets(trip)) : undefined,
      mostTokens: numbers?.max_tokens,
      temperature: numbers?.temperature,
    };
    const usage = this.#parts.hasUsage ? usageOf(trip, end) : undefined;
    const known = this.#knownFor(trip);
    const ended: Ended = { trip, end, said, usage, id: recordId(trip.exchange.startedAtMs) };
    const shape = shapeOf(ended, hasAudit);
    const at = known.findIndex((pattern) => isOf(pattern, ended, shape));
    const template = known[at]?.template;
    if (template !== undefined && isFilled(template, ended)) return template.bytes;
    const record = { ...recordOfTrip(trip, end, { ...this.#parts, hasAudit }), id: ended.id };
    if (template !== undefined) this.#forget(known, at);
    const wider = templateOf(record, ended, template?.widths ?? []);
    if (wider !== undefined) this.#keep(known, { ...sharedOf(ended, shape), template: wider });
    return JSON.stringify(record);
  }

  #knownFor(trip: UsualTrip): Pattern[] {
    const place = placeOf(trip) as object;
    const { keyId, kind } = trip.principal;
    const caller = keyId ?? kind;
    const known = this.#patterns.get(place)?.get(caller);
    if (known !== undefined) return known;
    const made: Pattern[] = [];
    const ofPlace = this.#patterns.get(place) ?? new Map<string, Pattern[]>();
    this.#patterns.set(place, ofPlace.set(caller, made));
    return made;
  }

  #keep(known: Pattern[], pattern: Pattern): void {
    if (known.length >= mostOfCaller) this.#forget(known, 0);
    if (this.#kept >= mostPatterns) {
      this.#patterns = new WeakMap();
      this.#kept = 0;
      return;
    }
    known.push(pattern);
    this.#kept += 1;
  }

  #forget(known: Pattern[], at: number): void {
    known.splice(at, 1);
    this.#kept -= 1;
  }
}

function isFilled(template: LineTemplate, ended: Ended): boolean {
  template.begin();
  putValues(template, ended);
  return template.isFilled;
}

/** Of a record and what it is made of. Undefined: its line cannot be put together. */
function templateOf(record: WrittenRecord, ended: Ended, widths: readonly number[]): LineTemplate | undefined {
  const values = new JsonValues();
  putValues(values, ended);
  const pieces = JSON.stringify(withGaps(record)).split(gapJson);
  const line = pieces.reduce((sum, piece, index) => `${sum}${values.texts[index - 1]}${piece}`);
  return line === JSON.stringify(record) ? LineTemplate.of(pieces, values.texts, widths) : undefined;
}

/** What is not shared, in the order of the members of a record. */
function putValues(places: Places, { trip, end, said, usage, id }: Ended): void {
  const { exchange, call, accepted } = trip;
  const { nowMs } = end;
  const { session, agent, mostTokens, temperature } = said;
  const { startedAtMs } = exchange;
  const attemptedAtMs = Math.max(accepted?.startedAtMs ?? 0, startedAtMs);
  places.put(id);
  places.put(exchange.id);
  if (session !== undefined) places.put(session);
  places.put(Math.floor(startedAtMs));
  places.put(durationNs(startedAtMs, nowMs));
  places.put(call.model);
  places.put(exchange.clientAddress);
  places.put(Math.floor(attemptedAtMs));
  places.put(durationNs(attemptedAtMs, nowMs));
  if (usage !== undefined) putUsage(places, usage);
  if (agent !== undefined) places.put(agent);
  if (mostTokens !== undefined) places.put(mostTokens);
  if (temperature !== undefined) places.put(temperature);
}

function putUsage(places: Places, usage: AttemptUsage): void {
  for (const name of Object.keys(usage) as (keyof AttemptUsage)[]) {
    if (name === 'source') continue;
    if (name !== 'cost') places.put(usage[name] as string | number);
    else if (usage.cost !== null) {
      places.put(usage.cost.input);
      places.put(usage.cost.output);
      places.put(usage.cost.total);
    }
  }
}

function usageOf(trip: UsualTrip, end: RecordedEnd): AttemptUsage | undefined {
  const { accepted, caching } = trip;
  if (accepted !== undefined) return usageOfAccepted(acceptedOf(trip, accepted, end));
  return caching?.hit && usageOfCached(caching.hit.facts);
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
    attempts: [attempt.usage === undefined ? attempt : { ...attempt, usage: gapsOfUsage(attempt.usage) }],
    ...(data === undefined ? undefined : { data: { ...data, ...gapsOf(data) } }),
  };
}

function gapsOfUsage(usage: AttemptUsage): unknown {
  const gaps = Object.keys(usage).map((name) => [name, gap]);
  const { source, cost } = usage;
  return { ...Object.fromEntries(gaps), source, cost: cost && { input: gap, output: gap, total: gap } };
}

function gapsOf(data: AuditData): Partial<Record<keyof AuditData, string>> {
  const names = ['user_agent', 'max_tokens', 'temperature'] as const;
  return Object.fromEntries(names.filter((name) => data[name] !== undefined).map((name) => [name, gap]));
}
