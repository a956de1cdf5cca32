// A gateway that says how long the turns of its event loop take, and providers of every format that answer what a test wants.
import { request } from 'node:http';
import { join } from 'node:path';
import { createServer } from '../../plane/http.ts';
import { type Gateway, masterKey, startGateway } from './gateway.ts';
import { freePort, listen } from './ports.ts';
import type { Teardown } from './teardown.ts';
import { fetch } from './undici.ts';

/** What the providers answer. */
export interface Answered {
  readonly type: string;
  readonly body: Buffer;
}

export interface MeasuredGateway {
  readonly gateway: Gateway;
  /** Sends a request and reads its answer; gives the status, and the longest turn that the gateway took meanwhile. */
  measure(sent: Sent, answered: Answered): Promise<Measured>;
  /** The same of the quickest of a few tries, as soon as one is quick enough. */
  quickest(sent: Sent, answered: Answered): Promise<Measured>;
}

export interface Measured {
  readonly status: number;
  readonly longestMs: number;
}

/** What a turn may take: of processor time, on a machine of usual speed. Milliseconds. */
export const mostMs = 50;
/** What is not yet compiled, and the collection of garbage, may hold up one try. */
const tries = 8;

export interface Sent {
  readonly path: string;
  readonly body: string | Buffer;
  readonly type?: string;
  /** The key of the caller; absent: the master key. */
  readonly secret?: string;
}

/** What `calibrate` of block-meter.ts takes where a turn may take 50 ms: a slower machine gets more. Milliseconds. */
const usualCalibrationMs = 8;

/** `config`: besides the providers chat, responses, anthropic, gemini and bedrock, each with the models m and claude-3-5-sonnet. */
export async function startMeasuredGateway(t: Teardown, config: object): Promise<MeasuredGateway> {
  let answer: Answered = { type: 'application/json', body: Buffer.from('{}') };
  const provider = createServer((asked, response) => {
    asked.resume().on('end', () => response.writeHead(200, { 'content-type': answer.type }).end(answer.body));
  });
  const base = `http://127.0.0.1:${await listen(provider)}`;
  t.teardown(() => {
    provider.closeAllConnections();
    provider.close();
  });
  const meter = await freePort();
  const usual = { models: ['m', 'claude-3-5-sonnet'], circuit_breaker: false, learn_limits: false, api_key: 'key' };
  const aws = 'AKIDEXAMPLE012345678:secret-of-aws:token-of-aws';
  const gateway = await startGateway(t, {
    config: {
      providers: {
        chat: { ...usual, type: 'openai', base_url: `${base}/v1`, dialects: ['chat', 'completions', 'embeddings'] },
        responses: { ...usual, type: 'openai', base_url: `${base}/v1`, dialects: ['responses'] },
        anthropic: { ...usual, type: 'anthropic', base_url: base },
        gemini: { ...usual, type: 'gemini', base_url: base, dialects: ['gemini'] },
        bedrock: { ...usual, type: 'bedrock', base_url: base, api_key: aws },
      },
      ...config,
    },
    execArgv: ['--import', join(import.meta.dirname, 'block-meter.ts')],
    env: { BLOCK_METER_PORT: String(meter), NODE_V8_COVERAGE: undefined },
  });
  const look = async (): Promise<{ longestMs: number; calibrationMs: number }> =>
    (await fetch(`http://127.0.0.1:${meter}/`)).json() as Promise<{ longestMs: number; calibrationMs: number }>;
  const measure = async (sent: Sent, answered: Answered): Promise<Measured> => {
    answer = answered;
    const before = await look();
    const status = await send(gateway.port, sent);
    const after = await look();
    const slowdown = Math.max(usualCalibrationMs, before.calibrationMs, after.calibrationMs) / usualCalibrationMs;
    return { status, longestMs: after.longestMs / slowdown };
  };
  return {
    gateway,
    measure,
    async quickest(sent, answered) {
      let best = await measure(sent, answered);
      for (let count = 1; count < tries && best.longestMs >= mostMs; count += 1) {
        const tried = await measure(sent, answered);
        if (tried.longestMs < best.longestMs) best = tried;
      }
      return best;
    },
  };
}

/** The status of the answer, which is read to its end; 0 for none. */
function send(port: number, { path, body, type = 'application/json', secret = masterKey }: Sent): Promise<number> {
  const headers = {
    authorization: `Bearer ${secret}`,
    'content-type': type,
    'content-length': Buffer.byteLength(body),
  };
  return new Promise((done) => {
    const asking = request({ port, host: '127.0.0.1', path, method: 'POST', headers }, (answer) => {
      answer.resume();
      answer.on('close', () => done(answer.statusCode ?? 0));
    });
    asking.on('error', () => done(0));
    asking.end(body);
  });
}
