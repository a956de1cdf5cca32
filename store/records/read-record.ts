// Reads a line of the journal: a crash, a full disk or a foreign program may have left other bytes there.
import type { RequestRecord } from '../../schemas/records/request-record.ts';

/** Of one record as UTF-8, its line break included. Longer ones are never written, and passed over by readers. */
export const longestLineBytes = 4 * 1024 * 1024;

/** Members that every record has, and their types. */
const members = {
  id: 'string',
  request_id: 'string',
  started_ms: 'number',
  duration_ns: 'number',
  method: 'string',
  path: 'string',
  status_code: 'number',
  stream: 'boolean',
  user_path: 'string',
  client_ip: 'string',
  alias_used: 'boolean',
} as const satisfies { readonly [Name in keyof RequestRecord]?: 'string' | 'number' | 'boolean' };

/** The record; undefined for what is none. */
export function readRecord(line: string): RequestRecord | undefined {
  const found = line.length < longestLineBytes ? parsed(line) : undefined;
  if (found === undefined || !Array.isArray(found['attempts'])) return undefined;
  for (const [name, type] of Object.entries(members)) {
    if (typeof found[name] !== type) return undefined;
  }
  return found as unknown as RequestRecord;
}

function parsed(line: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** The records among lines, and how many of the lines are none. */
export function readRecords(lines: readonly string[]): {
  readonly records: readonly RequestRecord[];
  readonly unreadable: number;
} {
  const records = lines.map(readRecord).filter((record) => record !== undefined);
  return { records, unreadable: lines.length - records.length };
}
