// The outcomes of attempts, their durations, tokens and costs: plain numbers, because every request counts.
import { proxyMetrics } from '../../schemas/metrics/proxy-metrics.ts';
import { type AttemptOutcome, attemptOutcomes } from './attempt-outcome.ts';
import type { Exposition } from './exposition.ts';
import { PlainHistogram } from './plain-histogram.ts';
import { otherLabel, providerLabel } from './provider-label.ts';

/** Where a request may go. */
export interface CountedTarget {
  readonly upstream: { readonly name: string };
  /** The model's id at the provider. */
  readonly model: string;
  /** The request is passed on as it is: the client may say any model, or none. */
  readonly isPassed?: boolean;
}

/** A call of a provider that has cost something. */
export interface SpentCall {
  readonly provider: string;
  /** The model's id at the provider. */
  readonly model: string;
  readonly nanoDollars: number;
}

/** Up to so many models, all outcomes of each are shown from the start, so that `increase()` sees the first failure. */
const mostShownAtStart = 100;

/** The place of each outcome among the counts of a model. */
const places = Object.fromEntries(attemptOutcomes.map((outcome, place) => [outcome, place])) as Record<
  AttemptOutcome,
  number
>;

/** One model of one provider. */
class ModelFigures {
  readonly attempts = new Float64Array(attemptOutcomes.length);
  promptTokens = 0;
  completionTokens = 0;
  nanoDollars = 0;

  get isAsked(): boolean {
    return this.nanoDollars > 0 || this.attempts.some((count) => count > 0);
  }
}

class ProviderFigures {
  readonly models = new Map<string, ModelFigures>();
  readonly durations: PlainHistogram;
  readonly firstBytes: PlainHistogram;

  constructor(before?: ProviderFigures) {
    this.durations = before?.durations ?? new PlainHistogram(proxyMetrics.upstreamDuration.buckets);
    this.firstBytes = before?.firstBytes ?? new PlainHistogram(proxyMetrics.upstreamFirstByte.buckets);
  }
}

/** Counts for targets that have gone since they were asked. */
const removed: CountedTarget = { upstream: { name: otherLabel }, model: otherLabel };

/** Without targets at first. */
export class UpstreamTally {
  #providers: ReadonlyMap<string, ProviderFigures> = new Map();

  constructor() {
    this.keep([]);
  }

  /** Only these targets have series of their own from now on. Those that had them before keep their figures. */
  keep(targets: Iterable<CountedTarget>): void {
    const kept = new Map<string, ProviderFigures>();
    for (const target of targets) this.#keepOne(target, kept);
    this.#keepOne(removed, kept);
    this.#providers = kept;
  }

  #keepOne({ upstream, model }: CountedTarget, kept: Map<string, ProviderFigures>): void {
    const before = this.#providers.get(upstream.name);
    let figures = kept.get(upstream.name);
    if (figures === undefined) {
      figures = new ProviderFigures(before);
      kept.set(upstream.name, figures);
      const unnamed = before?.models.get(otherLabel);
      if (unnamed !== undefined) figures.models.set(otherLabel, unnamed);
    }
    figures.models.set(model, before?.models.get(model) ?? figures.models.get(model) ?? new ModelFigures());
  }

  /** An attempt is over. */
  ended(target: CountedTarget, outcome: AttemptOutcome, seconds: number): void {
    const attempts = this.#model(target)?.attempts;
    if (attempts !== undefined) attempts[places[outcome]] = (attempts[places[outcome]] ?? 0) + 1;
    if (outcome !== 'unreachable' && outcome !== 'cancelled') this.#provider(target)?.durations.observe(seconds);
  }

  /** An answer can be relayed. */
  begun(target: CountedTarget, seconds: number): void {
    this.#provider(target)?.firstBytes.observe(seconds);
  }

  /** Counts the tokens of an answer. */
  charged(target: CountedTarget, promptTokens: number, completionTokens: number): void {
    const figures = this.#model(target);
    if (figures === undefined) return;
    figures.promptTokens += promptTokens;
    figures.completionTokens += completionTokens;
  }

  /** Counts the cost of a call as its record says it; of a model without series of its own, for the others of its provider. */
  spent({ provider, model, nanoDollars }: SpentCall): void {
    const figures = this.#model({ upstream: { name: provider }, model, isPassed: true });
    if (figures !== undefined) figures.nanoDollars += nanoDollars;
  }

  #provider({ upstream }: CountedTarget): ProviderFigures | undefined {
    return this.#providers.get(providerLabel(upstream.name, this.#providers));
  }

  #model({ upstream, model, isPassed = false }: CountedTarget): ModelFigures | undefined {
    const models = this.#providers.get(upstream.name)?.models;
    const own = models?.get(model);
    if (own !== undefined) return own;
    if (isPassed && models !== undefined) {
      const others = models.get(otherLabel) ?? new ModelFigures();
      models.set(otherLabel, others);
      return others;
    }
    return this.#providers.get(removed.upstream.name)?.models.get(removed.model);
  }

  /** The samples of the five metrics. */
  async write(to: Exposition): Promise<void> {
    const { upstreamAttempts, upstreamDuration, upstreamFirstByte, tokens, cost } = proxyMetrics;
    to.metric(upstreamAttempts);
    for (const [provider, model, { attempts }] of this.#shown()) {
      for (const outcome of attemptOutcomes)
        to.sample(upstreamAttempts.name, { provider, model, outcome }, attempts[places[outcome]] ?? 0);
      await to.pause(attemptOutcomes.length);
    }
    to.metric(tokens);
    for (const [provider, model, { promptTokens, completionTokens }] of this.#shown()) {
      to.sample(tokens.name, { provider, model, type: 'prompt' }, promptTokens);
      to.sample(tokens.name, { provider, model, type: 'completion' }, completionTokens);
      await to.pause(2);
    }
    to.metric(cost);
    for (const [provider, model, { nanoDollars }] of this.#shown()) {
      to.sample(cost.name, { provider, model }, nanoDollars / 1e9);
      await to.pause();
    }
    to.metric(upstreamDuration);
    for (const [provider, { durations }] of this.#providers)
      await to.pause(durations.write(to, upstreamDuration.name, { provider }));
    to.metric(upstreamFirstByte);
    for (const [provider, { firstBytes }] of this.#providers)
      await to.pause(firstBytes.write(to, upstreamFirstByte.name, { provider }));
  }

  /** Provider, model and figures: of all models when there are few, else of those that were asked. */
  *#shown(): Generator<[provider: string, model: string, figures: ModelFigures], void> {
    let modelCount = 0;
    for (const { models } of this.#providers.values()) modelCount += models.size;
    const isAll = modelCount <= mostShownAtStart;
    for (const [provider, { models }] of this.#providers) {
      for (const [model, figures] of models) {
        const isRemoved = provider === removed.upstream.name && model === removed.model;
        if (figures.isAsked || (isAll && !isRemoved)) yield [provider, model, figures];
      }
    }
  }
}
