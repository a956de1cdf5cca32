// Starts a control plane with the routes of rate limits alone, on a real socket and a real store; every answer is held against its schema.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { liveCounters } from '../../control-plane/admin/rate-limits/fleet-counters.ts';
import { type RateLimitParts, rateLimitResource } from '../../control-plane/admin/rate-limits/resource.ts';
import { dateRules } from '../../control-plane/managed/declared-dates.ts';
import { managedRoutes } from '../../control-plane/managed/routes.ts';
import { createServer } from '../../control-plane/server.ts';
import { credentialsOf } from '../../domain/keys/credentials.ts';
import { digestOf } from '../../domain/keys/secret.ts';
import { compileRules } from '../../domain/rules/rule.ts';
import { defaultConfig } from '../../gitops/read/validate.ts';
import { createFailedLogins } from '../../plane/access/failed-logins.ts';
import { parseMoment } from '../../schemas/formats/moment.ts';
import type { LiveCounter } from '../../store/state/heartbeat-body.ts';
import { openStateStore } from '../../store/state/open.ts';
import { sampleHeartbeat, sampleKey } from '../support/managed-state.ts';
import { countedAlone, rulePrerequisites } from '../support/rule-prerequisites.ts';
import { type Teardown, temporaryDirectory } from '../support/teardown.ts';

export const start = Date.UTC(2026, 5, 1);

export const config = compileRules({
  enabled: true,
  user_paths: [
    {
      path: '/config',
      per_child: false,
      limits: [{ period: 'minute', max_requests: 10, mode: 'enforce', name: 'declared' }],
    },
    { path: '/children', per_child: true, limits: [{ period: 'minute', max_tokens: 10, mode: 'shadow' }] },
  ],
  providers: [{ name: 'OpenAI', limits: [{ period: 'concurrent', max_requests: 5, mode: 'enforce' }] }],
  models: [],
});

function validator(name: string): (body: unknown) => string {
  const file = join(import.meta.dirname, `../../schemas/admin/${name}.schema.json`);
  const isMoment = (text: string): boolean => parseMoment(text) !== undefined && text.endsWith('Z');
  const ajv = new Ajv2020({ strict: false, formats: { 'date-time': isMoment } });
  const validate = ajv.compile(JSON.parse(readFileSync(file, 'utf8')));
  return (body) => (validate(body) ? '' : ajv.errorsText(validate.errors));
}

const listingProblems = validator('rate-limits');
const errorProblems = validator('admin-error');

export interface Item {
  readonly [name: string]: unknown;
}

export interface Answer {
  readonly status: number;
  readonly etag: string | null;
  readonly retryAfter: string | null;
  readonly body: { readonly [name: string]: unknown };
  readonly items: readonly Item[];
  /** Until the answer had been read. */
  readonly tookMs: number;
}

interface Options {
  readonly directory?: string;
  readonly parts?: Partial<RateLimitParts>;
  readonly timeoutMs?: number;
}

/** Managed keys; the secret is the id. */
const keys: [id: string, userPath: string | undefined, isOperator: boolean][] = [
  ['key-9', undefined, true],
  ['key-team', '/team', true],
  ['key-client', '/team', false],
];

/** A separate control plane: server, connection to the store, clock. */
export async function startPlane(
  t: Teardown & { fail(message: string): unknown },
  { directory = temporaryDirectory(t), parts = {}, timeoutMs = 5_000 }: Options = {},
) {
  const at = { nowMs: start };
  const store = openStateStore({ directory, pollMs: 20, timeoutMs });
  const logged: unknown[] = [];
  const written: object[] = [];
  const logger = {
    error: (...said: unknown[]) => void logged.push(said),
    info: (line: object) => void written.push(line),
  };
  const credentials = credentialsOf(
    digestOf('master'),
    keys.map(([id, userPath, isOperator]) =>
      sampleKey(id, { id, name: id, userPath, role: isOperator ? 'admin' : undefined }),
    ),
  );
  const app = createServer({
    logger,
    metrics: { contentType: 'text/plain', text: async () => '' },
    access: {
      credentials: () => credentials,
      failedLogins: createFailedLogins(),
      masterKey: 'master',
      nowMs: () => at.nowMs,
    },
    readiness: () => ({ status: 'ready', reasons: [] }),
  });
  void app.register(managedRoutes(rateLimitResource), {
    parts: {
      store,
      quotas: () => defaultConfig().admin,
      configRules: () => ({
        rules: config,
        declared: dateRules(new Map(), config, start - 5_000),
        places: new Map([['user_path 60 /config', 'limits.yaml:7']]),
      }),
      live: async () => liveCounters(await store.heartbeats(), at.nowMs),
      prerequisites: () => rulePrerequisites(),
      limits: countedAlone,
      nowMs: () => at.nowMs,
      ...parts,
    },
  });
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(async () => {
    await app.close();
    await store.close();
  });

  async function ask(method: string, path: string, body?: unknown, headers: object = {}): Promise<Answer> {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const beganMs = performance.now();
    const response = await fetch(`${address}/admin/rate-limits${path}`, {
      method,
      headers: { authorization: 'Bearer master', ...type, ...headers },
      ...sent,
    });
    const answer = (await response.json()) as Answer['body'];
    const tookMs = performance.now() - beganMs;
    const items = (answer['rate_limits'] ?? []) as Item[];
    const problems = response.ok ? (path === '/reset' ? '' : listingProblems(answer)) : errorProblems(answer);
    if (problems !== '') t.fail(`${method} ${path} ${response.status}: ${problems}`);
    if (!response.ok && answer['status_code'] !== response.status)
      t.fail(`${response.status}: ${JSON.stringify(answer)}`);
    return {
      status: response.status,
      etag: response.headers.get('etag'),
      retryAfter: response.headers.get('retry-after'),
      body: answer,
      items,
      tookMs,
    };
  }

  return {
    at,
    store,
    directory,
    logged,
    written,
    list: (headers?: object, query = '') => ask('GET', query, undefined, headers),
    put: (body: unknown, headers?: object) => ask('PUT', '', body, headers),
    remove: (body: unknown, headers?: object) => ask('DELETE', '', body, headers),
    resetOne: (body: unknown, headers?: object) => ask('POST', '/reset-one', body, headers),
    reset: (body: unknown, headers?: object) => ask('POST', '/reset', body, headers),
  };
}

export const as = (secret: string) => ({ authorization: `Bearer ${secret}` });
export const minute = { limit_key: { period: 'minute' } };
export const team = { user_path: '/team', ...minute };
export const teamRule = { ...team, max_requests: 5 };
export const find = ({ items }: Answer, subject: string): Item | undefined =>
  items.find((item) => item['subject'] === subject);

export async function beat(
  plane: Awaited<ReturnType<typeof startPlane>>,
  counters: readonly LiveCounter[],
): Promise<void> {
  await plane.store.writeHeartbeat({ instance: 'proxy-1', atMs: plane.at.nowMs, body: sampleHeartbeat({ counters }) });
}
