// How an accepted answer goes to its client: as it is, or translated.
import type { Answer, Tap } from '../answer.ts';
import { SecretsTap } from '../providers/secrets-tap.ts';
import type { UsageSource } from '../tokens/token-usage.ts';
import { UsageTap } from '../tokens/usage-tap.ts';
import { TranslatedHead } from '../translation/translated-head.ts';
import { TranslationTap } from '../translation/translation-tap.ts';
import type { Accepted } from './attempts.ts';

export interface Delivered {
  readonly answer: Answer;
  /** The one nearest to the provider first. */
  readonly taps: readonly Tap[];
  readonly usage: UsageSource;
}

/** `countsTokens`: usage is read. `nowMs`: Unix milliseconds. */
export function deliver(accepted: Accepted, countsTokens: boolean, nowMs: number): Delivered {
  const { answer, reading, routed, target } = accepted;
  const { secrets } = target.upstream;
  if (reading === undefined) {
    const usage = new UsageTap(routed, accepted, countsTokens);
    const isWatched = answer.stream && answer.contentEncoding === undefined;
    return { answer, taps: [usage, new SecretsTap(secrets, isWatched)], usage };
  }
  const { translated, answer: read } = reading;
  const usage = new TranslationTap({
    answer,
    translated,
    read,
    asked: routed,
    secrets,
    readsUsage: countsTokens,
    nowMs,
  });
  return { answer: new TranslatedHead(answer), taps: [usage], usage };
}
