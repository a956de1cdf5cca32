// Bounds the sockets to providers, so that files, stores and clients always have descriptors left.
import type { Connector } from '../undici.ts';

/** How long idle sockets take to close, those of TLS too: some turns of the event loop. */
const closingMs = 10;
/** How many times idle ones are looked for before a connection is refused. */
const mostTries = 5;

/** Opens connections within the budget. */
export class SocketBudget {
  readonly #most: number;
  /** Closes sockets without a call; those are the ones a budget is used up by as a rule. */
  readonly #closeIdle: () => void;
  #open = 0;

  constructor(most: number, closeIdle: () => void) {
    this.#most = most;
    this.#closeIdle = closeIdle;
  }

  /** `connect`: undici's own connector. */
  bounded(connect: Connector): Connector {
    const begin: Connector = (options, done) => {
      this.#open += 1;
      // It gives its socket, although its type does not say so.
      const socket = connect(options, done) as unknown as { once(event: 'close', listener: () => void): void };
      socket.once('close', () => {
        this.#open -= 1;
      });
    };
    const connectSoon = (options: Parameters<Connector>[0], done: Parameters<Connector>[1], tries: number): void => {
      if (this.#open < this.#most) begin(options, done);
      else if (tries === 0) done(noRoom(), null);
      else {
        this.#closeIdle();
        setTimeout(connectSoon, closingMs, options, done, tries - 1);
      }
    };
    return (options, done) => connectSoon(options, done, mostTries);
  }
}

/** The error of the system for too many open files, raised before the system would raise it. */
function noRoom(): Error {
  return Object.assign(new Error('no more sockets to providers'), { code: 'EMFILE', syscall: 'connect' });
}
