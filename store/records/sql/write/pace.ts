// What each minute and hour was like, for every user path and those above it: how requests ended and how long they took; of each minute also
// which provider has answered.
import { hash } from 'node:crypto';
import type { RequestRecord } from '../../../../domain/records/request-record.ts';
import { foldUserPath } from '../../../../domain/user-path.ts';
import { askedByOf } from '../asked-by.ts';
import { isChange } from '../changes.ts';
import type { Insertion, Statements } from '../database.ts';
import { plainMoment, plainText, wholeNumber } from '../plain-values.ts';
import { addSteps, countTime, readSteps, stepsText, type TimeSteps } from '../time-steps.ts';
import { hourMs, minuteMs } from './tallies.ts';

/** Days are sums of hours: to write a third row for every place took a third of the time again. */
export const paceGrains = [minuteMs, hourMs] as const;
/** Of a user path so many segments count: a stranger who makes up longer ones must not fill the store. */
export const mostSegments = 12;
/** Models that are told apart in one row: a client may pass any name on. */
const mostModels = 100;
/** Characters. */
const longestModel = 200;

export const outcomes = ['requests', 'succeeded', 'client_errors', 'refused', 'server_errors'] as const;
export type Outcome = (typeof outcomes)[number];

export interface Pace {
  readonly counts: Record<Outcome, number>;
  /** Of those that succeeded: to the end, and to the first byte, of the answer. */
  readonly duration: TimeSteps;
  readonly firstByte: TimeSteps;
  /** By model and provider; of minutes alone. */
  readonly answered: Map<string, Answered>;
}

/** Requests of one model that one provider has answered, or was asked last for. */
export interface Answered {
  /** As it was asked for; empty where no provider was asked, and of more than `mostModels`. */
  readonly model: string;
  readonly provider: string;
  requests: number;
  failed: number;
  /** Nanoseconds, of all together. */
  took: number;
}

const paces: Insertion = {
  table: 'pace',
  columns: {
    path: 'TEXT',
    grain_ms: 'BIGINT',
    start_ms: 'BIGINT',
    ...(Object.fromEntries(outcomes.map((name) => [name, 'BIGINT'])) as Record<Outcome, 'BIGINT'>),
    duration: 'TEXT',
    first_byte: 'TEXT',
    answered: 'TEXT',
  },
  tail: `ON CONFLICT (path, grain_ms, start_ms) DO UPDATE SET
    ${[...outcomes, 'duration', 'first_byte', 'answered'].map((name) => `${name} = excluded.${name}`).join(', ')}`,
};

/** The names under which a user path and all above it are kept; `/` first. */
export function placesOf(userPath: string): string[] {
  const segments = foldUserPath(userPath).split('/').filter(Boolean);
  const depths = Array.from({ length: Math.min(segments.length, mostSegments) + 1 }, (_, depth) => depth);
  return depths.map((depth) => shortName(`/${segments.slice(0, depth).join('/')}`));
}

/** The name of one user path; undefined: nothing is kept of one with so many segments. */
export function placeOf(userPath: string): string | undefined {
  const segments = userPath.split('/').filter(Boolean).length;
  return segments > mostSegments ? undefined : placesOf(userPath).at(-1);
}

/** No index holds a text of any length. */
function shortName(text: string): string {
  return hash('sha256', plainText(text), 'base64url').slice(0, 22);
}

/** Adds records that are new. Late costs, questions of the gateway itself and changes are no requests of clients. */
export async function addPace(statements: Statements, records: readonly RequestRecord[]): Promise<void> {
  const counted = records.filter(
    (record) => record.counts_as !== 'nothing' && askedByOf(record) === 'client' && !isChange(record),
  );
  const known = new Map<string, string[]>();
  const placed = counted.map((record) => {
    const places = known.get(record.user_path) ?? placesOf(record.user_path);
    known.set(record.user_path, places);
    return { record, places };
  });
  await addOutcomes(statements, placed);
}

interface Placed {
  readonly record: RequestRecord;
  readonly places: readonly string[];
}

