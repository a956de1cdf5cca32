// A line of the journal: the JSON of a record; or that, a separator, the body of its request, a separator, and the body of its answer. The bodies
// belong to the record's `data`. The request is one JSON object; the answer may be any text that begins like one, because to check it costs the
// proxy more than all else that is done with a body. The reader checks it.

/** Of one record as UTF-8, its line break included. Longer ones are never written, and passed over by readers. */
export const longestLineBytes = 4 * 1024 * 1024;
/** Stands in no JSON (RFC 8259): neither in a text nor between tokens. */
export const separator = '\x1f';

/** Of the form that is described above. A change that an older gateway would misread raises it. */
const lineVersion = 1;

/** A line of a later form begins with its version, so that it is known without being parsed. */
export function isOfNewerGateway(line: string): boolean {
  const version = /^\{"line_version":(\d{1,9})\b/.exec(line.slice(0, 32))?.[1];
  return Number(version ?? lineVersion) > lineVersion;
}

/** Without its line break. In pieces, each is copied once. */
export type RecordLine = string | readonly Buffer[];

const separatorBytes = Buffer.from(separator);

/** The record must have `data`; neither body has a line break. */
export function lineWithRawBodies(record: string, request: Buffer, answer: Buffer): readonly Buffer[] {
  return [Buffer.from(record), separatorBytes, request, separatorBytes, answer];
}

/** Bytes, without the line break. */
export function lengthOf(line: RecordLine): number {
  if (typeof line === 'string') return Buffer.byteLength(line);
  return line.reduce((length, piece) => length + piece.length, 0);
}
