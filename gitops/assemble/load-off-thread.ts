// Loads large input in a worker thread, so that parsing ten thousand rules stalls no request.
import { Worker } from 'node:worker_threads';
import { type Problem, problemOfFile } from '../read/problem.ts';
import type { SourceFile } from '../read/read.ts';
import type { AssembledConfig } from './assembled.ts';
import { type Loaded, loadFiles } from './load.ts';
import type { LoadContext } from './load-context.ts';
import { loadParsers } from './load-parsers.ts';

/** While requests are served, at most this much is loaded in this thread: it blocks for at most about 20 ms. */
export const reloadBytes = 8_192;
/** At the start, before requests are served, this much is loaded in this thread: a worker costs about 100 ms. */
export const firstLoadBytes = 32_768;
const patienceMs = 60_000;
/** Heap of the worker: enough for 30,000 rules, and little enough for a small machine. MiB. */
const threadHeapMiB = 256;

interface Answer {
  config?: string;
  problems: Problem[];
  warnings: Problem[];
}

/** `loadFiles` in this thread for at most `inlineBytes` of files, otherwise in a worker thread. Never rejects. */
export async function load(files: readonly SourceFile[], context: LoadContext, inlineBytes: number): Promise<Loaded> {
  const bytes = files.reduce((sum, file) => sum + file.bytes.length, 0);
  // Configurations loaded here or in a worker are compiled here.
  await loadParsers(files);
  return bytes > inlineBytes ? loadOffThread(files, context) : loadFiles(files, context);
}

/** `loadFiles` in a worker thread. A thread that dies, needs too much memory or takes longer than a minute gives a problem. */
export function loadOffThread(
  files: readonly SourceFile[],
  { environment, variables, entitlements, leavesOut }: LoadContext,
  heapMiB: number = threadHeapMiB,
): Promise<Loaded> {
  const context: LoadContext = {
    environment: { ...environment },
    variables,
    entitlements,
    ...(leavesOut === undefined ? {} : { leavesOut }),
  };
  return new Promise((resolve) => {
    const worker = new Worker(new URL('load-worker.ts', import.meta.url), {
      workerData: { files, context },
      resourceLimits: { maxOldGenerationSizeMb: heapMiB },
    });
    const timer = setTimeout(() => give(failed('took longer than a minute to load')), patienceMs);
    worker.once('message', ({ config, problems, warnings }: Answer) => {
      give(config === undefined ? { problems, warnings } : { config: parseConfig(config), problems, warnings });
    });
    worker.once('error', (error: NodeJS.ErrnoException) => {
      const isTooLarge = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
      give(
        failed(
          isTooLarge
            ? `needs more than ${heapMiB} MiB of memory to be loaded`
            : `could not be loaded: ${error.message}`,
        ),
      );
    });
    worker.once('exit', () => give(failed('could not be loaded: the loading thread ended without an answer')));

    function give(loaded: Loaded): void {
      clearTimeout(timer);
      resolve(loaded);
      worker.terminate().catch(() => undefined);
    }
  });

  function failed(message: string): Loaded {
    return { problems: [problemOfFile(files[0]?.path ?? '', message)], warnings: [] };
  }
}

function parseConfig(text: string): AssembledConfig {
  const config: AssembledConfig = JSON.parse(text);
  return config;
}
