// Reads HTTP/1.1 requests strictly: an ambiguous request from the gateway is an error here.
import { type Field, findField, type RequestHead } from './entry.ts';

const headLimitBytes = 4 << 20;
const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** The client sent bytes that are no HTTP/1.1 request with a single meaning. */
export class MalformedRequest extends Error {}

/** Bytes that came, to be taken in order. A take waits for more; it gives undefined once the sender has ended. */
export class ByteQueue {
  #bytes: Buffer = Buffer.alloc(0);
  #ended = false;
  #wake = Promise.withResolvers<void>();

  push(bytes: Buffer): void {
    this.#bytes = this.#bytes.length === 0 ? bytes : Buffer.concat([this.#bytes, bytes]);
    this.#stir();
  }

  end(): void {
    this.#ended = true;
    this.#stir();
  }

  /** Up to `most` bytes, at least one. */
  async take(most: number): Promise<Buffer | undefined> {
    while (this.#bytes.length === 0) {
      if (this.#ended) return undefined;
      await this.#wake.promise;
    }
    const taken = this.#bytes.subarray(0, most);
    this.#bytes = this.#bytes.subarray(taken.length);
    return taken;
  }

  /** The next line without its CRLF, as Latin-1. */
  async line(): Promise<string | undefined> {
    for (;;) {
      const end = this.#bytes.indexOf('\n');
      if (end >= 0) {
        const line = this.#bytes.toString('latin1', 0, end + 1);
        this.#bytes = this.#bytes.subarray(end + 1);
        if (!line.endsWith('\r\n') || line.indexOf('\r') < line.length - 2) {
          throw new MalformedRequest(`line end is not CRLF: ${JSON.stringify(line)}`);
        }
        return line.slice(0, -2);
      }
      if (this.#bytes.length > headLimitBytes) throw new MalformedRequest('endless line');
      if (this.#ended) {
        if (this.#bytes.length === 0) return undefined;
        throw new MalformedRequest(`ended inside a line: ${JSON.stringify(this.#bytes.toString('latin1'))}`);
      }
      await this.#wake.promise;
    }
  }

  #stir(): void {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers<void>();
  }
}

/** The next request head; undefined when the connection ended between two requests. */
export async function readHead(queue: ByteQueue): Promise<RequestHead | undefined> {
  const line = await queue.line();
  if (line === undefined) return undefined;
  const parts = /^([A-Z]+) ([!-~]+) HTTP\/(1\.[01])$/.exec(line);
  if (!parts) throw new MalformedRequest(`request line: ${JSON.stringify(line)}`);
  const [, method = '', target = '', version = ''] = parts;
  const headers = await readFields(queue);
  const count = (name: string) => headers.filter(([other]) => other.toLowerCase() === name).length;
  if (count('host') !== 1) throw new MalformedRequest(`${count('host')} Host headers`);
  if (count('content-length') + count('transfer-encoding') > 1) throw new MalformedRequest('body framed twice');
  return { method, target, version, headers };
}

/** Reads the body that `head` announces, handing over each piece as it comes. Gives the trailers; undefined when the sender ended inside it. */
export async function readBody(
  queue: ByteQueue,
  head: RequestHead,
  onPiece: (piece: Buffer) => void,
): Promise<Field[] | undefined> {
  const coding = findField(head.headers, 'transfer-encoding');
  const length = findField(head.headers, 'content-length') ?? '0';
  if (coding === undefined) {
    if (!/^\d{1,15}$/.test(length)) throw new MalformedRequest(`content-length: ${length}`);
    return (await takeExactly(queue, Number(length), onPiece)) ? [] : undefined;
  }
  if (coding.toLowerCase() !== 'chunked') throw new MalformedRequest(`transfer-encoding: ${coding}`);
  for (;;) {
    const line = await queue.line();
    if (line === undefined) return undefined;
    if (!/^[0-9a-f]{1,8}$/i.test(line)) throw new MalformedRequest(`chunk size: ${JSON.stringify(line)}`);
    const size = Number.parseInt(line, 16);
    if (size === 0) return readFields(queue);
    if (!(await takeExactly(queue, size, onPiece))) return undefined;
    const end = await queue.line();
    if (end) throw new MalformedRequest('chunk longer than its size');
  }
}

async function takeExactly(queue: ByteQueue, bytes: number, onPiece: (piece: Buffer) => void): Promise<boolean> {
  for (let missing = bytes; missing > 0; ) {
    const piece = await queue.take(missing);
    if (!piece) return false;
    missing -= piece.length;
    onPiece(piece);
  }
  return true;
}

async function readFields(queue: ByteQueue): Promise<Field[]> {
  const fields: Field[] = [];
  for (;;) {
    const line = await queue.line();
    if (line === undefined) throw new MalformedRequest('ended inside the header');
    if (line === '') return fields;
    const colon = line.indexOf(':');
    const name = line.slice(0, Math.max(colon, 0));
    if (!token.test(name) || line.includes('\0')) throw new MalformedRequest(`header line: ${JSON.stringify(line)}`);
    fields.push([name, line.slice(colon + 1).trim()]);
  }
}
