// The tokens of one answer, and how they are known.
import type { Cost, UsageOrigin } from '../../domain/records/usage.ts';
import { type Counts, countsOf } from './counts.ts';

/**
 * The usage of one answer. Parts are absent where the provider does not report them, and never more than their whole.
 */
export interface TokenUsage {
  /** All that was read: what a cache held of it, what was written to one, and sound included. */
  readonly inputTokens: number;
  /** All that was said: thoughts and sound included. */
  readonly outputTokens: number;
  readonly totalTokens: number;
  readonly source: UsageOrigin;
  readonly cachedInputTokens?: number;
  readonly cacheWriteTokens?: number;
  /** Of `cacheWriteTokens`, those that are kept for an hour. */
  readonly hourCacheWriteTokens?: number;
  readonly audioInputTokens?: number;
  /** Of `cachedInputTokens` and of `audioInputTokens`. */
  readonly cachedAudioTokens?: number;
  readonly reasoningTokens?: number;
  readonly audioOutputTokens?: number;
  /** Amounts that are not billed by tokens. */
  readonly audioSeconds?: number;
  readonly characters?: number;
  readonly images?: number;
  /** Some of it is the use of another model than the one that was asked for, so that the price of that one does not tell its cost. */
  readonly isOfOtherModel?: boolean;
  /** Of several answers: the sum of what each cost, but for those whose price is not known; null: no price is known. */
  readonly cost?: Cost | null;
}

type Building = { -readonly [Key in keyof TokenUsage]: TokenUsage[Key] };

/** The source of an answer's usage at its end. */
export interface UsageSource {
  /** Undefined: nothing came, or tokens are not counted. */
  usage(): TokenUsage | undefined;
  /** Of an answer that it holds and reads when it is asked; absent: none. */
  readonly heldBytes?: number;
}

/** No request costs more: the longest contexts are a tenth of it. A larger count is a mistake, and would close a consumer's windows for days. */
const mostTokens = 10_000_000;
/** A day of sound; more is a mistake. */
const mostSeconds = 86_400;

/**
 * Reads a usage object of the OpenAI or Anthropic kind; of the latter, what was read from and written to a cache is input, too. An explicit
 * zero is a report; what is no number is not there. A total that is missing, or 0 beside counts that are not, is the sum; a part that is
 * missing is what the total leaves for it. Thoughts that a server counts beside its output (xAI) are added to it: they are when only the sum
 * with them gives the total. Undefined when no count is there at all, and when one of these is absurd: negative, a fraction, or all in all
 * more than ten million. Of the details, one that is absurd, or more than its whole, is left out.
 */
export function tokenUsageOf(usage: unknown): TokenUsage | undefined {
  if (typeof usage !== 'object' || usage === null) return undefined;
  return tokenUsageFrom(countsOf(usage as Record<string, unknown>));
}

/** The usage of raw counts, in tokens; undefined when they are missing, negative or too large. */
export function tokenUsageFrom(counts: Counts): TokenUsage | undefined {
  const { output, total } = counts;
  const input = inputOf(counts);
  if (input === undefined && output === undefined && total === undefined) return soundOf(counts);
  if (!isSane(input) || !isSane(output) || !isSane(total)) return undefined;
  const inputTokens = input ?? Math.max(0, (total ?? 0) - (output ?? 0));
  const said = output ?? Math.max(0, (total ?? 0) - inputTokens);
  const outputTokens = said + thoughtsBeside(counts, inputTokens + said);
  const sum = inputTokens + outputTokens;
  if (sum > mostTokens) return undefined;
  const usage: Building = { inputTokens, outputTokens, totalTokens: total || sum, source: 'reported' };
  addInputDetails(usage, counts);
  addOutputDetails(usage, counts);
  return usage;
}

/** The usage of an answer that broke off, or whose client left: an estimate becomes one of a part. */
export function ofBrokenAnswer(usage: TokenUsage): TokenUsage {
  return usage.source === 'estimated' ? { ...usage, source: 'partial' } : usage;
}

/** Anthropic alone gives no total, and counts what its cache holds beside the input. */
function inputOf(counts: Counts): number | undefined {
  const { prompt, input, cacheRead, cacheWrite } = counts;
  if (hasInclusiveInput(counts)) return prompt ?? input;
  if (cacheRead === undefined && cacheWrite === undefined) return input;
  // Of absurd ones the sum would hide it.
  if (!isSane(input) || !isSane(cacheRead) || !isSane(cacheWrite)) return Number.NaN;
  return (input ?? 0) + (cacheRead ?? 0) + (cacheWrite ?? 0);
}

function hasInclusiveInput({ prompt, total }: Counts): boolean {
  return prompt !== undefined || total !== undefined;
}

function thoughtsBeside({ reasoning, total }: Counts, sum: number): number {
  return reasoning !== undefined && reasoning > 0 && total === sum + reasoning && isSane(reasoning) ? reasoning : 0;
}

function addInputDetails(usage: Building, counts: Counts): void {
  const { inputTokens } = usage;
  const cached = counts.cached ?? counts.cacheRead;
  const written = counts.written ?? counts.cacheWrite;
  const { audioInput, hourCacheWrite } = counts;
  if (isPart(cached, inputTokens)) usage.cachedInputTokens = cached;
  if (isPart(written, inputTokens - (usage.cachedInputTokens ?? 0))) {
    usage.cacheWriteTokens = written;
    if (isPart(hourCacheWrite, written)) usage.hourCacheWriteTokens = hourCacheWrite;
  }
  if (isPart(audioInput, inputTokens)) {
    usage.audioInputTokens = audioInput;
    const { cachedAudio } = counts;
    if (isPart(cachedAudio, Math.min(audioInput, usage.cachedInputTokens ?? 0))) usage.cachedAudioTokens = cachedAudio;
  }
}

function addOutputDetails(usage: Building, { reasoning, audioOutput, seconds }: Counts): void {
  if (isPart(reasoning, usage.outputTokens)) usage.reasoningTokens = reasoning;
  if (isPart(audioOutput, usage.outputTokens)) usage.audioOutputTokens = audioOutput;
  if (isDuration(seconds)) usage.audioSeconds = seconds;
}

/** Of a transcript that is billed by its sound: the report says nothing else. */
function soundOf({ seconds }: Counts): TokenUsage | undefined {
  if (!isDuration(seconds)) return undefined;
  return { inputTokens: 0, outputTokens: 0, totalTokens: 0, source: 'reported', audioSeconds: seconds };
}

function isDuration(seconds: number | undefined): seconds is number {
  return seconds !== undefined && seconds >= 0 && seconds <= mostSeconds;
}

function isPart(count: number | undefined, whole: number): count is number {
  return count !== undefined && Number.isInteger(count) && count >= 0 && count <= whole;
}

function isSane(count: number | undefined): boolean {
  return count === undefined || (Number.isInteger(count) && count >= 0 && count <= mostTokens);
}
