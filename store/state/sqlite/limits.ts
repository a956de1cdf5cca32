// Shared limits in a file of this machine, with a thread of its own: for several processes on one data directory.
import type { AttachAnswer, ExchangeMessage, LimitNotice, LimitView } from '../../../domain/limits/exchange.ts';
import { type LimitCalls, LimitLines } from '../limits/limit-lines.ts';
import { type LimitListener, type LimitStore, patienceMs } from '../limits/limit-store.ts';
import { StoreUnavailable } from '../store-unavailable.ts';
import type { ExchangeOutput, LimitOperation, LookInput, SaidInput } from './limit-messages.ts';
import { SqliteThread } from './thread.ts';

export interface SqliteLimitOptions {
  readonly directory: string;
  /** Instead of the clock of this machine. */
  readonly clockMs?: (() => number) | undefined;
}

/** Between two looks for notices of other processes. Milliseconds. */
const pollMs = 20;

/** Nothing is started before the first use. */
export function sqliteLimits({ directory, clockMs }: SqliteLimitOptions): LimitStore {
  const program = new URL('limit-worker.ts', import.meta.url);
  let thread: SqliteThread<LimitOperation> | undefined;
  let lines: LimitLines | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isClosed = false;

  function started(): SqliteThread<LimitOperation> {
    thread ??= new SqliteThread({ store: 'the shared limits', directory, timeoutMs: patienceMs, pollMs, program });
    return thread;
  }

  async function ask<Output>(name: LimitOperation, input: unknown): Promise<Output> {
    if (isClosed) throw new StoreUnavailable('unreachable', 'the state store is closed');
    return JSON.parse(await started().ask(name, input)) as Output;
  }

  function now(): number | null {
    return clockMs?.() ?? null;
  }

  async function open(): Promise<void> {
    try {
      const server = await ask<string>('open', null);
      if (!isClosed) lines?.begin(server, callsOn(server));
    } catch (error) {
      if (isClosed) return;
      lines?.missed(error);
      openLater();
    }
  }

  function openLater(): void {
    if (!isClosed) timer = setTimeout(() => void open(), lines?.pauseMs ?? 0);
  }

  function callsOn(server: string): LimitCalls {
    const said = <Message extends SaidInput['message']>(message: Message): SaidInput<Message> => {
      return { server, message, clockMs: now() };
    };
    return {
      attach: (message) => ask<AttachAnswer>('attach', said(message)),
      async exchange(message: ExchangeMessage) {
        const { answer, notices } = await ask<ExchangeOutput>('exchange', said(message));
        for (const notice of notices) lines?.told(notice);
        return answer;
      },
      detach: (message) => ask('detach', said(message)),
      ended: openLater,
    };
  }

  /** Reads what other processes have told. */
  async function hear(): Promise<void> {
    const notices = await ask<LimitNotice[]>('notices', null).catch(() => []);
    for (const notice of notices) lines?.told(notice);
  }

  return {
    connect(listener: LimitListener) {
      lines = new LimitLines(listener);
      started().watch(() => void hear());
      void open();
    },
    look: (keys) => ask<LimitView[]>('look', { keys, clockMs: now() } satisfies LookInput),
    async close() {
      isClosed = true;
      clearTimeout(timer);
      lines?.close();
      await thread?.close();
    },
  };
}