async function addOutcomes(statements: Statements, placed: readonly Placed[]): Promise<void> {
  const rows: (string | number)[][] = [];
  for (const grainMs of paceGrains) {
    const starts = Map.groupBy(placed, ({ record }) => startOf(record, grainMs));
    for (const [startMs, some] of starts) {
      const sums = sumsOf(some, grainMs === minuteMs);
      const { isOneOf } = statements.dialect;
      const where = `grain_ms = ? AND start_ms = ? AND ${isOneOf('path', 'TEXT')}`;
      for (const row of await statements.all(`SELECT * FROM pace WHERE ${where}`, grainMs, startMs, [...sums.keys()]))
        addPaceTo(sums.get(String(row['path'])) ?? noPace(), paceOf(row));
      for (const [path, { counts, duration, firstByte, answered }] of sums) {
        const numbers = outcomes.map((name) => counts[name]);
        const texts = [stepsText(duration), stepsText(firstByte), JSON.stringify([...answered.values()])];
        rows.push([path, grainMs, startMs, ...numbers, ...texts]);
      }
    }
  }
  if (rows.length > 0) await statements.insert(paces, rows);
}

function sumsOf(placed: readonly Placed[], isMinute: boolean): Map<string, Pace> {
  const sums = new Map<string, Pace>();
  for (const { record, places } of placed) {
    for (const place of places) {
      const pace = sums.get(place) ?? noPace();
      sums.set(place, pace);
      count(pace, record);
      if (isMinute) addAnswered(pace.answered, answeredBy(record));
    }
  }
  return sums;
}

function count({ counts, duration, firstByte }: Pace, record: RequestRecord): void {
  const { status_code: status, duration_ns, first_byte_ns } = record;
  const isSuccess = status < 300;
  counts.requests += 1;
  counts.succeeded += Number(isSuccess);
  counts.client_errors += Number(Math.floor(status / 100) === 4);
  counts.refused += Number(status === 429);
  counts.server_errors += Number(Math.floor(status / 100) === 5);
  // A session over WebSocket, told as 101, lasts for as long as its client likes.
  if (!isSuccess || status === 101) return;
  countTime(duration, wholeNumber(duration_ns));
  if (first_byte_ns !== undefined) countTime(firstByte, wholeNumber(first_byte_ns));
}

export function noPace(): Pace {
  const counts = Object.fromEntries(outcomes.map((name) => [name, 0])) as Record<Outcome, number>;
  return { counts, duration: new Map(), firstByte: new Map(), answered: new Map() };
}

export function addPaceTo(to: Pace, from: Pace): void {
  for (const name of outcomes) to.counts[name] += from.counts[name];
  addSteps(to.duration, from.duration);
  addSteps(to.firstByte, from.firstByte);
  for (const each of from.answered.values()) addAnswered(to.answered, each);
}

function addAnswered(to: Map<string, Answered>, { model, provider, requests, failed, took }: Answered): void {
  const asked = JSON.stringify([model, provider]);
  const isKnown = to.has(asked) || to.size < mostModels;
  const key = isKnown ? asked : JSON.stringify(['', provider]);
  const sum = to.get(key) ?? { model: isKnown ? model : '', provider, requests: 0, failed: 0, took: 0 };
  to.set(key, sum);
  sum.requests += requests;
  sum.failed += failed;
  sum.took += took;
}

function answeredBy({
  provider_name,
  requested_model = '',
  status_code,
  error_type,
  duration_ns,
}: RequestRecord): Answered {
  const hasFailed = status_code >= 500 || error_type === 'provider_error';
  const sums = { requests: 1, failed: Number(hasFailed), took: wholeNumber(duration_ns) };
  // What reached no provider was asked for under any name.
  if (provider_name === undefined) return { model: '', provider: '', ...sums };
  return { model: plainText(requested_model.slice(0, longestModel)), provider: plainText(provider_name), ...sums };
}

/** A row of the table. */
export function paceOf(row: Readonly<Record<string, unknown>>): Pace {
  const counts = Object.fromEntries(outcomes.map((name) => [name, Number(row[name])])) as Record<Outcome, number>;
  return {
    counts,
    duration: readSteps(String(row['duration'])),
    firstByte: readSteps(String(row['first_byte'])),
    answered: new Map(
      (JSON.parse(String(row['answered'])) as Answered[]).map((each) => [
        JSON.stringify([each.model, each.provider]),
        each,
      ]),
    ),
  };
}

function startOf({ started_ms }: RequestRecord, grainMs: number): number {
  const startedMs = plainMoment(started_ms);
  return startedMs - (startedMs % grainMs);
}
