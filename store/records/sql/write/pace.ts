// What each minute, hour and day was like, for every user path and those above it: how requests ended and how long they took; and for each minute
// who answered.
import { hash } from 'node:crypto';
import type { RequestRecord } from '../../../../domain/records/request-record.ts';
import { foldUserPath } from '../../../../domain/user-path.ts';
import type { Insertion, Statements } from '../database.ts';
import { plainMoment, plainText, wholeNumber } from '../plain-values.ts';
import { addSteps, countTime, readSteps, stepsText, type TimeSteps } from '../time-steps.ts';
import { dayMs, hourMs, minuteMs } from './tallies.ts';

export const paceGrains = [minuteMs, hourMs, dayMs] as const;
/** Of a user path so many segments count: a stranger who makes up longer ones must not fill the store. */
export const mostSegments = 12;

export const outcomes = ['requests', 'succeeded', 'client_errors', 'refused', 'server_errors'] as const;
export type Outcome = (typeof outcomes)[number];

export interface Pace {
  readonly counts: Record<Outcome, number>;
  /** Of those that succeeded: to the end, and to the first byte, of the answer. */
  readonly duration: TimeSteps;
  readonly firstByte: TimeSteps;
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
  },
  tail: `ON CONFLICT (path, grain_ms, start_ms) DO UPDATE SET
    ${[...outcomes, 'duration', 'first_byte'].map((name) => `${name} = excluded.${name}`).join(', ')}`,
};

const answerers: Insertion = {
  table: 'minute_target',
  columns: {
    path: 'TEXT',
    start_ms: 'BIGINT',
    target: 'TEXT',
    requested_model: 'TEXT',
    provider_name: 'TEXT',
    requests: 'BIGINT',
    failed: 'BIGINT',
    duration_ns: 'DOUBLE PRECISION',
  },
  tail: `ON CONFLICT (path, start_ms, target) DO UPDATE SET requests = minute_target.requests + excluded.requests,
    failed = minute_target.failed + excluded.failed, duration_ns = minute_target.duration_ns + excluded.duration_ns`,
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

/** Adds records that are new. Late costs, questions of the gateway itself and writes of operators are no requests of clients. */
export async function addPace(statements: Statements, records: readonly RequestRecord[]): Promise<void> {
  const counted = records.filter(
    ({ counts_as, asked_by, data }) =>
      counts_as !== 'nothing' && asked_by !== 'gateway' && data?.event_type === undefined,
  );
  const known = new Map<string, string[]>();
  const placed = counted.map((record) => {
    const places = known.get(record.user_path) ?? placesOf(record.user_path);
    known.set(record.user_path, places);
    return { record, places };
  });
  await addAnswerers(statements, placed);
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
      const sums = sumsOf(some);
      const { isOneOf } = statements.dialect;
      const where = `grain_ms = ? AND start_ms = ? AND ${isOneOf('path', 'TEXT')}`;
      for (const row of await statements.all(`SELECT * FROM pace WHERE ${where}`, grainMs, startMs, [...sums.keys()]))
        addPaceTo(sums.get(String(row['path'])) ?? noPace(), paceOf(row));
      for (const [path, { counts, duration, firstByte }] of sums) {
        const numbers = outcomes.map((name) => counts[name]);
        rows.push([path, grainMs, startMs, ...numbers, stepsText(duration), stepsText(firstByte)]);
      }
    }
  }
  if (rows.length > 0) await statements.insert(paces, rows);
}

function sumsOf(placed: readonly Placed[]): Map<string, Pace> {
  const sums = new Map<string, Pace>();
  for (const { record, places } of placed) {
    for (const place of places) {
      const pace = sums.get(place) ?? noPace();
      sums.set(place, pace);
      count(pace, record);
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
  return { counts, duration: new Map(), firstByte: new Map() };
}

export function addPaceTo(to: Pace, from: Pace): void {
  for (const name of outcomes) to.counts[name] += from.counts[name];
  addSteps(to.duration, from.duration);
  addSteps(to.firstByte, from.firstByte);
}

/** A row of the table. */
export function paceOf(row: Readonly<Record<string, unknown>>): Pace {
  const counts = Object.fromEntries(outcomes.map((name) => [name, Number(row[name])])) as Record<Outcome, number>;
  return {
    counts,
    duration: readSteps(String(row['duration'])),
    firstByte: readSteps(String(row['first_byte'])),
  };
}

async function addAnswerers(statements: Statements, placed: readonly Placed[]): Promise<void> {
  const sums = new Map<string, { readonly names: readonly (string | number)[]; readonly sums: number[] }>();
  for (const { record, places } of placed) {
    const { provider_name, requested_model = '', status_code: status, error_type } = record;
    // What reached no provider was asked for under any name.
    const [model, provider] = provider_name === undefined ? ['', ''] : [requested_model, provider_name];
    const target = shortName(JSON.stringify([model, provider]));
    const startMs = startOf(record, minuteMs);
    const hasFailed = status >= 500 || error_type === 'provider_error';
    for (const place of places) {
      const key = `${place} ${startMs} ${target}`;
      const names = [place, startMs, target, plainText(model), plainText(provider)];
      const known = sums.get(key) ?? { names, sums: [0, 0, 0] };
      sums.set(key, known);
      const [requests = 0, failed = 0, ns = 0] = known.sums;
      known.sums.splice(0, 3, requests + 1, failed + Number(hasFailed), ns + wholeNumber(record.duration_ns));
    }
  }
  if (sums.size > 0)
    await statements.insert(
      answerers,
      [...sums.values()].map((each) => [...each.names, ...each.sums]),
    );
}

function startOf({ started_ms }: RequestRecord, grainMs: number): number {
  const startedMs = plainMoment(started_ms);
  return startedMs - (startedMs % grainMs);
}
