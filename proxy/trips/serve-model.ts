// Begins the trip of a request of a model endpoint: from here on it goes along the line.

import type { ModelEndpoint } from '../endpoints/model-endpoints.ts';
import type { Gateway } from '../gateway.ts';
import type { Exchange } from '../http/exchange.ts';
import { OpenTrip } from './model-trip.ts';
import { line } from './pipeline.ts';

/** Serves one request of a model endpoint, whatever happens. */
export function serve(endpoint: ModelEndpoint, exchange: Exchange, gateway: Gateway): void {
  gateway.metrics.requests.begin();
  new OpenTrip(endpoint, exchange, gateway, line).step(line.head, undefined);
}
