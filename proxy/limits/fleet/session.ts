// One run of this proxy as the state store knows it: its name there, and what was told and may have been lost.
import {
  type AttachAnswer,
  type AttachMessage,
  type DetachMessage,
  exchangeVersion,
} from '../../../domain/limits/exchange.ts';
import type { Told } from './stock.ts';
import type { Need } from './waiting.ts';

/** Answered exchanges are remembered for so long, to be told again to a store that has lost them. */
const memoryMs = 10_000;

export interface SessionOptions {
  readonly instance: string;
  /** Drawn at the start. */
  readonly boot: string;
  /** The generation of the store that a former process of this instance has told all to. */
  readonly generation?: string;
}

/** An exchange that is not answered. */
export interface UnderWay {
  readonly sequence: number;
  readonly sentMs: number;
  readonly told: readonly Told[];
  readonly groups: readonly { readonly requests: number; readonly needs: readonly Need[] }[];
}

/** What a store that was attached to may have lost: of exchanges that it had answered, and of the one that it has not. */
export interface Lost {
  readonly answered: readonly Told[];
  readonly underWay: readonly Told[];
}

export class Session {
  readonly #options: SessionOptions;
  #id: number | undefined;
  #generation: string | undefined;
  #connection = 0;
  #sequence = 0;
  #answered: UnderWay[] = [];
  /** The exchange that is not answered. */
  underWay: UnderWay | undefined;

  constructor(options: SessionOptions) {
    this.#options = options;
    this.#generation = options.generation;
  }

  /** The generation of the store to which all was told. */
  get generation(): string | undefined {
    return this.#generation;
  }

  /** Whether this process has attached before. */
  get isOpen(): boolean {
    return this.#id !== undefined;
  }

  /** The number of the last exchange. */
  get sequence(): number {
    return this.#sequence;
  }

  /** The first message of a new connection. `live`: how many proxies there were when this one last heard. */
  attachMessage(given: Pick<AttachMessage, 'fresh' | 'server' | 'live'>): AttachMessage {
    this.#connection += 1;
    const { instance, boot } = this.#options;
    const session = this.#id === undefined ? {} : { session: this.#id };
    const generation = this.#generation === undefined ? {} : { generation: this.#generation };
    return {
      version: exchangeVersion,
      instance,
      boot,
      connection: this.#connection,
      ...given,
      ...session,
      ...generation,
    };
  }

  /** Takes the name that the store gives, and says what it has not applied of what it was told. */
  attached({ session, generation, former, sequence: applied }: AttachAnswer): Lost {
    const isLost = ({ sequence }: UnderWay): boolean => sequence > applied;
    const answered = this.#answered.filter(isLost).flatMap(({ told }) => told);
    const { underWay } = this;
    this.underWay = undefined;
    for (const { stock } of underWay?.told ?? []) stock.underWay = 0;
    this.#id = session;
    this.#generation = generation;
    this.#sequence = Math.max(this.#sequence, applied);
    // What was applied may still be lost.
    const applying = underWay === undefined ? this.#answered : [...this.#answered, underWay];
    this.#answered = former === 'known' ? applying.filter((exchange) => !isLost(exchange)) : [];
    return { answered, underWay: underWay !== undefined && isLost(underWay) ? underWay.told : [] };
  }

  /** Begins an exchange: what it is named by. */
  begin(exchange: Omit<UnderWay, 'sequence'>): { session: number; connection: number; sequence: number } {
    this.#sequence += 1;
    this.underWay = { ...exchange, sequence: this.#sequence };
    return { session: this.#id ?? 0, connection: this.#connection, sequence: this.#sequence };
  }

  detachMessage(): DetachMessage {
    return { session: this.#id ?? 0, connection: this.#connection };
  }

  /** The exchange under way was answered. */
  end(nowMs: number): void {
    if (this.underWay !== undefined) this.#answered.push(this.underWay);
    this.underWay = undefined;
    while ((this.#answered[0]?.sentMs ?? nowMs) < nowMs - memoryMs) this.#answered.shift();
  }
}
