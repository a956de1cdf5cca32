// How hard a model thinks, in words; and the word for a budget, for models that are told no tokens.
import type { Thinking } from './conversation.ts';

export type Effort = NonNullable<Thinking['effort']>;

export const efforts: readonly Effort[] = ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/** Whether a word is a known effort. */
export function isEffort(word: string): word is Effort {
  return (efforts as readonly string[]).includes(word);
}

/** The effort that thinks about as long as a budget of tokens. */
export function effortOfBudget(tokens: number): 'low' | 'medium' | 'high' {
  if (tokens >= 20_000) return 'high';
  return tokens >= 10_000 ? 'medium' : 'low';
}
