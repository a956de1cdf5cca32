// The parts of undici that the proxy uses, each from its own file: its index also loads fetch, WebSocket, caches and mocks, 90 files that
// take 50 ms of each start.
import type * as undici from 'undici';
import tunnel from 'undici/lib/api/api-connect.js';
import send from 'undici/lib/api/api-request.js';
import build from 'undici/lib/core/connect.js';
import ClientAlone from 'undici/lib/dispatcher/client.js';

export { default as errors } from 'undici/lib/core/errors.js';

/** A client, one connection, without the methods that undici adds in its index. */
export type Client = Omit<undici.Client, 'connect' | 'pipeline' | 'request' | 'stream' | 'upgrade'>;
export const Client: new (...given: ConstructorParameters<typeof undici.Client>) => Client = ClientAlone;

/** Opens the connection of a client. */
export type Connector = undici.buildConnector.connector;
export const buildConnector: typeof undici.buildConnector = build;

/** `pool.request(options)` of undici's index, without loading the index. Rejects with the errors of undici. */
export function request(
  pool: Pick<undici.Pool, 'dispatch'>,
  options: undici.Dispatcher.RequestOptions,
): Promise<undici.Dispatcher.ResponseData> {
  return send.call(pool, options);
}

/** `client.connect(options, callback)` of undici's index: sends CONNECT and returns the socket of the tunnel. */
export function requestTunnel(
  client: Client,
  options: undici.Dispatcher.ConnectOptions,
  callback: (error: Error | null, answer: undici.Dispatcher.ConnectData) => void,
): void {
  tunnel.call(client, options, callback);
}
