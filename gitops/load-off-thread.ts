// Loads large input in a worker thread, so that parsing ten thousand rules stalls no request.
import { Worker } from 'node:worker_threads';
import type { AssembledConfig } from './assembled.ts';
import { type LoadContext, type Loaded, loadFiles } from './load.ts';
import { type Problem, problemOfFile } from './problem.ts';
import type { SourceFile } from './read.ts';

/** At most this much is loaded here while requests are served: it blocks for about 20 ms, whatever is wrong with it. */
export const reloadBytes = 8_192;
/** While nobody is served yet, this much: a thread costs about 100 ms of waiting. */
export const firstLoadBytes = 32_768;
const patienceMs = 60_000;
/** Thirty thousand rules of one limit each fit, and a small machine survives a file that needs more. MiB. */
const threadHeapMiB = 256;

interface Answer {
  config?: string;
  problems: Problem[];
  warnings: Problem[];
}

/** `loadFiles` here for at most `inlineBytes` of files, otherwise in a thread. Never rejects. */
export async function load(files: readonly SourceFile[], context: LoadContext, inlineBytes: number): Promise<Loaded> {
  const bytes = files.reduce((sum, file) => sum + file.bytes.length, 0);
  return bytes > inlineBytes ? loadOffThread(files, context) : loadFiles(files, context);
}

/** `loadFiles` in a worker thread. A thread that dies, needs more memory or takes longer than a minute is a problem like any other. */
export function loadOffThread(
  files: readonly SourceFile[],
  { environment, variables, entitlements }: LoadContext,
  heapMiB: number = threadHeapMiB,
): Promise<Loaded> {
  return new Promise((resolve) => {
    const worker = new Worker(new URL('load-worker.ts', import.meta.url), {
      workerData: { files, context: { environment: { ...environment }, variables, entitlements } },
      resourceLimits: { maxOldGenerationSizeMb: heapMiB },
    });
    const timer = setTimeout(() => give(refused('took longer than a minute to load')), patienceMs);
    worker.once('message', ({ config, problems, warnings }: Answer) => {
      give(config === undefined ? { problems, warnings } : { config: parseConfig(config), problems, warnings });
    });
    worker.once('error', (error: NodeJS.ErrnoException) => {
      const isTooLarge = error.code === 'ERR_WORKER_OUT_OF_MEMORY';
      give(
        refused(
          isTooLarge
            ? `needs more than ${heapMiB} MiB of memory to be loaded`
            : `could not be loaded: ${error.message}`,
        ),
      );
    });
    worker.once('exit', () => give(refused('could not be loaded: the loading thread ended without an answer')));

    function give(loaded: Loaded): void {
      clearTimeout(timer);
      resolve(loaded);
      worker.terminate().catch(() => undefined);
    }
  });

  function refused(message: string): Loaded {
    return { problems: [problemOfFile(files[0]?.path ?? '', message)], warnings: [] };
  }
}

function parseConfig(text: string): AssembledConfig {
  const config: AssembledConfig = JSON.parse(text);
  return config;
}
