// A control plane with the routes of audit, usage and live entries, over a record store that a test fills.
import { auditRoutes } from '../../control-plane/admin/audit/routes.ts';
import { liveRoutes } from '../../control-plane/admin/live/routes.ts';
import { mirrorRoutes } from '../../control-plane/admin/mirrors/routes.ts';
import type { AroundParts } from '../../control-plane/admin/traffic/around.ts';
import { trafficRoutes } from '../../control-plane/admin/traffic/routes.ts';
import { usageRoutes } from '../../control-plane/admin/usage/routes.ts';
import { createServer } from '../../control-plane/server.ts';
import { type Credentials, credentialsOf } from '../../domain/keys/credentials.ts';
import { digestOf } from '../../domain/keys/secret.ts';
import type { AttemptRecord, RequestRecord } from '../../domain/records/request-record.ts';
import { createFailedLogins } from '../../plane/access/failed-logins.ts';
import { openRecordStore } from '../../store/records/open-records.ts';
import { componentProblems } from '../support/api-description.ts';
import { sampleKey } from '../support/managed-state.ts';
import { recordObjects } from '../support/record-objects.ts';
import { type Teardown, temporaryDirectory } from '../support/teardown.ts';

export const start = Date.parse('2026-03-15T12:00:00Z');
export const dayMs = 86_400_000;

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Record<string, unknown>;
}

export interface RecordsPlaneOptions {
  /** False: neither the audit log nor usage tracking is on. */
  readonly isRecording?: boolean;
  readonly heartbeatMs?: number;
  /** Default `master`. */
  readonly masterKey?: string;
}

/** The component of the API description that a path answers with. */
const components: Readonly<Record<string, string>> = {
  '/audit/sessions': 'AuditSessions',
  '/audit/log': 'AuditLog',
  '/audit/detail': 'AuditEntry',
  '/audit/conversation': 'AuditConversation',
  '/audit/stats': 'AuditStats',
  '/usage/summary': 'UsageSummary',
  '/usage/daily': 'UsageDaily',
  '/usage/models': 'UsageModels',
  '/usage/user-paths': 'UsageUserPaths',
  '/usage/keys': 'UsageKeys',
  '/usage/labels': 'UsageLabels',
  '/usage/sessions': 'UsageSessions',
  '/usage/log': 'UsageLog',
  '/mirrors': 'Mirrors',
};

export type RecordsPlane = Awaited<ReturnType<typeof startRecordsPlane>>;

/** Keys besides the master key (`master`): `team` opens the admin API for /team, `plain` does not open it. */
export async function startRecordsPlane(
  t: Teardown,
  { isRecording = true, heartbeatMs, masterKey = 'master' }: RecordsPlaneOptions = {},
) {
  const directory = temporaryDirectory(t, 'gateway-records');
  const records = openRecordStore({ directory, timeoutMs: 5_000 });
  const at = { nowMs: start };
  const team = sampleKey('team', { id: 'team', userPath: '/team', role: 'admin' });
  let credentials: Credentials = credentialsOf(digestOf(masterKey), [team, sampleKey('plain', { id: 'plain' })]);
  const troubles: string[] = [];
  const access = {
    credentials: () => credentials,
    failedLogins: createFailedLogins(),
    masterKey,
    nowMs: () => at.nowMs,
  };
  const app = createServer({
    logger: { error: (...said: unknown[]) => process.stderr.write(`${JSON.stringify(said)}\n`), info: () => undefined },
    metrics: { contentType: 'text/plain', text: async () => '' },
    access,
    readiness: () => ({ status: 'ready', reasons: [] }),
  });
  const around: AroundParts = { documents: async () => [], rules: () => [], budgetsAt: () => [] };
  const parts = {
    records: () => (isRecording ? records : undefined),
    nowMs: () => at.nowMs,
    access,
    report: ({ message }: Error) => void troubles.push(message),
    pollMs: 20,
    ...(heartbeatMs === undefined ? {} : { heartbeatMs }),
  };
  await app.register(auditRoutes, { parts });
  await app.register(usageRoutes, { parts });
  await app.register(mirrorRoutes, { parts });
  await app.register(trafficRoutes, { parts: { ...parts, sample: () => 1, around } });
  await app.register(liveRoutes, { parts });
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  t.teardown(async () => {
    await app.close();
    await records.close();
  });

  /** A GET below /admin; what is answered is what is described. */
  async function ask(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
    const response = await fetch(`${address}/admin${path}`, {
      method,
      headers: { authorization: `Bearer ${masterKey}`, ...headers },
      // A stream that was to be refused would never end.
      signal: AbortSignal.timeout(30_000),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true && text !== '';
    const body = (isJson ? JSON.parse(text) : {}) as Answer['body'];
    const component = response.ok ? components[path.replace(/\?.*/s, '')] : 'AdminError';
    const problems = isJson && component !== undefined ? componentProblems(component, body) : [];
    if (problems.length > 0) throw new Error(`GET ${path}: ${problems.join('; ')}`);
    return { status: response.status, headers: response.headers, text, body };
  }

  return {
    address,
    app,
    around,
    at,
    directory,
    engine: records,
    troubles,
    ask,
    async add(added: readonly RequestRecord[]): Promise<void> {
      await recordObjects(records).add(added);
    },
    revoke(): void {
      credentials = credentialsOf(digestOf(masterKey), []);
    },
    /** Puts other keys and ended sessions in force. */
    renew(changed: Credentials): void {
      credentials = changed;
    },
  };
}

export const asTeam = { authorization: 'Bearer team' };

let drawn = 0;

/** A record that went well at noon; its id is of version 7, and rises. */
export function record(more: Partial<RequestRecord> = {}, ofAttempt: Partial<AttemptRecord> = {}): RequestRecord {
  drawn += 1;
  const { started_ms = start, requested_model = 'gpt-4o', provider_name = 'openai', provider = 'openai' } = more;
  const number = String(drawn).padStart(12, '0');
  return {
    id: `01960c5e-7a31-7c4e-9d52-${number}`,
    request_id: `req_${number}`,
    started_ms,
    duration_ns: 2e9,
    method: 'POST',
    path: '/v1/chat/completions',
    status_code: 200,
    stream: false,
    requested_model,
    resolved_model: `${provider_name}/${requested_model}`,
    provider,
    provider_name,
    user_path: '/team',
    auth_method: 'api_key',
    client_ip: '10.1.2.3',
    alias_used: false,
    data: { user_agent: 'test' },
    ...more,
    attempts: more.attempts ?? [
      {
        seq: 1,
        kind: 'primary',
        model: requested_model,
        provider_name,
        provider_type: provider,
        started_ms,
        duration_ns: 1e9,
        status_code: 200,
        success: true,
        usage: {
          input_tokens: 100,
          output_tokens: 10,
          total_tokens: 110,
          source: 'reported',
          cost: { input: 250_000, output: 100_000, total: 350_000 },
        },
        ...ofAttempt,
      },
    ],
  };
}
