// How many requests ended how, and how long model requests took: plain numbers, found without making a text of the labels, because every
// request counts.
import { proxyMetrics } from '../../schemas/metrics/proxy-metrics.ts';
import type { Exposition } from './exposition.ts';
import { PlainHistogram } from './plain-histogram.ts';
import { otherLabel, providerLabel } from './provider-label.ts';

/** The kinds of requests: model calls, those for the control plane, all others, and those refused before they were any of these. */
export type TripName = 'model' | 'admin' | 'other' | 'none';

/** A model request that is over. */
export interface EndedRequest {
  readonly endpoint: string;
  /** Empty when none was asked. */
  readonly provider: string;
  /** The client asked for a stream. */
  readonly stream: boolean;
  /** 499 stands for a client that left. */
  readonly status: number;
  readonly seconds: number;
}

/** Failures of model requests, which are shown at 0 from the start, so that `increase()` sees the first ones. */
const failures = [500, 502, 503, 504];

/** How often each status came. */
class StatusCounts {
  readonly counts: Map<number, number>;

  constructor(shown: readonly number[] = []) {
    this.counts = new Map(shown.map((status) => [status, 0]));
  }

  add(status: number): void {
    this.counts.set(status, (this.counts.get(status) ?? 0) + 1);
  }
}

/** The requests of one endpoint that one provider answered. */
class ProviderRequests extends StatusCounts {
  readonly whole = new PlainHistogram(proxyMetrics.duration.buckets);
  readonly streamed = new PlainHistogram(proxyMetrics.duration.buckets);
}

/** Nothing is counted at first. */
export class RequestTally {
  /** By endpoint, then provider. */
  readonly #model = new Map<string, Map<string, ProviderRequests>>();
  readonly #trips = new Map<TripName, StatusCounts>([['model', new StatusCounts(failures)]]);
  #providers: ReadonlySet<string> = new Set();
  /** Model requests that are being served. */
  inFlight = 0;

  /** Only these providers have series of their own from now on; those of others are forgotten. */
  keep(providers: ReadonlySet<string>): void {
    this.#providers = providers;
    for (const byProvider of this.#model.values()) {
      for (const name of byProvider.keys()) {
        if (name !== '' && name !== otherLabel && !providers.has(name)) byProvider.delete(name);
      }
    }
  }

  /** A model request began. */
  begin(): void {
    this.inFlight += 1;
  }

  /** It ended. */
  end({ endpoint, provider, stream, status, seconds }: EndedRequest): void {
    this.inFlight -= 1;
    let byProvider = this.#model.get(endpoint);
    if (byProvider === undefined) {
      byProvider = new Map();
      this.#model.set(endpoint, byProvider);
    }
    const label = provider === '' ? '' : providerLabel(provider, this.#providers);
    let requests = byProvider.get(label);
    if (requests === undefined) {
      requests = new ProviderRequests();
      byProvider.set(label, requests);
    }
    requests.add(status);
    (stream ? requests.streamed : requests.whole).observe(seconds);
    this.#add('model', status);
  }

  /** Any other request ended. */
  answered(trip: Exclude<TripName, 'model'>, status: number): void {
    this.#add(trip, status);
  }

  #add(name: TripName, status: number): void {
    let statuses = this.#trips.get(name);
    if (statuses === undefined) {
      statuses = new StatusCounts();
      this.#trips.set(name, statuses);
    }
    statuses.add(status);
  }

  /** The samples of the four metrics. */
  async write(to: Exposition): Promise<void> {
    const { requests, httpRequests, duration, inFlight } = proxyMetrics;
    to.metric(inFlight);
    to.sample(inFlight.name, {}, this.inFlight);
    to.metric(requests);
    for (const [endpoint, byProvider] of this.#model) {
      for (const [provider, { counts }] of byProvider) {
        for (const [status, count] of counts)
          to.sample(requests.name, { endpoint, provider, status: `${status}` }, count);
        await to.pause(counts.size);
      }
    }
    to.metric(httpRequests);
    for (const [trip, { counts }] of this.#trips) {
      for (const [status, count] of counts) to.sample(httpRequests.name, { trip, status: `${status}` }, count);
    }
    to.metric(duration);
    for (const [endpoint, byProvider] of this.#model) {
      for (const [provider, { whole, streamed }] of byProvider) {
        const written = whole.write(to, duration.name, { endpoint, provider, stream: 'false' });
        await to.pause(written + streamed.write(to, duration.name, { endpoint, provider, stream: 'true' }));
      }
    }
  }
}
