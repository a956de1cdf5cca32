// The actions of one side of a socket as data: write bytes, pause, wait for the test, end. The fake upstream and the raw client play them.
import type { Socket } from 'node:net';
import { setTimeout } from 'node:timers/promises';

/** Holds every waiter until the test releases it; after that it holds none. */
export interface Gate {
  readonly kind: 'gate';
  /** How many wait at it now. */
  readonly waiting: number;
  readonly released: boolean;
  release(): void;
  /** Settles when released, or when `gone` fires. */
  wait(gone: AbortSignal): Promise<void>;
}

/** How a connection ends: `fin` closes our sending side, `rst` resets, `silence` says nothing more and stays open. */
export interface Ending {
  readonly end: 'fin' | 'rst' | 'silence';
}

/** Text is sent as UTF-8; each piece is a write of its own, with Nagle's algorithm off. */
export type Step = string | Uint8Array | { readonly pauseMs: number } | Gate | Ending;

/** How a play came out: every step done, ended as told, or the peer was gone before that. */
export type Outcome = 'written' | 'fin' | 'rst' | 'silence' | 'gone';

export const fin: Ending = { end: 'fin' };
export const rst: Ending = { end: 'rst' };
export const silence: Ending = { end: 'silence' };

/** A gate that the test opens with `release()`. */
export function createGate(): Gate {
  const opening = Promise.withResolvers<void>();
  let released = false;
  let waiting = 0;
  return {
    kind: 'gate',
    get waiting() {
      return waiting;
    },
    get released() {
      return released;
    },
    release() {
      released = true;
      opening.resolve();
    },
    async wait(gone) {
      waiting += 1;
      await Promise.race([opening.promise, aborted(gone)]);
      waiting -= 1;
    },
  };
}

/** A silence of that many milliseconds between two writes. */
export function pause(pauseMs: number): Step {
  return { pauseMs };
}

/**
 * Plays the steps on a socket until they are done or `gone` fires (its owner destroys the socket). `onWritten` gets the bytes that the kernel has taken, so
 * that a peer which stops reading shows.
 */
export async function playSteps(
  socket: Socket,
  steps: Iterable<Step>,
  gone: AbortSignal,
  onWritten: (bytes: number) => void = () => {},
): Promise<Outcome> {
  for (const step of steps) {
    if (gone.aborted) return 'gone';
    if (typeof step === 'string' || step instanceof Uint8Array) {
      const bytes = typeof step === 'string' ? Buffer.from(step) : step;
      for (let start = 0; start < bytes.length; start += 65_536) {
        const piece = bytes.subarray(start, start + 65_536);
        if (!(await write(socket, piece))) return 'gone';
        onWritten(piece.length);
      }
    } else if ('pauseMs' in step) {
      await setTimeout(step.pauseMs, undefined, { signal: gone }).catch(() => {});
    } else if ('kind' in step) {
      await step.wait(gone);
    } else {
      if (step.end === 'silence') await aborted(gone);
      if (step.end === 'fin') socket.end();
      if (step.end === 'rst') socket.resetAndDestroy();
      return step.end;
    }
  }
  return gone.aborted ? 'gone' : 'written';
}

/** False when the socket is gone: a destroyed socket fails its pending writes. */
function write(socket: Socket, bytes: Uint8Array): Promise<boolean> {
  return new Promise((done) => {
    socket.write(bytes, (error) => done(!error));
  });
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((done) => {
    signal.addEventListener('abort', () => done(), { once: true });
  });
}
