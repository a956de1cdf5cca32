// Whether the control plane answers. While it does not, one question a second or fewer finds out when it does again.
import { Cell } from './cell.ts';
import { nowMs } from './time.ts';

export interface Connection {
  readonly isUp: boolean;
  /** The problem, for people; empty while it is up. */
  readonly problem: string;
  /** Since when it is so. Unix milliseconds. */
  readonly sinceMs: number;
}

export const connection = new Cell<Connection>({ isUp: true, problem: '', sinceMs: nowMs() });

const firstPauseMs = 1_000;
const longestPauseMs = 4_000;
let pauseMs = firstPauseMs;
let timer: ReturnType<typeof setTimeout> | undefined;

/** A request was answered. */
export function noteAnswer(): void {
  clearTimeout(timer);
  timer = undefined;
  pauseMs = firstPauseMs;
  if (!connection.value.isUp) connection.set({ isUp: true, problem: '', sinceMs: nowMs() });
}

/** A request was not answered. `ask` tries again; it calls one of these two. */
export function noteLoss(problem: string, ask: () => Promise<unknown>): void {
  const { isUp, sinceMs } = connection.value;
  connection.set({ isUp: false, problem, sinceMs: isUp ? nowMs() : sinceMs });
  if (timer !== undefined) return;
  timer = setTimeout(() => {
    timer = undefined;
    pauseMs = Math.min(longestPauseMs, pauseMs * 2);
    void ask().catch(() => undefined);
  }, pauseMs);
}

/** At once, because the viewer asks for it. */
export function retryNow(ask: () => Promise<unknown>): void {
  clearTimeout(timer);
  timer = undefined;
  pauseMs = firstPauseMs;
  void ask().catch(() => undefined);
}
