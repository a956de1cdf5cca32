// Watches the configuration directory and reports that it may have changed, not what changed.
import type { Stats } from 'node:fs';
import { basename } from 'node:path';
import { type FSWatcher, watch } from 'chokidar';
import { isYamlName } from '../read/file-names.ts';
import { type DirectoryFingerprint, fingerprintDirectory } from './fingerprint.ts';

export interface WatchSettings {
  /** Quiet time after an event before `onChange`; under constant events it is called once in three times that. Milliseconds. */
  debounceMs: number;
  /** How often the directory is compared with its last known state, without any event. Milliseconds. */
  recheckMs: number;
}

export interface Watch {
  close: () => Promise<void>;
}

/** Every so many rechecks report a change without one: some network file systems change neither times nor sizes. */
const reportEvery = 10;

/**
 * Calls `onChange` after the directory may have changed. Events come from chokidar, which does not see a replaced directory, an edited
 * target of a symbolic link, or a watch that the system has lost. The recheck finds these, and watches all directories anew when one
 * was added, removed or replaced.
 */
export function watchDirectory(
  directory: string,
  { debounceMs, recheckMs }: WatchSettings,
  onChange: () => void,
): Watch {
  let watcher: FSWatcher | undefined;
  let isBroken = false;
  let isClosed = false;
  let quiet: NodeJS.Timeout | undefined;
  let ceiling: NodeJS.Timeout | undefined;
  let last: DirectoryFingerprint | undefined;
  let rechecks = 0;
  let timer: NodeJS.Timeout | undefined;
  let checking = recheck();
  return { close };

  /** Events closer than `debounceMs` to each other share one call, at most three times `debounceMs` after the first. */
  function changed(): void {
    if (isClosed) return;
    clearTimeout(quiet);
    quiet = setTimeout(reportChange, debounceMs);
    ceiling ??= setTimeout(reportChange, 3 * debounceMs);
  }

  function reportChange(): void {
    clearTimeout(quiet);
    clearTimeout(ceiling);
    ceiling = undefined;
    onChange();
  }

  async function recheck(): Promise<void> {
    try {
      await compare();
    } catch {
      // The rechecks go on without a watch; the next one tries to watch again.
      isBroken = true;
    }
    if (isClosed) return;
    timer = setTimeout(() => {
      checking = recheck();
    }, recheckMs);
  }

  async function compare(): Promise<void> {
    const found = await fingerprintDirectory(directory, last);
    rechecks += 1;
    if (found.place !== last?.place || isBroken) await rewatch(found.directories);
    const isSame = last === undefined || (found.place === last.place && found.files === last.files);
    last = found;
    // There was no event for this change, so there is no quiet time to wait for.
    if (!isClosed && (!isSame || rechecks % reportEvery === 0)) reportChange();
  }

  /** Watches the real directories: a watched symbolic link would report changes of the link only. */
  async function rewatch(directories: readonly string[]): Promise<void> {
    await closeWatcher(watcher);
    watcher = undefined;
    isBroken = false;
    if (directories.length === 0 || isClosed) return;
    const watched = new Set(directories);
    // Other files are not watched one by one: there may be tens of thousands.
    const ignored = (path: string, stats?: Stats): boolean =>
      !watched.has(path) && !isOfInterest(basename(path), stats);
    // A directory that appears is reported with depth 0 too; the next recheck adds it.
    watcher = watch([...directories], { ignoreInitial: true, followSymlinks: false, depth: 0, ignored });
    for (const event of ['all', 'ready'] as const) watcher.on(event, changed);
    watcher.on('error', () => {
      isBroken = true;
    });
  }

  async function close(): Promise<void> {
    isClosed = true;
    for (const pending of [timer, quiet, ceiling]) clearTimeout(pending);
    await checking;
    clearTimeout(timer);
    await closeWatcher(watcher);
  }
}

/** Kubernetes updates a mounted ConfigMap by replacing its "..data" link. Without `stats` an entry may still be a directory. */
function isOfInterest(name: string, stats: Stats | undefined): boolean {
  if (isYamlName(name) || name.startsWith('..')) return true;
  return !name.startsWith('.') && (stats === undefined || stats.isDirectory());
}

/** News of removed files would make it watch again for ever: chokidar 5 adds the last one once more. */
async function closeWatcher(watcher: FSWatcher | undefined): Promise<void> {
  if (watcher === undefined) return;
  watcher.add = () => watcher;
  await watcher.close();
}
