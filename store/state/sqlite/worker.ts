// The thread in which the embedded state store runs its statements, one after the other, so that no disk stalls a request.
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { StoreUnavailable } from '../store-unavailable.ts';
import { takeBallast } from './ballast.ts';
import { StateFile } from './file.ts';
import type {
  Answer,
  CommitInput,
  CountersInput,
  CountersOutput,
  EndInput,
  HeartbeatInput,
  LoadInput,
  OperationName,
  PageInput,
  Request,
  RewriteInput,
  SinceInput,
  TakeInput,
  ThreadSettings,
  UsedInput,
  UsesInput,
} from './messages.ts';
import type { StateTables } from './operations.ts';

type Operation = Exclude<OperationName, 'watch' | 'close'>;

/** The number of polls between two attempts to take the ballast's room again. */
const pollsPerBallast = 50;

/** The last notice to a watcher when the store gave no position. */
const failing = 'failing';

/** The operations on open tables; input and output are JSON. */
const operations: Readonly<Record<Operation, (tables: StateTables, input: string, bytes?: Uint8Array) => string>> = {
  readPage: (tables, input) => tables.readPage(JSON.parse(input) as PageInput),
  since: (tables, input) => tables.since(JSON.parse(input) as SinceInput),
  revision: (tables) => JSON.stringify(tables.position()),
  commit: (tables, input) => JSON.stringify(tables.commit(JSON.parse(input) as CommitInput)),
  initialise: (tables) => JSON.stringify(tables.initialise()),
  rewrite: (tables, input) => JSON.stringify(tables.rewrite(JSON.parse(input) as RewriteInput)),
  loadCounters: (tables, input) => JSON.stringify(tables.loadCounters(JSON.parse(input) as LoadInput)),
  writeCounters(tables, input) {
    const output: CountersOutput = { refusedBy: tables.writeCounters(JSON.parse(input) as CountersInput) };
    return JSON.stringify(output);
  },
  writeHeartbeat(tables, input, body) {
    tables.writeHeartbeat(JSON.parse(input) as HeartbeatInput, new TextDecoder().decode(body));
    return 'null';
  },
  heartbeats: (tables, input) => tables.heartbeats(JSON.parse(input) as string | null),
  removeHeartbeat(tables, input) {
    tables.removeHeartbeat(JSON.parse(input) as string);
    return 'null';
  },
  noteUses(tables, input) {
    tables.noteUses(JSON.parse(input) as UsesInput);
    return 'null';
  },
  takeTurn: (tables, input) => JSON.stringify(tables.takeTurn(JSON.parse(input) as TakeInput)),
  endTurn: (tables, input) => JSON.stringify(tables.endTurn(JSON.parse(input) as EndInput)),
  usesOf: (tables, input) => JSON.stringify(tables.usesOf(JSON.parse(input) as UsedInput)),
  forgetUses(tables, input) {
    tables.forgetUses(JSON.parse(input) as UsedInput);
    return 'null';
  },
};

/** Answers requests on `port` until it is told to close. */
function serve(port: MessagePort, settings: ThreadSettings): void {
  const file = new StateFile(settings.directory, settings.busyMs, settings.wasOpen);
  let timer: NodeJS.Timeout | undefined;
  /** The last notice to a watcher; undefined: any finding is new. */
  let told: string | undefined;
  let seen = { openings: -1, dataVersion: -1 };
  let polls = 0;

  port.on('message', (request: Request) => {
    say(answer(request));
    if (request.name === 'watch') watch();
    if (request.name === 'close') close();
    // Own changes do not show in the data version.
    if (timer !== undefined && ['commit', 'initialise', 'rewrite'].includes(request.name)) poll(true);
  });
  if (settings.isWatching) watch();
  say({ kind: 'online' });

  function say(message: Answer): void {
    port.postMessage(message, []);
  }

  function answer({ name, input, bytes }: Request): Answer {
    if (name === 'watch' || name === 'close') return { kind: 'output', output: 'null' };
    try {
      const mayCreate = name === 'initialise' || name === 'rewrite';
      return { kind: 'output', output: file.use((tables) => operations[name](tables, input, bytes), mayCreate) };
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) return { kind: 'broken', message: String(error) };
      const { reason, message, cause } = error;
      return { kind: 'failure', reason, message, cause: cause instanceof Error ? cause.message : '' };
    }
  }

  function keepBallast(): void {
    polls += 1;
    if (polls % pollsPerBallast === 0) takeBallast(settings.directory);
  }

  function watch(): void {
    told = undefined;
    seen = { openings: -1, dataVersion: -1 };
    timer ??= setInterval(poll, settings.pollMs, false);
    poll(true);
  }

  /** Heartbeats and counters change the data version too: only the position says whether a watcher should poll. */
  function poll(isCertain: boolean): void {
    keepBallast();
    try {
      file.use((tables) => {
        const now = { openings: file.openings, dataVersion: file.dataVersion() };
        if (now.openings !== seen.openings) told = undefined;
        const isQuiet = now.openings === seen.openings && now.dataVersion === seen.dataVersion;
        if (isQuiet && !isCertain) return;
        const { storeId, revision, mark } = tables.position();
        const position = `${storeId} ${revision} ${mark}`;
        seen = now;
        if (position !== told) say({ kind: 'changed' });
        told = position;
      });
    } catch {
      // The file was closed: once it opens again, everything counts as news.
      if (told !== failing) say({ kind: 'changed' });
      told = failing;
      seen = { openings: -1, dataVersion: -1 };
    }
  }

  function close(): void {
    clearInterval(timer);
    file.close();
    port.close();
  }
}

// Imported outside a worker thread, this file does nothing.
if (parentPort !== null && workerData !== null) serve(parentPort, workerData as ThreadSettings);
