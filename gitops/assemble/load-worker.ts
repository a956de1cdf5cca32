// The worker thread of load-off-thread.ts: loads once and posts the result as one message.
import { parentPort, workerData } from 'node:worker_threads';
import type { SourceFile } from '../read/read.ts';
import { loadFiles } from './load.ts';
import type { LoadContext } from './load-context.ts';
import { loadParsers } from './load-parsers.ts';

const { files, context }: { files: SourceFile[]; context: LoadContext } = workerData;
await loadParsers(files);
const { config, problems, warnings } = loadFiles(files, context);
// As text: the receiving loop parses JSON several times faster than it copies an object tree.
const answer = { config: config === undefined ? undefined : JSON.stringify(config), problems, warnings };
parentPort?.postMessage(answer, []);
