// A gateway that says how long the turns of its event loop take, and providers of every format that answer what a test wants.
import { request } from 'node:http';
import { createServer } from '../../plane/http.ts';
import { type Gateway, masterKey, startGateway } from './gateway.ts';
import { listen } from './ports.ts';
import type { Teardown } from './teardown.ts';
import { createMeter, type Measured, quickestOf } from './turn-meter.ts';

export { type Measured, mostMs } from './turn-meter.ts';

/** The answer of the providers. */
export interface Answered {
  readonly type: string;
  readonly body: Buffer;
  /** How the body is packed; absent: it is not. */
  readonly encoding?: string;
}

export interface MeasuredGateway {
  readonly gateway: Gateway;
  /** Sends a request and reads its answer; gives the status, and the longest turn that the gateway took meanwhile. */
  measure(sent: Sent, answered: Answered): Promise<Measured>;
  /** `measure` for the quickest of a few tries, as soon as one is quick enough. */
  quickest(sent: Sent, answered: Answered): Promise<Measured>;
}

export interface Sent {
  readonly path: string;
  /** Default: POST. */
  readonly method?: string;
  readonly body: string | Buffer;
  readonly type?: string;
  /** The key of the caller; absent: the master key. */
  readonly secret?: string;
  /** More of them, or others. */
  readonly headers?: Readonly<Record<string, string>>;
}

const spoken = ['chat', 'completions', 'embeddings', 'audio', 'images', 'moderations', 'rerank'];

/** `config`: besides the providers chat, responses, anthropic, gemini and bedrock, each with the models m and claude-3-5-sonnet. */
export async function startMeasuredGateway(t: Teardown, config: object): Promise<MeasuredGateway> {
  let answer: Answered = { type: 'application/json', body: Buffer.from('{}') };
  const provider = createServer((asked, response) => {
    const { type, body, encoding } = answer;
    const headers = { 'content-type': type, ...(encoding === undefined ? {} : { 'content-encoding': encoding }) };
    asked.resume().on('end', () => response.writeHead(200, headers).end(body));
  });
  const base = `http://127.0.0.1:${await listen(provider)}`;
  t.teardown(() => {
    provider.closeAllConnections();
    provider.close();
  });
  const meter = await createMeter();
  const usual = { models: ['m', 'claude-3-5-sonnet'], circuit_breaker: false, learn_limits: false, api_key: 'key' };
  const aws = 'AKIDEXAMPLE012345678:secret-of-aws:token-of-aws';
  const gateway = await startGateway(t, {
    config: {
      providers: {
        chat: { ...usual, type: 'openai', base_url: `${base}/v1`, dialects: spoken },
        responses: { ...usual, type: 'openai', base_url: `${base}/v1`, dialects: ['responses'] },
        anthropic: { ...usual, type: 'anthropic', base_url: base },
        gemini: { ...usual, type: 'gemini', base_url: base, dialects: ['gemini'] },
        bedrock: { ...usual, type: 'bedrock', base_url: base, api_key: aws },
      },
      ...config,
    },
    execArgv: meter.execArgv,
    env: meter.env,
  });
  const measure = (sent: Sent, answered: Answered): Promise<Measured> => {
    answer = answered;
    return meter.during(() => send(gateway.port, sent));
  };
  return { gateway, measure, quickest: (sent, answered) => quickestOf(() => measure(sent, answered)) };
}

/** The status of the answer, which is read to its end; 0 for none. */
export function send(
  port: number,
  { path, method = 'POST', body, type = 'application/json', secret = masterKey, headers: more }: Sent,
): Promise<number> {
  const headers = {
    authorization: `Bearer ${secret}`,
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    ...more,
  };
  return new Promise((done) => {
    const asking = request({ port, host: '127.0.0.1', path, method, headers }, (answer) => {
      answer.resume();
      answer.on('close', () => done(answer.statusCode ?? 0));
    });
    asking.on('error', () => done(0));
    asking.end(body);
  });
}
