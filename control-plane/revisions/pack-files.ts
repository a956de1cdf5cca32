// Packs the files of a revision one by one, so that a file that many revisions have is kept once. Off the event loop.
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import type { RevisionFile } from '../../domain/records/config-revision.ts';
import { hashOf, revisionOf, type SourceFile } from '../../gitops/read/read.ts';
import type { PackedFile, RevisionStore } from '../../store/records/kept-revisions.ts';

/** Bytes of files, before they are packed, of one question to the store. */
export const portionBytes = 2 * 1024 * 1024;

const [pack, unpack] = [promisify(gzip), promisify(gunzip)];

/** What a revision says of its files, in their order. */
export async function describeFiles(files: readonly SourceFile[]): Promise<RevisionFile[]> {
  const described: RevisionFile[] = [];
  for (const { name, bytes } of files) {
    const digest = await crypto.subtle.digest('SHA-256', Buffer.from(bytes));
    described.push({ name, hash: Buffer.from(digest).toString('hex'), bytes: bytes.length });
  }
  return described;
}

/** Names a content by what is said of its files, so that their bytes are hashed once, and not in the thread that answers. In hex. */
export async function contentHash(files: readonly RevisionFile[]): Promise<string> {
  const text = JSON.stringify(files.map(({ name, hash }) => [name, hash]));
  return Buffer.from(await crypto.subtle.digest('SHA-256', Buffer.from(text))).toString('hex');
}

export async function packFile(hash: string, bytes: Uint8Array): Promise<PackedFile> {
  return { hash, bytes: bytes.length, packed: (await pack(bytes)).toString('base64') };
}

/** Things of which each has a size, in lists of about `portionBytes`. */
export function portionsOf<Sized>(all: readonly Sized[], sizeOf: (each: Sized) => number): Sized[][] {
  const portions: Sized[][] = [];
  let room = 0;
  for (const each of all) {
    const size = sizeOf(each);
    if (portions.length === 0 || size > room) {
      portions.push([]);
      room = portionBytes;
    }
    room -= size;
    portions.at(-1)?.push(each);
  }
  return portions;
}

/**
 * The files of a kept revision as they were read, unexpanded, sorted by name, without their paths for messages; undefined: no revision with
 * this id and with files is kept. Rejects with `StoreUnavailable`, and with an `Error` where the files are not those of the revision.
 */
export async function filesOf(
  store: Pick<RevisionStore, 'revisionFiles' | 'packedFiles'>,
  revision: string,
): Promise<readonly SourceFile[] | undefined> {
  const found = await store.revisionFiles(revision);
  if (found === undefined) return undefined;
  const bytes = await unpackedFiles(store, found.files);
  const files = found.files.map(({ name, hash }) => ({ name, path: name, bytes: bytes.get(hash) ?? new Uint8Array() }));
  // The order of `readDirectory`, which is not that of a database.
  files.sort((one, other) => (one.name < other.name ? -1 : 1));
  if (revisionOf(hashOf(files, [])) !== revision) throw new Error(`the kept files of revision ${revision} are damaged`);
  return files;
}

/** The bytes of files, by their hashes. */
export async function unpackedFiles(
  store: Pick<RevisionStore, 'packedFiles'>,
  files: readonly RevisionFile[],
): Promise<Map<string, Uint8Array>> {
  const once = [...new Map(files.map((file) => [file.hash, file])).values()];
  const unpacked = new Map<string, Uint8Array>();
  for (const portion of portionsOf(once, (file) => file.bytes)) {
    const found = await store.packedFiles(portion.map(({ hash }) => hash));
    for (const { hash, bytes, packed } of found)
      unpacked.set(hash, await unpack(Buffer.from(packed, 'base64'), { maxOutputLength: Math.max(bytes, 1) }));
  }
  return unpacked;
}
