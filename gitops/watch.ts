// Says when to look at the configuration directory again; what changed is for the reader to find out.
import { realpath } from 'node:fs/promises';
import { basename } from 'node:path';
import { type FSWatcher, watch } from 'chokidar';
import { type DirectoryMark, isYamlName, markDirectory } from './read.ts';

export interface WatchSettings {
  /** Quiet time after an event before anybody looks; under constant events one look in three times that. */
  debounceMs: number;
  /** How often the directory is compared with its last known state, whatever the events say. */
  recheckMs: number;
}

export interface Watch {
  close: () => Promise<void>;
}

/** Every so many rechecks the content itself is looked at: some network file systems change without any mark. */
const fullLookEvery = 10;

/**
 * Calls `look` after the directory may have changed. Events come from chokidar, which does not see a replaced directory, an edited
 * target of a symbolic link, or a watch the system has lost: the recheck covers those, and moves the watch when the directory is
 * another one.
 */
export function watchDirectory(directory: string, { debounceMs, recheckMs }: WatchSettings, look: () => void): Watch {
  let watcher: FSWatcher | undefined;
  let isBroken = false;
  let isClosed = false;
  let quiet: NodeJS.Timeout | undefined;
  let ceiling: NodeJS.Timeout | undefined;
  let last: DirectoryMark | undefined;
  let rechecks = 0;
  let timer: NodeJS.Timeout | undefined;
  let checking = recheck();
  return { close };

  /** Events closer than `debounceMs` to each other share a look, and no look is further than three times that after an event. */
  function changed(): void {
    if (isClosed) return;
    clearTimeout(quiet);
    quiet = setTimeout(settle, debounceMs);
    ceiling ??= setTimeout(settle, 3 * debounceMs);
  }

  function settle(): void {
    clearTimeout(quiet);
    clearTimeout(ceiling);
    ceiling = undefined;
    look();
  }

  async function recheck(): Promise<void> {
    try {
      await compare();
    } catch {
      // Without a watch there are still the rechecks; the next one tries again.
      isBroken = true;
    }
    if (isClosed) return;
    timer = setTimeout(() => {
      checking = recheck();
    }, recheckMs);
  }

  async function compare(): Promise<void> {
    const mark = await markDirectory(directory, last);
    rechecks += 1;
    if (mark.place !== last?.place || isBroken) await rewatch();
    const isSame = last === undefined || (mark.place === last.place && mark.files === last.files);
    last = mark;
    // No event told of it, so none is expected to follow: waiting for quiet would only make it late.
    if (!isClosed && (!isSame || rechecks % fullLookEvery === 0)) settle();
  }

  /** The real directory is watched: a symbolic link to it would report its own changes only. */
  async function rewatch(): Promise<void> {
    await watcher?.close();
    watcher = undefined;
    isBroken = false;
    const real = await realpath(directory).catch(() => undefined);
    if (real === undefined || isClosed) return;
    // Files of other kinds are not watched each for itself: there may be tens of thousands.
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

/** A mounted ConfigMap changes by its "..data" link alone. */
function isOfInterest(name: string): boolean {
  return isYamlName(name) || name.startsWith('..');
}
