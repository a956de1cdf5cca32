// The input file of a batch: JSON lines, each a call. The names of models are replaced by those of the provider while the lines pass.
import { isUtf8 } from 'node:buffer';
import { type Member, scanObject } from '../bytes/scan.ts';
import { ScanError } from '../bytes/scan-error.ts';
import { splice } from '../bytes/splice.ts';
import { type Call, readCall, readString } from '../call/call.ts';
import { Refusal, refusal } from '../errors.ts';
import { type Flow, settled } from '../guardrails/flow.ts';

/** Gives what replaces the model of a call, as JSON. Throws a Refusal. */
export type NameModel = (call: Call) => Buffer;

/** Reads each call of a file. */
export interface LineReader {
  readonly nameModel: NameModel;
  /**
   * The call after guardrails; undefined: none may apply. `url`: the endpoint of the call in its line; `where`: the
   * line, for messages. Throws, or rejects with, a Refusal that names the line.
   */
  readonly guard: ((call: Call, url: string, where: string) => Call | Promise<Call>) | undefined;
}

/** Longest line, in bytes. */
const mostLineBytes = 1024 * 1024;
/** Most lines, empty ones among them: the most calls that a provider takes in a batch. */
export const mostLines = 200_000;
/** After so many, other work has its turn. */
const linesAtOnce = 64;
const nothing: Buffer = Buffer.alloc(0);
const newline = 0x0a;
const lineEnd = Buffer.from('\n');

/** The member with this name. Throws a Refusal when it is written in another case, or stands twice. */
export function onlyMember(bytes: Buffer, members: readonly Member[], name: string): Member | undefined {
  let found: Member | undefined;
  for (const member of members) {
    const { keyStart, keyEnd } = member;
    if (keyEnd - keyStart > name.length * 6) continue;
    const key = readString(bytes, { ...member, valueStart: keyStart - 1, valueEnd: keyEnd + 1 }) ?? '';
    if (key.toUpperCase().toLowerCase() !== name) continue;
    if (found !== undefined || key !== name) throw refusal('duplicate_key', { param: name, fill: { key: name } });
    found = member;
  }
  return found;
}

/** The members of an object. Throws 400 `invalid_json`. */
export function membersOf(bytes: Buffer): Member[] {
  if (!isUtf8(bytes)) throw refusal('invalid_json', { fill: { reason: 'it is not UTF-8' } });
  try {
    return scanObject(bytes);
  } catch (error) {
    if (!(error instanceof ScanError)) throw error;
    const reason = error.fault === 'not_object' ? 'it must be an object' : `unexpected byte at offset ${error.at}`;
    throw refusal('invalid_json', { fill: { reason } });
  }
}

/** Whether the text is a line of such a file: a call with a name or an address. */
export function isBatchLine(line: Buffer): boolean {
  try {
    const members = membersOf(line);
    const marks = ['custom_id', 'url', 'method'].filter((name) => onlyMember(line, members, name) !== undefined);
    return marks.length > 0 && onlyMember(line, members, 'body') !== undefined;
  } catch (error) {
    if (error instanceof Refusal) return error.code === 'duplicate_key';
    throw error;
  }
}

export class BatchLines {
  readonly #reader: LineReader;
  #begun: Buffer[] = [];
  #begunBytes = 0;
  #line = 0;

  constructor(reader: LineReader) {
    this.#reader = reader;
  }

  /** The lines of the file that pass: each is read before the next one. Throws 400 `invalid_batch_input`, which names the line. */
  *push(bytes: Buffer): Flow<Buffer> {
    const passed: Buffer[] = [];
    let from = 0;
    for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, from)) {
      this.#hold(bytes.subarray(from, at));
      passed.push(yield* this.#take(), lineEnd);
      from = at + 1;
      if (this.#line % linesAtOnce === 0) yield new Promise((resolve) => setImmediate(resolve));
    }
    this.#hold(bytes.subarray(from));
    return Buffer.concat(passed);
  }

  /** The last line, where no line end stands behind it. */
  *finish(): Flow<Buffer> {
    return this.#begunBytes === 0 ? nothing : yield* this.#take();
  }

  #hold(bytes: Buffer): void {
    this.#begunBytes += bytes.length;
    if (this.#begunBytes > mostLineBytes) {
      throw unusable(this.#line + 1, `it is longer than ${mostLineBytes} bytes`);
    }
    // The bytes may be used again.
    if (bytes.length > 0) this.#begun.push(Buffer.from(bytes));
  }

  *#take(): Flow<Buffer> {
    const line = Buffer.concat(this.#begun);
    this.#begun = [];
    this.#begunBytes = 0;
    this.#line += 1;
    if (this.#line > mostLines) throw unusable(this.#line, `a file has at most ${mostLines} lines`);
    if (line.toString('latin1').trim() === '') return line;
    try {
      return yield* this.#read(line);
    } catch (error) {
      if (!(error instanceof Refusal) || error.status >= 500 || error.code === 'guardrail_blocked') throw error;
      throw unusable(this.#line, error.message.replace(/\.$/, ''));
    }
  }

  *#read(line: Buffer): Flow<Buffer> {
    const members = membersOf(line);
    const body = onlyMember(line, members, 'body');
    if (body === undefined) throw refusal('invalid_parameter', { fill: { param: 'body', because: 'is missing' } });
    const call = readCall(line.subarray(body.valueStart, body.valueEnd));
    const { guard, nameModel } = this.#reader;
    const bytes = nameModel(call);
    const url = onlyMember(line, members, 'url');
    const asked = url === undefined ? '' : (readString(line, url) ?? '');
    const left = guard === undefined ? call : yield* settled(guard(call, asked, whereOf(this.#line)));
    const { modelStart: start, modelEnd: end } = left;
    const top = body.valueStart;
    if (left === call) return splice(line, [{ start: top + start, end: top + end, bytes }]);
    const said = splice(left.body, [{ start, end, bytes }]);
    return splice(line, [{ start: top, end: body.valueEnd, bytes: said }]);
  }
}

function whereOf(line: number): string {
  return `line ${line} of the file`;
}

function unusable(line: number, reason: string): Refusal {
  return refusal('invalid_batch_input', { param: 'file', fill: { where: whereOf(line), reason } });
}
