// The parts of undici that tests use, each from its own file, because loading the index would cost every test file 50 ms.
import fetching from 'undici/lib/web/fetch/index.js';

export type { RequestInit, Response } from 'undici';
export { default as Agent } from 'undici/lib/dispatcher/agent.js';
export { Pool, request } from '../../proxy/upstream/undici.ts';

export const { fetch } = fetching;
