// The commit that a configuration directory is checked out from, with its author and subject, where there is a git repository.
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { ConfigCommit } from '../../domain/records/config-revision.ts';
import { withoutKeys } from '../../schemas/formats/key-shapes.ts';
import { readObject } from './git-object.ts';
import { checkedOut, findRepository } from './repository.ts';

/** A repository on a disk that hangs is not waited for. Milliseconds. */
const patienceMs = 5_000;
/** Of an author and of a subject. Characters. */
const longest = 200;

/** Undefined: there is no repository, or nothing of it can be read in time. Author and subject are absent where only they cannot. Never rejects. */
export async function commitOf(directory: string): Promise<ConfigCommit | undefined> {
  const over = new AbortController();
  const late = setTimeout(patienceMs, undefined, { signal: over.signal, ref: false }).catch(() => undefined);
  const found = await Promise.race([readCommit(directory).catch(() => undefined), late]);
  over.abort();
  return found;
}

async function readCommit(directory: string): Promise<ConfigCommit | undefined> {
  const repository = await findRepository(directory);
  const commit = repository && (await checkedOut(repository));
  if (repository === undefined || commit === undefined) return undefined;
  const bytes = await readObject(join(repository.common, 'objects'), commit, 'commit').catch(() => undefined);
  return { commit, ...(bytes === undefined ? {} : factsIn(bytes)) };
}

function factsIn(bytes: Buffer): Omit<ConfigCommit, 'commit'> {
  const [, encoding = 'utf-8'] = /^encoding (\S+)$/m.exec(headOf(bytes.toString('latin1'))) ?? [];
  const text = decoded(bytes, encoding);
  const head = headOf(text);
  const [, author = '', seconds] = /^author (.*?) ?<[^>]*> (\d{1,12})/m.exec(head) ?? [];
  const [subject = ''] = text.slice(head.length).trimStart().split('\n', 1);
  return {
    ...(cleaned(author) === '' ? {} : { author: cleaned(author) }),
    ...(seconds === undefined ? {} : { authored_ms: Number(seconds) * 1_000 }),
    ...(cleaned(subject) === '' ? {} : { subject: cleaned(subject) }),
  };
}

/** An empty line ends it. */
function headOf(text: string): string {
  const end = text.indexOf('\n\n');
  return end < 0 ? text : text.slice(0, end);
}

function decoded(bytes: Buffer, encoding: string): string {
  try {
    return new TextDecoder(encoding).decode(bytes);
  } catch {
    return bytes.toString('utf8');
  }
}

/** Without characters that steer a terminal or turn the direction of a text. */
function cleaned(text: string): string {
  const plain = text.replace(/[\s\p{Cc}\p{Cf}\p{Co}\p{Cs}]+/gu, ' ').trim();
  return withoutKeys(Array.from(plain).slice(0, longest).join(''));
}
