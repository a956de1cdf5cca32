// The parts of undici that the proxy uses, each from its own file: its index also loads fetch, WebSocket, caches and mocks, 90 files that
// take 50 ms of each start.
import type * as undici from 'undici';
import send from 'undici/lib/api/api-request.js';
import build from 'undici/lib/core/connect.js';
import PoolAlone from 'undici/lib/dispatcher/pool.js';

export { default as errors } from 'undici/lib/core/errors.js';

/** A pool without the methods that undici adds in its index. */
export type Pool = Omit<undici.Pool, 'connect' | 'pipeline' | 'request' | 'stream' | 'upgrade'>;
export const Pool: new (...given: ConstructorParameters<typeof undici.Pool>) => Pool = PoolAlone;

/** Opens a connection of a pool. */
export type Connector = undici.buildConnector.connector;
export const buildConnector: typeof undici.buildConnector = build;

/** What `pool.request(options)` is in undici's index. */
export function request(
  pool: Pool,
  options: undici.Dispatcher.RequestOptions,
): Promise<undici.Dispatcher.ResponseData> {
  return send.call(pool, options);
}
