// Watches the configuration directory and reports that it may have changed, not what changed.
import { realpath } from 'node:fs/promises';
import { basename } from 'node:path';
import { type FSWatcher, watch } from 'chokidar';
import { type DirectoryFingerprint, fingerprintDirectory, isYamlName } from './read.ts';

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
 * target of a symbolic link, or a watch that the system has lost. The recheck finds these, and watches the new directory when it was
 * replaced.
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
    if (found.place !== last?.place || isBroken) await rewatch();
    const isSame = last === undefined || (found.place === last.place && found.files === last.files);
    last = found;
    // There was no event for this change, so there is no quiet time to wait for.
    if (!isClosed && (!isSame || rechecks % reportEvery === 0)) reportChange();
  }

  /** Watches the real directory: a watched symbolic link would report changes of the link only. */
  async function rewatch(): Promise<void> {
    await watcher?.close();
    watcher = undefined;
    isBroken = false;
    const real = await realpath(directory).catch(() => undefined);
    if (real === undefined || isClosed) return;
    // Other files are not watched one by one: there may be tens of thousands.
    const ignored = (path: string): boolean => path !== real && !isOfInterest(basename(path));
    watcher = watch(real, { ignoreInitial: true, followSymlinks: false, depth: 0, ignored });
    watcher.on('all', changed);
    watcher.on('ready', changed);
    watcher.on('error', () => {
      isBroken = true;
    });
  }

  async function close(): Promise<void> {
    isClosed = true;
    for (const pending of [timer, quiet, ceiling]) clearTimeout(pending);
    await checking;
    clearTimeout(timer);
    await watcher?.close();
  }
}

/** Kubernetes updates a mounted ConfigMap by replacing its "..data" link. */
function isOfInterest(name: string): boolean {
  return isYamlName(name) || name.startsWith('..');
}
