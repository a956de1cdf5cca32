// Reads single objects of a git repository: from a file of their own, or out of packs, of which only the parts that are needed are read.
import { constants as files } from 'node:fs';
import { type FileHandle, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { constants, inflate } from 'node:zlib';
import { readRegular } from '../read/read.ts';
import { applyDelta } from './pack-delta.ts';

export type ObjectKind = 'commit' | 'tree';

interface GitObject {
  readonly kind: ObjectKind | undefined;
  readonly bytes: Buffer;
}

/** Bytes of an object, unpacked. */
const mostBytes = 4 * 1024 * 1024;
const mostPacks = 2_000;
const mostDeltas = 60;

const unpack = promisify(inflate);
const kinds: readonly (ObjectKind | undefined)[] = [undefined, 'commit', 'tree'];

/** `id`: in hex. Undefined: it is not there, of another kind, or too large. Rejects where the repository is damaged. */
export async function readObject(objects: string, id: string, kind: ObjectKind): Promise<Buffer | undefined> {
  const found = (await looseObject(objects, id)) ?? (await packedObject(objects, id, mostDeltas));
  return found?.kind === kind ? found.bytes : undefined;
}

async function looseObject(objects: string, id: string): Promise<GitObject | undefined> {
  const packed = await readRegular(join(objects, id.slice(0, 2), id.slice(2)));
  if (packed === undefined || typeof packed === 'string') return undefined;
  const whole = await unpack(packed, { maxOutputLength: mostBytes });
  const end = whole.indexOf(0);
  const word = whole.toString('latin1', 0, Math.max(0, whole.indexOf(' ')));
  return { kind: kinds.find((each) => each === word), bytes: whole.subarray(end + 1) };
}

/** The packs are asked one after the other: none says which of them has an object. `deltas`: the most that it may be made of. */
async function packedObject(objects: string, id: string, deltas: number): Promise<GitObject | undefined> {
  const folder = join(objects, 'pack');
  const names = await readdir(folder).catch(() => []);
  const indexes = names.filter((name) => name.endsWith('.idx')).slice(0, mostPacks);
  for (const name of indexes) {
    const offset = await within(join(folder, name), (file) => offsetIn(file, Buffer.from(id, 'hex')));
    if (offset === undefined) continue;
    return within(join(folder, `${name.slice(0, -'.idx'.length)}.pack`), (file) => {
      const entries = { objects, file, idBytes: id.length / 2 };
      return entryAt(entries, offset, deltas);
    });
  }
  return undefined;
}

/** Undefined also where it is no regular file: one that blocks is not opened. */
async function within<Result>(
  path: string,
  work: (file: FileHandle) => Promise<Result | undefined>,
): Promise<Result | undefined> {
  const file = await open(path, files.O_RDONLY | files.O_NONBLOCK);
  try {
    return (await file.stat()).isFile() ? await work(file) : undefined;
  } finally {
    await file.close();
  }
}

/** May give fewer bytes, at the end of the file. */
async function bytesAt(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, position);
  return buffer.subarray(0, bytesRead);
}

const [headBytes, fanoutBytes] = [8, 1_024];

/** Where an object begins in the pack of an index of version 2. */
async function offsetIn(file: FileHandle, id: Buffer): Promise<number | undefined> {
  const head = await bytesAt(file, 0, headBytes + fanoutBytes);
  if (head.length < headBytes + fanoutBytes || head.readUInt32BE(0) !== 0xff744f63 || head.readUInt32BE(4) !== 2)
    return undefined;
  const upTo = (first: number): number => (first < 0 ? 0 : head.readUInt32BE(headBytes + 4 * first));
  const [first = 0] = id;
  const count = upTo(255);
  const ids = headBytes + fanoutBytes;
  let [low, high] = [upTo(first - 1), upTo(first)];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const order = Buffer.compare(await bytesAt(file, ids + middle * id.length, id.length), id);
    if (order === 0) return offsetOf(file, ids + count * id.length, count, middle);
    if (order < 0) low = middle + 1;
    else high = middle;
  }
  return undefined;
}

/** `checksums`: where their table begins, behind which are those of offsets. */
async function offsetOf(file: FileHandle, checksums: number, count: number, at: number): Promise<number> {
  const offsets = checksums + 4 * count;
  const short = (await bytesAt(file, offsets + 4 * at, 4)).readUInt32BE(0);
  if (short < 0x80000000) return short;
  return Number((await bytesAt(file, offsets + 4 * count + 8 * (short - 0x80000000), 8)).readBigUInt64BE(0));
}

interface Entries {
  readonly objects: string;
  readonly file: FileHandle;
  readonly idBytes: number;
}

const [offsetDelta, idDelta] = [6, 7];
/** Of the sizes and of the name of the base, before the packed bytes. */
const longestHead = 64;

async function entryAt(entries: Entries, offset: number, deltas: number): Promise<GitObject | undefined> {
  const { objects, file, idBytes } = entries;
  const head = await bytesAt(file, offset, longestHead);
  let at = 0;
  const next = (): number => head.readUInt8(at++);
  let byte = next();
  const type = (byte >> 4) & 7;
  let size = byte & 15;
  for (let shift = 4; byte >= 128; shift += 7) {
    byte = next();
    size += (byte & 127) * 2 ** shift;
  }
  if (size > mostBytes || deltas === 0) return undefined;
  if (type !== offsetDelta && type !== idDelta)
    return { kind: kinds[type], bytes: await unpackedAt(file, offset + at, size) };
  let base: GitObject | undefined;
  if (type === offsetDelta) {
    byte = next();
    let back = byte & 127;
    while (byte >= 128) {
      byte = next();
      back = (back + 1) * 128 + (byte & 127);
    }
    if (back === 0 || back > offset) return undefined;
    base = await entryAt(entries, offset - back, deltas - 1);
  } else {
    const id = head.toString('hex', at, at + idBytes);
    at += idBytes;
    base = await packedObject(objects, id, deltas - 1);
  }
  if (base === undefined) return undefined;
  return { kind: base.kind, bytes: applyDelta(base.bytes, await unpackedAt(file, offset + at, size), mostBytes) };
}

/** `size`: of the unpacked bytes. */
async function unpackedAt(file: FileHandle, position: number, size: number): Promise<Buffer> {
  // What cannot be packed grows a little.
  const packed = await bytesAt(file, position, size + 1_024 + (size >> 8));
  return unpack(packed, { maxOutputLength: Math.max(size, 1), finishFlush: constants.Z_SYNC_FLUSH });
}
