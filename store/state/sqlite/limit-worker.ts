// The thread of shared limits: answers messages one after the other, and looks for notices of other processes in between.
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { AttachMessage, DetachMessage, ExchangeMessage } from '../../../domain/limits/exchange.ts';
import { StoreUnavailable } from '../store-unavailable.ts';
import { LimitDesk } from './limit-desk.ts';
import type { LimitOperation, LookInput, SaidInput } from './limit-messages.ts';
import type { Answer, Request, ThreadSettings } from './messages.ts';

const operations: Readonly<Record<LimitOperation, (desk: LimitDesk, input: unknown) => unknown>> = {
  open: (desk) => desk.open(),
  attach: (desk, input) => desk.attach(input as SaidInput<AttachMessage>),
  exchange: (desk, input) => desk.exchange(input as SaidInput<ExchangeMessage>),
  detach: (desk, input) => desk.detach(input as SaidInput<DetachMessage>),
  look: (desk, input) => desk.look(input as LookInput),
  notices: (desk) => desk.notices(),
};

type LimitRequest = Request<LimitOperation | 'watch' | 'close'>;

function serve(port: MessagePort, { directory, busyMs, pollMs, isWatching }: ThreadSettings): void {
  const desk = new LimitDesk(directory, busyMs);
  let timer: NodeJS.Timeout | undefined;

  port.on('message', (request: LimitRequest) => {
    say(answer(request));
    if (request.name === 'watch') watch();
    if (request.name !== 'close') return;
    clearInterval(timer);
    desk.close();
    port.close();
  });
  if (isWatching) watch();
  say({ kind: 'online' });

  function say(message: Answer): void {
    port.postMessage(message, []);
  }

  function answer({ name, input }: LimitRequest): Answer {
    try {
      const output = name === 'watch' || name === 'close' ? null : operations[name](desk, JSON.parse(input));
      return { kind: 'output', output: JSON.stringify(output) };
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) return { kind: 'broken', message: String(error) };
      const { reason, message, cause } = error;
      return { kind: 'failure', reason, message, cause: cause instanceof Error ? cause.message : '' };
    }
  }

  function watch(): void {
    timer ??= setInterval(poll, pollMs);
  }

  function poll(): void {
    try {
      if (desk.hasNotices(pollMs)) say({ kind: 'changed' });
    } catch {
      // The next message is told what is wrong with the file.
    }
  }
}

// Imported outside a worker thread, this file does nothing.
if (parentPort !== null && workerData !== null) serve(parentPort, workerData as ThreadSettings);
