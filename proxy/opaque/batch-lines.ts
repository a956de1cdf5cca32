// The input file of a batch: JSON lines, each a call. The names of models are replaced by those of the provider while the lines pass.
import { isUtf8 } from 'node:buffer';
import { type Member, scanObject } from '../bytes/scan.ts';
import { ScanError } from '../bytes/scan-error.ts';
import { splice } from '../bytes/splice.ts';
import { type Call, readCall, readString } from '../call/call.ts';
import { Refusal, refusal } from '../errors.ts';

/** Gives what replaces the model of a call, as JSON. Throws a Refusal. */
export type NameModel = (call: Call) => Buffer;

/** Longest line, in bytes. */
const mostLineBytes = 1024 * 1024;
const nothing: Buffer = Buffer.alloc(0);
const newline = 0x0a;

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
  readonly #nameModel: NameModel;
  #begun: Buffer[] = [];
  #begunBytes = 0;
  #line = 0;

  constructor(nameModel: NameModel) {
    this.#nameModel = nameModel;
  }

  /** What passes of the file. Throws 400 `invalid_batch_input`, which names the line. */
  push(bytes: Buffer): Buffer {
    const passed: Buffer[] = [];
    let from = 0;
    for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, from)) {
      this.#hold(bytes.subarray(from, at));
      passed.push(this.#take(), Buffer.from('\n'));
      from = at + 1;
    }
    this.#hold(bytes.subarray(from));
    return Buffer.concat(passed);
  }

  /** The last line, where no line end stands behind it. */
  finish(): Buffer {
    return this.#begunBytes === 0 ? nothing : this.#take();
  }

  #hold(bytes: Buffer): void {
    this.#begunBytes += bytes.length;
    if (this.#begunBytes > mostLineBytes) {
      throw unusable(this.#line + 1, `it is longer than ${mostLineBytes} bytes`);
    }
    // The bytes may be used again.
    if (bytes.length > 0) this.#begun.push(Buffer.from(bytes));
  }

  #take(): Buffer {
    const line = Buffer.concat(this.#begun);
    this.#begun = [];
    this.#begunBytes = 0;
    this.#line += 1;
    if (line.toString('latin1').trim() === '') return line;
    try {
      return this.#named(line);
    } catch (error) {
      if (!(error instanceof Refusal) || error.status >= 500) throw error;
      throw unusable(this.#line, error.message.replace(/\.$/, ''));
    }
  }

  #named(line: Buffer): Buffer {
    const body = onlyMember(line, membersOf(line), 'body');
    if (body === undefined) throw refusal('invalid_parameter', { fill: { param: 'body', because: 'is missing' } });
    const call = readCall(line.subarray(body.valueStart, body.valueEnd));
    const start = body.valueStart + call.modelStart;
    return splice(line, [{ start, end: body.valueStart + call.modelEnd, bytes: this.#nameModel(call) }]);
  }
}

function unusable(line: number, reason: string): Refusal {
  return refusal('invalid_batch_input', { param: 'file', fill: { where: `line ${line} of the file`, reason } });
}
