// The order of refusals is the same at every door: each fault alone, and each pair of faults at once, at a door of each kind of trips.
import { type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { t as suite, test } from 'tap';
import { startFakeUpstream } from '../../support/fake-upstream.ts';
import { startFleet } from '../../support/fleet.ts';
import { masterKey, startGateway } from '../../support/gateway.ts';
import { freePort } from '../../support/ports.ts';
import { waitFor } from '../../support/wait-for.ts';

suite.setTimeout(120_000);
/** In the order in which they are refused. */
const order = ['head', 'credentials', 'budget', 'allowance', 'body', 'name', 'guard', 'targets'] as const;
type Fault = (typeof order)[number];

interface Door {
  readonly method: string;
  readonly path: (faults: ReadonlySet<Fault>) => string;
  readonly headers: (faults: ReadonlySet<Fault>) => Record<string, string>;
  /** Absent: it has none. */
  readonly body?: (model: string, isBlocked: boolean) => object;
  /** What each fault alone is answered with, where doors differ. */
  readonly told: Partial<Record<Fault, string>>;
}

/** A name that is unknown leads nowhere, and no further. */
const modelOf = (faults: ReadonlySet<Fault>, own: string): string =>
  faults.has('name') ? 'nothing' : faults.has('targets') ? `down/${own}` : own;
const declared = (faults: ReadonlySet<Fault>): Record<string, string> => ({
  'content-type': 'application/json',
  ...(faults.has('head') ? { 'content-length': '99999999' } : {}),
});
/** Guardrails cannot look at what is said there. */
const closed = '403 guardrails_prevent_endpoint';
const doors: Readonly<Record<string, Door>> = {
  'a call of a model': {
    method: 'POST',
    path: () => '/v1/chat/completions',
    headers: declared,
    body: (model, isBlocked) => ({ model, messages: [{ role: 'user', content: isBlocked ? 'forbidden' : 'hi' }] }),
    told: {},
  },
  'an opaque call': {
    method: 'POST',
    path: () => '/v1/moderations',
    headers: declared,
    body: (model, isBlocked) => ({ model, input: isBlocked ? 'forbidden' : 'hi' }),
    told: {},
  },
  signalling: {
    method: 'POST',
    path: () => '/v1/realtime/client_secrets',
    headers: declared,
    body: (model) => ({ session: { type: 'realtime', model } }),
    told: { guard: closed },
  },
  'a session': {
    method: 'GET',
    path: (faults) => `/v1/realtime?model=${modelOf(faults, 'm')}${faults.has('body') ? '&call_id=a' : ''}`,
    headers: (faults) => ({
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': faults.has('head') ? 'short' : Buffer.alloc(16).toString('base64'),
    }),
    told: { head: '400 invalid_upgrade', guard: closed, body: '400 invalid_parameter' },
  },
};
const usual: Record<Fault, string> = {
  head: '413 body_too_large',
  credentials: '401 invalid_api_key',
  budget: '429 budget_exceeded',
  allowance: '429 rate_limit_exceeded',
  body: '400 invalid_json',
  name: '404 model_not_found',
  guard: '400 guardrail_blocked',
  targets: '502 upstream_unavailable',
};

/** Faults that stand in the user path: budgets, rules and guardrails hold for these. */
const inPath = ['budget', 'allowance', 'guard'] as const;
const pathOf = (faults: ReadonlySet<Fault>): string =>
  `/${inPath.filter((fault) => faults.has(fault)).join('-') || 'fine'}`;
const pathsWith = (wanted: Fault): string[] =>
  inPath.flatMap((one) => inPath.map((other) => pathOf(new Set([one, other])))).filter((path) => path.includes(wanted));
const unique = (paths: readonly string[]): string[] => [...new Set(paths)];

const upstream = await startFakeUpstream(suite);
const models = [{ id: 'm', pricing: { input_per_mtok: 0, output_per_mtok: 0, per_request: 0.5 } }];
const dialects = ['chat', 'moderations', 'realtime'];
const config = {
  providers: {
    fake: { type: 'openai', base_url: upstream.url, models, dialects },
    down: { type: 'openai', base_url: `http://127.0.0.1:${await freePort()}/v1`, models, dialects },
  },
  budgets: {
    user_paths: unique(pathsWith('budget')).map((path) => ({ path, limits: [{ period: 'monthly', amount: 0.5 }] })),
  },
  rate_limits: {
    user_paths: unique(pathsWith('allowance')).map((path) => ({ path, limits: [{ period: 'day', max_requests: 1 }] })),
  },
  guardrails: [
    { name: 'words', user_paths: unique(pathsWith('guard')), keywords: { words: ['forbidden'], action: 'block' } },
  ],
};
const fleet = await startFleet(suite, { store: 'sqlite', proxies: 1, config });
const [proxy] = fleet.proxies;
if (proxy === undefined) throw new Error('there is no proxy');

function ask(port: number, door: Door, faults: ReadonlySet<Fault>): Promise<string> {
  const own = door.body?.(modelOf(faults, 'm'), faults.has('guard'));
  const text = own === undefined ? '' : faults.has('body') ? '{"model":' : JSON.stringify(own);
  const headers = {
    authorization: `Bearer ${faults.has('credentials') ? 'sk-wrong' : masterKey}`,
    'x-gateway-user-path': pathOf(faults),
    ...door.headers(faults),
  };
  return new Promise((resolve, reject) => {
    const asking = request({ port, host: '127.0.0.1', method: door.method, path: door.path(faults), headers });
    const read = (answer: IncomingMessage): void => {
      let body = '';
      answer.on('data', (piece: Buffer) => {
        body += piece.toString();
      });
      answer.on('end', () => {
        asking.destroy();
        const { error } = JSON.parse(body) as { error?: { code: string } };
        resolve(`${answer.statusCode} ${error?.code ?? 'ok'}`);
      });
    };
    asking.on('response', read).on('error', reject);
    asking.on('upgrade', (_answer, socket) => {
      socket.destroy();
      resolve('101 ok');
    });
    // Of a body that is refused by its length nothing is sent.
    if (faults.has('head') && own !== undefined) asking.flushHeaders();
    else asking.end(text);
  });
}

const chat = doors['a call of a model'] as Door;
for (const path of unique([...pathsWith('budget'), ...pathsWith('allowance')])) {
  const sent = await proxy.fetch('/v1/chat/completions', {
    method: 'POST',
    headers: { 'x-gateway-user-path': path },
    body: chat.body?.('m', false) as object,
  });
  if (sent.status !== 200) throw new Error(`${path} ${await sent.text()}`);
  await sent.text();
}
for (const path of unique(pathsWith('budget')))
  await waitFor(`the budget of ${path} to be spent`, async () => {
    const answer = await proxy.fetch(`/admin/explain?model=m&user_path=${path}`);
    return ((await answer.json()) as { budgets: object[] }).budgets.length > 0;
  });

const full = await startGateway(suite, {
  config,
  execArgv: ['--max-old-space-size=256', '--import', join(import.meta.dirname, '../../support/fill-memory.ts')],
});
full.process.signal('SIGUSR2');
await waitFor('memory to be full', async () => (await ask(full.port, chat, new Set())) === '503 overloaded');

for (const [name, door] of Object.entries(doors)) {
  const told = { ...usual, ...door.told };
  await test(`${name}: each fault alone`, async (t) => {
    for (const fault of order) t.equal(await ask(proxy.port, door, new Set([fault])), told[fault], fault);
  });
  await test(`${name}: of two faults the first in the order`, async (t) => {
    for (const [place, first] of order.entries())
      for (const second of order.slice(place + 1)) {
        t.equal(await ask(proxy.port, door, new Set([first, second])), told[first], `${first}, ${second}`);
      }
  });
  await test(`${name}: while memory is nearly full nothing else is looked at`, async (t) => {
    for (const fault of order) t.equal(await ask(full.port, door, new Set([fault])), '503 overloaded', fault);
  });
}
