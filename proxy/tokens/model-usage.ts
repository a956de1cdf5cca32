// The usage of several requests of one model.
import type { TokenUsage } from './token-usage.ts';

export interface ModelUsage {
  /** As the provider tells it. */
  readonly model: string;
  /** Of all of them together. */
  readonly usage: TokenUsage;
  readonly requests: number;
}
