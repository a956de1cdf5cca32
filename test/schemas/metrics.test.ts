// The metrics that the planes expose are exactly those that the schemas define.
import { test } from 'tap';
import { createMetrics as createControlPlaneMetrics } from '../../control-plane/metrics.ts';
import { createFailedLogins } from '../../plane/access/failed-logins.ts';
import { Budgets } from '../../proxy/budgets/budgets.ts';
import { BodyBudget } from '../../proxy/http/body-budget.ts';
import { createLimiter } from '../../proxy/limits/limiter.ts';
import { createMetrics as createProxyMetrics } from '../../proxy/metrics/metrics.ts';
import { RetryBudgets } from '../../proxy/routing/retry/retry-budgets.ts';
import type { SessionCounts } from '../../proxy/tallies/session-counts.ts';
import { TargetStates } from '../../proxy/targets/target-states.ts';
import { controlPlaneMetrics } from '../../schemas/metrics/control-plane-metrics.ts';
import { type MetricDefinition, rateLimitMetrics } from '../../schemas/metrics/limit-metrics.ts';
import { proxyMetrics } from '../../schemas/metrics/proxy-metrics.ts';
import { cacheOf, noTokens } from '../proxy/stage-parts.ts';
import { promtoolComplaints } from '../support/promtool.ts';

/** The heads of the gateway's own metrics in an exposition, sorted; process metrics are left out. */
function headsIn(text: string): string[] {
  return [...text.matchAll(/^# HELP gateway_.*\n# TYPE .*$/gm)].map(([head]) => head).sort();
}

/** What the heads of these definitions look like. */
function headsOf(definitions: readonly MetricDefinition[]): string[] {
  return definitions.map(({ name, help, type }) => `# HELP ${name} ${help}\n# TYPE ${name} ${type}`).sort();
}

await test('the proxy exposes exactly the metrics that are defined for it', async (t) => {
  const metrics = createProxyMetrics({
    version: '1.2.3',
    worker: 1,
    workers: 1,
    tokenKeys: noTokens,
    failedLogins: createFailedLogins(),
    readiness: () => ({ status: 'ready' }),
    unusableGuardrails: () => [],
    recording: {
      flush: () => undefined,
      status: () => ({
        waitingRecords: 0,
        waitingBytes: 0,
        appendedRecords: 0,
        droppedRecords: 0,
        omittedRecords: 0,
        trouble: undefined,
      }),
    },
    diskRoom: () => 1,
    spans: () => ({ exported: 0, dropped: 0, failed: 0, waiting: 0 }),
    hasControlPlane: () => true,
    secretProblems: () => [],
    handshakes: () => undefined,
    config: () => undefined,
    pin: () => undefined,
    state: () => undefined,
    limiter: createLimiter(),
    targets: new TargetStates(),
    discovery: { known: () => [] },
    probes: { known: () => [] },
    identities: { status: () => [], counts: () => [] },
    bodies: new BodyBudget(0),
    budgets: new Budgets(),
    cache: cacheOf(),
    sessions: () => ({ open: 0, ended: { client: 1 } as SessionCounts['ended'] }),
    connections: () => ({
      open: 0,
      refused: { max_connections: 0, max_connections_per_address: 0 },
      cut: { pipelined: 0, tiny_chunks: 0, garbage: 0, unread: 0 },
    }),
    output: { droppedRequests: 0, droppedEvents: 0 },
    accessLog: { omitted: 0 },
    retries: new RetryBudgets(),
    storedResponses: { counts: { kept: 0, remembered: 0, not_kept: 0, failed: 0 } },
    store: () => ({ isUp: true, writtenAtMs: 0 }),
    nowMs: () => 0,
  });
  const text = await metrics.text();
  t.equal(promtoolComplaints(['check', 'metrics'], text), '', 'promtool agrees');
  t.strictSame(headsIn(text), headsOf([...Object.values(proxyMetrics), ...Object.values(rateLimitMetrics)]));
});

await test('the control plane exposes exactly the metrics that are defined for it', async (t) => {
  const metrics = createControlPlaneMetrics({
    version: '1.2.3',
    rollout: () => undefined,
    config: () => undefined,
    pin: () => undefined,
    state: () => undefined,
    secretProblems: () => [],
    handshakes: () => undefined,
    fleet: { proxies: () => [], lagSeconds: () => 0 },
    revisions: () => ({ kept: 0, lost: 0 }),
    records: () => ({ storedRecords: 0, lostRecords: 0, trouble: undefined }),
    room: () => undefined,
    areRecordsBegunAnew: false,
    diskRoom: () => 1,
    failedLogins: createFailedLogins(),
    budgets: { standings: () => [] },
    output: { droppedEvents: 0 },
  });
  const text = await metrics.text();
  t.equal(promtoolComplaints(['check', 'metrics'], text), '', 'promtool agrees');
  t.strictSame(headsIn(text), headsOf(Object.values(controlPlaneMetrics)));
});
