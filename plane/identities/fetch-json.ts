// Reads a JSON document of an issuer: bounded in size and time, and never from an address that is not allowed. The address that is checked is
// the one that is dialled, as for providers.
import { request as plainRequest } from 'node:http';
import { request as secureRequest } from 'node:https';
import { AddressRefused, allowedLookup, isSafeUrl, type Resolve, refuseHost } from './allowed-address.ts';

export interface FetchOptions {
  readonly allowPrivate: boolean;
  readonly timeoutMs: number;
  readonly mostBytes: number;
  readonly resolve?: Resolve | undefined;
  /** Gives the fetch up. */
  readonly closed: AbortSignal;
}

/** Why there is no document: a sentence without its end, for operators. */
export class FetchTrouble extends Error {}

/** The document at an address. Rejects with a FetchTrouble. Redirects are not followed. */
export function fetchJson(address: string, options: FetchOptions): Promise<unknown> {
  const { promise, resolve, reject } = Promise.withResolvers<unknown>();
  const url = URL.parse(address);
  if (url === null || !isSafeUrl(url)) return Promise.reject(new FetchTrouble('the address is not https'));
  try {
    refuseHost(url, options.allowPrivate);
  } catch (error) {
    return Promise.reject(new FetchTrouble((error as Error).message));
  }
  const lookup = allowedLookup(options.allowPrivate, options.resolve);
  const headers = { accept: 'application/json', 'accept-encoding': 'identity' };
  const signal = AbortSignal.any([options.closed, AbortSignal.timeout(options.timeoutMs)]);
  const begin = url.protocol === 'https:' ? secureRequest : plainRequest;
  const request = begin(url, { agent: false, headers, lookup, signal });
  request.on('response', (answer) => {
    const pieces: Buffer[] = [];
    let length = 0;
    if (answer.statusCode !== 200) request.destroy(new FetchTrouble(`the answer is ${answer.statusCode}, not 200`));
    answer.on('data', (piece: Buffer) => {
      length += piece.length;
      pieces.push(piece);
      if (length > options.mostBytes)
        request.destroy(new FetchTrouble(`the answer is longer than ${options.mostBytes} bytes`));
    });
    answer.on('end', () => {
      try {
        resolve(JSON.parse(Buffer.concat(pieces).toString('utf8')));
      } catch {
        reject(new FetchTrouble('the answer is not JSON'));
      }
    });
    answer.on('error', fail);
  });
  request.on('error', fail);
  request.end();
  return promise;

  function fail(error: NodeJS.ErrnoException): void {
    if (error instanceof FetchTrouble) reject(error);
    else if (error instanceof AddressRefused) reject(new FetchTrouble(error.message));
    else if (signal.aborted) reject(new FetchTrouble(`there is no whole answer within ${options.timeoutMs} ms`));
    else reject(new FetchTrouble(`it cannot be reached (${error.code ?? 'the connection broke'})`));
  }
}
