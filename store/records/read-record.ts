// Reads a line of the journal: a crash, a full disk or a foreign program may have left other bytes there.
import type { AuditData, RequestRecord } from '../../domain/records/request-record.ts';
import { longestLineBytes, separator } from './record-line.ts';

/** Of objects and lists within each other. What is nested deeper could not be written again: `JSON.stringify` calls itself for each level. */
const mostLevels = 128;

/** Members that every record has, and their types. */
const members = {
  id: 'string',
  request_id: 'string',
  started_ms: 'number',
  duration_ns: 'number',
  method: 'string',
  path: 'string',
  status_code: 'number',
  user_path: 'string',
  client_ip: 'string',
} as const satisfies { readonly [Name in keyof RequestRecord]?: 'string' | 'number' | 'boolean' };

/** Members that a record may have, and their types. */
const further = { stream: 'boolean', alias_used: 'boolean', first_byte_ns: 'number' } as const satisfies {
  readonly [Name in keyof RequestRecord]?: 'boolean' | 'number';
};

const memberTypes = Object.entries(members);
const furtherTypes = Object.entries(further);

/** The record; undefined for what is none. */
export function readRecord(line: string): RequestRecord | undefined {
  const found = line.length < longestLineBytes ? recordIn(line) : undefined;
  if (found === undefined || !Array.isArray(found['attempts'])) return undefined;
  for (const [name, type] of memberTypes) if (typeof found[name] !== type) return undefined;
  for (const [name, type] of furtherTypes)
    if (found[name] !== undefined && typeof found[name] !== type) return undefined;
  return found as unknown as RequestRecord;
}

type Members = Readonly<Record<string, unknown>>;

function recordIn(line: string): Members | undefined {
  const end = line.indexOf(separator);
  if (end === -1) return objectIn(line);
  const record = objectIn(line.slice(0, end));
  const requestEnd = line.indexOf(separator, end + 1);
  const request = requestEnd === -1 ? undefined : objectIn(line.slice(end + 1, requestEnd));
  if (record === undefined || request === undefined) return undefined;
  const bodies: Partial<AuditData> = { request_body: request, ...answerIn(line.slice(requestEnd + 1)) };
  return { ...record, data: { ...(record['data'] as AuditData), ...bodies } };
}

function objectIn(text: string): Members | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Members) : undefined;
  } catch {
    return undefined;
  }
}

/** A provider may answer anything: what is no JSON, or could not be written as JSON again, stays a text; bytes that are no text are left out. */
function answerIn(text: string): Pick<AuditData, 'response_body'> {
  const answer = objectIn(text);
  if (answer !== undefined && isShallow(answer, mostLevels)) return { response_body: answer };
  return text.includes('\0') ? {} : { response_body: text };
}

function isShallow(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isShallow(inner, levels - 1));
}

/** The records among lines, and how many of the lines are none. */
export function readRecords(lines: readonly string[]): {
  readonly records: readonly RequestRecord[];
  readonly unreadable: number;
} {
  const records = lines.map(readRecord).filter((record) => record !== undefined);
  return { records, unreadable: lines.length - records.length };
}
