// One budget for the request bodies in memory: beyond it a new body is refused, so that the process does not run out of memory.
import { refusal } from '../errors.ts';

/** Part of the memory limit that bodies may take by default. With its copies (rewritten for a provider, written to a socket) a body takes up to three times as much. */
const budgetShare = 1 / 8;
/** Part of the budget that one consumer may take, so that others are served while it sends slowly. */
const consumerShare = 1 / 2;

/** The bounds on bodies, in bytes. */
export interface BodyLimits {
  /** Of one body. */
  readonly bodyLimitBytes: number;
  /** Of all bodies together (`server.body_budget`); undefined: an eighth of the memory limit. */
  readonly bodyBudgetBytes: number | undefined;
}

/** The bodies of all open requests. */
export class BodyBudget {
  readonly #memoryLimitBytes: number;
  readonly #workers: number;
  readonly #byConsumer = new Map<string, number>();
  #held = 0;
  #refused = 0;

  /** `memoryLimitBytes`: of this process. `workers`: how many processes share a configured budget. */
  constructor(memoryLimitBytes: number, workers: number = 1) {
    this.#memoryLimitBytes = memoryLimitBytes;
    this.#workers = workers;
  }

  /** Bytes held at this moment. */
  get held(): number {
    return this.#held;
  }

  /** Requests refused so far because their body did not fit. */
  get refused(): number {
    return this.#refused;
  }

  /** Opens the account of one request's body. `consumer` tells whose it is: a key's id, or a user path. */
  open(consumer: string, limits: BodyLimits): HeldBody {
    return new HeldBody(this, consumer, limits);
  }

  /**
   * Throws 503 `overloaded` when so many more bytes of this consumer would not fit. One body of the largest allowed size fits alone
   * whatever the budget is, so that no body is refused for ever.
   */
  check(consumer: string, bytes: number, limits: BodyLimits): void {
    if (this.fits(consumer, bytes, limits)) return;
    this.#refused += 1;
    throw refusal('overloaded', { headers: { 'retry-after': '1' } });
  }

  /** Whether so many more bytes of this consumer fit. */
  fits(consumer: string, bytes: number, { bodyLimitBytes, bodyBudgetBytes }: BodyLimits): boolean {
    const whole = Math.max(this.#share(bodyBudgetBytes), bodyLimitBytes);
    const own = Math.max(whole * consumerShare, bodyLimitBytes);
    return this.#held + bytes <= whole && (this.#byConsumer.get(consumer) ?? 0) + bytes <= own;
  }

  /** Whether so many bytes more of this consumer fit into a share of the budget for it, when they fit into one for all; both from 0 to 1. */
  hasRoom(
    consumer: string,
    bytes: number,
    { bodyBudgetBytes }: BodyLimits,
    shares: { readonly own: number; readonly all: number },
  ): boolean {
    const whole = this.#share(bodyBudgetBytes);
    const own = (this.#byConsumer.get(consumer) ?? 0) + bytes;
    return own <= whole * shares.own && this.#held + bytes <= whole * shares.all;
  }

  #share(bodyBudgetBytes: number | undefined): number {
    return bodyBudgetBytes === undefined ? this.#memoryLimitBytes * budgetShare : bodyBudgetBytes / this.#workers;
  }

  /** Adds bytes (less than 0: takes them off). */
  add(consumer: string, bytes: number): void {
    this.#held += bytes;
    const own = (this.#byConsumer.get(consumer) ?? 0) + bytes;
    if (own === 0) this.#byConsumer.delete(consumer);
    else this.#byConsumer.set(consumer, own);
  }
}

/**
 * The share of the budget that one request takes: the bytes of its body in memory, from the first byte to the end of
 * the request.
 */
export class HeldBody {
  readonly #budget: BodyBudget;
  readonly #consumer: string;
  readonly #limits: BodyLimits;
  #bytes = 0;

  constructor(budget: BodyBudget, consumer: string, limits: BodyLimits) {
    this.#budget = budget;
    this.#consumer = consumer;
    this.#limits = limits;
  }

  /** Throws 503 `overloaded` when a body of the declared length would not fit now. Nothing is reserved: a client may never send it. */
  expect(declaredBytes: number): void {
    this.#budget.check(this.#consumer, declaredBytes, this.#limits);
  }

  /** The body takes so many bytes now. Throws 503 `overloaded` when they do not fit; fewer than before always do. */
  grow(bytes: number): void {
    const more = bytes - this.#bytes;
    if (more === 0) return;
    if (more > 0) this.#budget.check(this.#consumer, more, this.#limits);
    this.#budget.add(this.#consumer, more);
    this.#bytes = bytes;
  }

  /** So many bytes are held beside the body, until `release`. False: they do not fit. */
  hold(bytes: number): boolean {
    if (!this.#budget.fits(this.#consumer, bytes, this.#limits)) return false;
    this.#budget.add(this.#consumer, bytes);
    this.#bytes += bytes;
    return true;
  }

  /** The request has ended, or its body was refused. Again does nothing. */
  release(): void {
    if (this.#bytes > 0) this.#budget.add(this.#consumer, -this.#bytes);
    this.#bytes = 0;
  }
}
