// The addresses of names: remembered for some seconds, and asked for once, however many connections wait for them.
import type { LookupAddress } from 'node:dns';

type Done = (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void;

/** Asks for all addresses of a name. Calls back once. */
export type Resolve = (name: string, done: Done) => void;

/** For how long what is known holds. Milliseconds. */
export interface NameTimes {
  /** Addresses. */
  readonly freshMs: number;
  /** A failure. */
  readonly failedMs: number;
  /** Addresses while the resolver itself fails. */
  readonly staleMs: number;
}

export const nameTimes: NameTimes = { freshMs: 10_000, failedMs: 1_000, staleMs: 300_000 };

/** The most connections that may wait for one name, so that a slow resolver does not collect more. */
const mostWaiting = 1_024;

/** The cached answer for one name. */
interface Known {
  error: NodeJS.ErrnoException | null;
  addresses: LookupAddress[];
  /** It need not be asked for again. */
  isFresh: boolean;
  /** Those that wait for an answer; undefined: no question is open. */
  waiting: Done[] | undefined;
  freshEnds: NodeJS.Timeout | undefined;
  staleEnds: NodeJS.Timeout | undefined;
}

/** The resolver must call back, if only after minutes: that of the system does. */
export class Names {
  readonly #resolve: Resolve;
  readonly #times: NameTimes;
  readonly #known = new Map<string, Known>();

  constructor(resolve: Resolve, times: NameTimes) {
    this.#resolve = resolve;
    this.#times = times;
  }

  /** Calls back once, never at once; how long that may take is for the caller to bound. */
  resolve(name: string, done: Done): void {
    const known = this.#known.get(name) ?? unknown();
    this.#known.set(name, known);
    if (known.isFresh) process.nextTick(done, known.error, known.addresses);
    else if (known.waiting === undefined) {
      known.waiting = [done];
      this.#resolve(name, (error, addresses) => this.#take(known, error, addresses));
    } else if (known.waiting.length < mostWaiting) known.waiting.push(done);
    else process.nextTick(done, tooMany(), []);
  }

  /** Forgets all other names. */
  keep(names: ReadonlySet<string>): void {
    for (const name of this.#known.keys()) if (!names.has(name)) this.#known.delete(name);
  }

  #take(known: Known, error: NodeJS.ErrnoException | null, addresses: LookupAddress[]): void {
    const { freshMs, failedMs, staleMs } = this.#times;
    // A name that does not exist any more is an answer; a resolver that fails is none.
    const isOutage = error !== null && error.code !== 'ENOTFOUND' && known.addresses.length > 0;
    if (!isOutage) {
      known.error = error;
      known.addresses = addresses;
      clearTimeout(known.staleEnds);
      known.staleEnds = after(staleMs, () => {
        known.addresses = [];
        known.isFresh = false;
      });
    }
    known.isFresh = true;
    clearTimeout(known.freshEnds);
    known.freshEnds = after(error === null ? freshMs : failedMs, () => {
      known.isFresh = false;
    });
    const { waiting = [] } = known;
    known.waiting = undefined;
    for (const done of waiting) process.nextTick(done, known.error, known.addresses);
  }
}

function unknown(): Known {
  return {
    error: null,
    addresses: [],
    isFresh: false,
    waiting: undefined,
    freshEnds: undefined,
    staleEnds: undefined,
  };
}

function after(ms: number, run: () => void): NodeJS.Timeout {
  return setTimeout(run, ms).unref();
}

/** As the system says of a resolver that cannot answer now. */
function tooMany(): NodeJS.ErrnoException {
  return Object.assign(new Error('too many connections wait for the name'), { code: 'EAI_AGAIN' });
}
