// The rate limits that a provider's answers report for this gateway, so that a target is not asked before it answers 429.
import { durationMs, momentMs } from './reset-time.ts';

/** The dimensions that providers limit. */
const quotaDimensions = ['requests', 'tokens', 'input_tokens', 'output_tokens'] as const;
export type QuotaDimension = (typeof quotaDimensions)[number];

/** Headers of an answer that speak of limits, names and values in turn; undefined when it has none. */
export interface QuotaHeaders {
  readonly quota: readonly Buffer[] | undefined;
}

/** Without a reset, what is used up is so for a second. No prediction holds for more than a minute. Milliseconds. */
const unknownResetMs = 1000;
const longestMs = 60_000;
/** Of tokens, this share of the limit must be there for the next call. */
const leastTokenShare = 1 / 100;
/** While there is plenty, answers within this time are not read again. Milliseconds. */
const rereadMs = 100;
const plenty = 1 / 5;

type Part = 'limit' | 'remaining' | 'reset';

/** By the name of the header: OpenAI and those who do as it does, Cerebras, OpenRouter and Together, Anthropic. */
const headers = new Map<string, readonly [QuotaDimension, Part]>();
for (const part of ['limit', 'remaining', 'reset'] as const) {
  headers.set(`x-ratelimit-${part}`, ['requests', part]);
  headers.set(`x-ratelimit-${part}-requests-day`, ['requests', part]);
  headers.set(`x-ratelimit-${part}-tokens-minute`, ['tokens', part]);
  for (const dimension of ['requests', 'tokens'] as const)
    headers.set(`x-ratelimit-${part}-${dimension}`, [dimension, part]);
  for (const dimension of quotaDimensions)
    headers.set(`anthropic-ratelimit-${dimension.replace('_', '-')}-${part}`, [dimension, part]);
}

/** One limit as it was told last. Moments in milliseconds. */
class LearnedLimit {
  limit: number | undefined;
  remaining: number | undefined;
  resetAtMs: number | undefined;
  learnedAtMs = 0;

  /** How much is left now, supposing that it comes back evenly until the reset; undefined: unknown. */
  remainingAt(nowMs: number): number | undefined {
    const { limit, remaining, resetAtMs = this.learnedAtMs + unknownResetMs } = this;
    if (remaining === undefined || limit === undefined) return nowMs < resetAtMs ? remaining : undefined;
    if (nowMs >= resetAtMs) return limit;
    const share = (nowMs - this.learnedAtMs) / (resetAtMs - this.learnedAtMs);
    return remaining + Math.max(0, limit - remaining) * Math.max(0, share);
  }

  /** Until when less than `needed` is left; 0 when there is enough now. */
  usedUpUntilMs(needed: number): number {
    const { limit = 0, remaining = Number.POSITIVE_INFINITY, resetAtMs, learnedAtMs } = this;
    if (remaining >= needed) return 0;
    if (resetAtMs === undefined) return learnedAtMs + unknownResetMs;
    const resetMs = Math.max(0, resetAtMs - learnedAtMs);
    const share = limit > remaining ? Math.min(1, (needed - remaining) / (limit - remaining)) : 1;
    return learnedAtMs + Math.min(resetMs * share, longestMs);
  }
}

export class LearnedQuota {
  #limits: Map<QuotaDimension, LearnedLimit> | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #hasPlenty = false;
  #usedUpUntilMs = 0;

  /** Reads the limits in the head of an answer that came at `nowMs` (Unix milliseconds). What it does not name stays as it was. */
  learn({ quota }: QuotaHeaders, nowMs: number): void {
    if (quota === undefined || (this.#hasPlenty && nowMs - this.#readAtMs < rereadMs)) return;
    this.#readAtMs = nowMs;
    for (let index = 0; index + 1 < quota.length; index += 2) {
      const header = headers.get(headerText(quota[index]).toLowerCase());
      if (header !== undefined) this.#take(header[0], header[1], headerText(quota[index + 1]), nowMs);
    }
    this.#judge(nowMs);
  }

  /** Knows nothing again. */
  forget(): void {
    this.#limits = undefined;
    this.#usedUpUntilMs = 0;
    this.#hasPlenty = false;
  }

  /** Whether the next call is likely to be refused. */
  isUsedUp(nowMs: number): boolean {
    return nowMs < this.#usedUpUntilMs;
  }

  /** When it stops being used up; the past when it is not. */
  get usedUpUntilMs(): number {
    return this.#usedUpUntilMs;
  }

  /** How much of the tightest limit is used, from 0 (nothing, or nothing is known) to 1. */
  pressure(nowMs: number): number {
    let worst = 0;
    for (const limit of this.#limits?.values() ?? []) {
      const remaining = limit.remainingAt(nowMs);
      if (remaining !== undefined && limit.limit) worst = Math.max(worst, 1 - remaining / limit.limit);
    }
    return Math.min(worst, 1);
  }

  /** The known remaining amounts, by dimension. `nowMs` in milliseconds of the gateway's clock. */
  *remaining(nowMs: number): Generator<readonly [QuotaDimension, number], void> {
    for (const [dimension, limit] of this.#limits ?? []) {
      const remaining = limit.remainingAt(nowMs);
      if (remaining !== undefined) yield [dimension, Math.floor(remaining)];
    }
  }

  /** Each known limit now: the remaining amount, and the limit itself where it is reported. */
  *limits(nowMs: number): Generator<readonly [QuotaDimension, remaining: number, limit: number | undefined], void> {
    for (const [dimension, remaining] of this.remaining(nowMs))
      yield [dimension, remaining, this.#limits?.get(dimension)?.limit];
  }

  #take(dimension: QuotaDimension, part: Part, text: string, nowMs: number): void {
    const value = part === 'reset' ? (momentMs(text) ?? nowMs + (durationMs(text) ?? Number.NaN)) : count(text);
    if (!Number.isFinite(value)) return;
    this.#limits ??= new Map();
    const limit = this.#limits.get(dimension) ?? new LearnedLimit();
    this.#limits.set(dimension, limit);
    if (limit.learnedAtMs !== nowMs) {
      limit.learnedAtMs = nowMs;
      limit.resetAtMs = undefined;
      limit.remaining = undefined;
    }
    if (part === 'reset') limit.resetAtMs = value;
    else limit[part] = value;
  }

  #judge(nowMs: number): void {
    this.#usedUpUntilMs = 0;
    this.#hasPlenty = true;
    for (const [dimension, limit] of this.#limits ?? []) {
      const cap = limit.limit ?? 0;
      const needed = dimension === 'requests' ? 1 : Math.max(1, cap * leastTokenShare);
      this.#usedUpUntilMs = Math.max(this.#usedUpUntilMs, limit.usedUpUntilMs(needed));
      if ((limit.remainingAt(nowMs) ?? 0) < cap * plenty || cap === 0) this.#hasPlenty = false;
    }
  }
}

/** NaN for what is no count; some say -1 for no limit. */
function count(text: string): number {
  const value = text.trim() === '' ? Number.NaN : Number(text);
  return value >= 0 ? value : Number.NaN;
}

function headerText(bytes: Buffer | undefined): string {
  return bytes?.toString('latin1') ?? '';
}
