// The messages between the two ends of shared limits in a file.
import type {
  AttachMessage,
  DetachMessage,
  ExchangeAnswer,
  ExchangeMessage,
  LimitNotice,
} from '../../../domain/limits/exchange.ts';

/** `open` gives which file it is, which the next three must name; `notices` those of other processes since it was asked last. */
export type LimitOperation = 'open' | 'attach' | 'exchange' | 'detach' | 'look' | 'notices';

/** A message for the file that is named. `clockMs`: instead of the clock; null: the clock. */
export interface SaidInput<Message = AttachMessage | ExchangeMessage | DetachMessage> {
  readonly server: string;
  readonly message: Message;
  readonly clockMs: number | null;
}

export interface ExchangeOutput {
  readonly answer: ExchangeAnswer;
  /** That it has given rise to. */
  readonly notices: readonly LimitNotice[];
}

export interface LookInput {
  readonly keys: readonly string[];
  readonly clockMs: number | null;
}
