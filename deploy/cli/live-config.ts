// The configuration that is in force in a gateway, as files of a folder: without what is secret there.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fillHidden } from '../../gitops/read/fill-hidden.ts';
import { askAdmin } from './admin-api.ts';

interface Files {
  readonly config_revision?: unknown;
  readonly files?: readonly { readonly file?: unknown }[];
  readonly text?: unknown;
}

/** Each is a request. */
const mostFiles = 1_000;
/** A name that stays in its folder. */
const plainName = /^(?!.*(?:^|\/)\.\.?(?:\/|$))[^/\\\0][^\\\0]{0,500}\.ya?ml$/;

/**
 * Writes it to `folder`, and gives its revision. `own`: the directory whose values stand in the place of hidden ones. Rejects with what to do when it cannot
 * be had.
 */
export async function writeLiveConfig(url: string, folder: string, own: string): Promise<string> {
  const instead = 'name what to compare with by --against';
  const { config_revision: revision, files } = (await askAdmin(url, { path: 'config/files' })) as Files;
  if (typeof revision !== 'string' || !/^\w{0,64}$/.test(revision) || !Array.isArray(files))
    throw new Error(`${url} does not say which files are in force: ${instead}`);
  if (files.length > mostFiles)
    throw new Error(`${url} has ${files.length} files in force, too many to ask for: ${instead}`);
  mkdirSync(folder, { recursive: true });
  for (const { file } of files) {
    if (typeof file !== 'string' || !plainName.test(file))
      throw new Error(`${url} names a file that cannot be written here: ${JSON.stringify(file)}: ${instead}`);
    const path = `config/files?${new URLSearchParams({ file }).toString()}`;
    const { text } = (await askAdmin(url, { path })) as Files;
    if (typeof text !== 'string') throw new Error(`${file} is too long for ${url} to show it: ${instead}`);
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), loadable(file, text, textOf(join(own, file))));
  }
  return revision;
}

function loadable(file: string, shown: string, own: string): string {
  try {
    return fillHidden(shown, own);
  } catch (error) {
    throw new Error(`${file} in force is no YAML: ${(error as Error).message}`, { cause: error });
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
