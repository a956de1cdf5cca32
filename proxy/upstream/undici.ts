// The parts of undici that the proxy uses, each from its own file: its index also loads fetch, WebSocket, caches and mocks, 90 files that
// take 50 ms of each start.
import type * as undici from 'undici';
import send from 'undici/lib/api/api-request.js';

export { default as errors } from 'undici/lib/core/errors.js';
export { default as Pool } from 'undici/lib/dispatcher/pool.js';

/** `pool.request(options)`: undici adds this method in its index. */
export function request(
  pool: undici.Pool,
  options: undici.Dispatcher.RequestOptions,
): Promise<undici.Dispatcher.ResponseData> {
  return send.call(pool, options);
}
