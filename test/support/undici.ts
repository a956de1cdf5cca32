// The parts of undici that tests use, each from its own file, because loading the index would cost every test file 50 ms.
import type * as undici from 'undici';
import PoolAlone from 'undici/lib/dispatcher/pool.js';
import fetching from 'undici/lib/web/fetch/index.js';

export type { RequestInit, Response } from 'undici';
export { default as Agent } from 'undici/lib/dispatcher/agent.js';
export { request } from '../../proxy/upstream/undici.ts';

/** A pool without the methods that undici adds in its index. */
export type Pool = Omit<undici.Pool, 'connect' | 'pipeline' | 'request' | 'stream' | 'upgrade'>;
export const Pool: new (...given: ConstructorParameters<typeof undici.Pool>) => Pool = PoolAlone;

export const { fetch } = fetching;
