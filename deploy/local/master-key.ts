// The master key of a local start: created once, kept in a file that only its owner can read.
import { randomBytes } from 'node:crypto';
import { chmodSync, linkSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readKeyFileSync } from '../../gitops/read/key-file.ts';
import { ownDirectoryMode, ownFileMode } from '../../store/own-files.ts';

export interface MasterKey {
  readonly value: string;
  /** Its source, in words. */
  readonly origin: string;
}

/**
 * GATEWAY_MASTER_KEY or the file that GATEWAY_MASTER_KEY_FILE names, otherwise the key in the data directory; created at the first start
 * (design section 4).
 */
export function findMasterKey(given: string | undefined, dataDirectory: string, file = ''): MasterKey {
  if (file !== '') return keyOfFile(file, given);
  if (given) return { value: given, origin: 'from GATEWAY_MASTER_KEY' };
  const path = join(dataDirectory, 'master-key');
  const value = readKey(path) ?? makeKey(path, dataDirectory);
  if (!/^[\x21-\x7e]+$/.test(value)) throw new Error(`${path} holds no usable key; delete it and a new one is made`);
  if ((statSync(path).mode & 0o077) !== 0) chmodSync(path, 0o600);
  return { value, origin: `kept in ${path}` };
}

function keyOfFile(path: string, given: string | undefined): MasterKey {
  if (given) throw new Error('GATEWAY_MASTER_KEY and GATEWAY_MASTER_KEY_FILE are both set; set one of them');
  const reading = readKeyFileSync(path);
  if ('trouble' in reading) throw new Error(`GATEWAY_MASTER_KEY_FILE names a file that ${reading.trouble}`);
  return { value: reading.key, origin: `from ${path}` };
}

function readKey(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function makeKey(path: string, dataDirectory: string): string {
  mkdirSync(dataDirectory, { recursive: true, mode: ownDirectoryMode });
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `sk-gw-${randomBytes(32).toString('base64url')}\n`, { mode: ownFileMode });
  try {
    // A link never replaces a file, so two first starts at the same time use the same key.
    linkSync(draft, path);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  } finally {
    rmSync(draft);
  }
  return readFileSync(path, 'utf8').trim();
}
