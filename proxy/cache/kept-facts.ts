// The facts that are stored with an answer. Its cost is computed at a hit, because most answers are never served again.
import type { Price } from '../../domain/prices/price.ts';
import type { AttemptUsage } from '../../domain/records/usage.ts';
import type { CachedFacts } from '../../store/cache/answer-cache.ts';
import { attemptUsage } from '../tokens/attempt-usage.ts';
import type { TokenUsage } from '../tokens/token-usage.ts';

/** Whose answer it is. */
interface Origin {
  readonly upstream: { readonly name: string; readonly type: string };
  readonly model: string;
  readonly price?: Price | undefined;
}

export class KeptFacts implements CachedFacts {
  readonly provider: string;
  readonly type: string;
  readonly model: string;
  readonly #price: Price | undefined;
  readonly #tokens: TokenUsage;
  readonly #providerId: string | undefined;

  /** `providerId`: the provider's id of the answer. */
  constructor({ upstream, model, price }: Origin, tokens: TokenUsage, providerId: string | undefined) {
    this.provider = upstream.name;
    this.type = upstream.type;
    this.model = model;
    this.#price = price;
    this.#tokens = tokens;
    this.#providerId = providerId;
  }

  get usage(): AttemptUsage {
    return attemptUsage(this.#tokens, this.#price, this.#providerId);
  }

  toJSON(): CachedFacts {
    const { provider, type, model, usage } = this;
    return { provider, type, model, usage };
  }
}
