// What a step of a request needs when it runs alone: an exchange without a connection, and the parts of a gateway without rules.
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { credentialsOf } from '../../domain/keys/credentials.ts';
import { createFailedLogins } from '../../plane/access/failed-logins.ts';
import { Budgets } from '../../proxy/budgets/budgets.ts';
import { ResponseCache } from '../../proxy/cache/response-cache.ts';
import { SemanticLayer } from '../../proxy/cache/semantic-layer.ts';
import type { Call } from '../../proxy/call/call.ts';
import { CaptureBudget } from '../../proxy/capture/capture-budget.ts';
import { Refusal } from '../../proxy/errors.ts';
import { BodyBudget } from '../../proxy/http/body-budget.ts';
import { type Exchange, openExchange } from '../../proxy/http/exchange.ts';
import { createKeyStreams } from '../../proxy/kept/key-streams.ts';
import { openaiOnly } from '../../proxy/limits/headers.ts';
import { createLimiter } from '../../proxy/limits/limiter.ts';
import { createMetrics, type Metrics, type ObservedFacts } from '../../proxy/metrics/metrics.ts';
import type { Balance } from '../../proxy/routing/balance/balance.ts';
import type { ConsumerAllowance } from '../../proxy/routing/limit-refusal.ts';
import { RetryBudgets } from '../../proxy/routing/retry/retry-budgets.ts';
import { compile } from '../../proxy/snapshot/compile.ts';
import type { Route } from '../../proxy/snapshot/snapshot.ts';
import { admit } from '../../proxy/stages/admit.ts';
import { attempt } from '../../proxy/stages/attempt.ts';
import type { Accepted, FailedAttempt, RoutedCall } from '../../proxy/stages/attempts.ts';
import type { SessionCounts } from '../../proxy/tallies/session-counts.ts';
import { TargetStates } from '../../proxy/targets/target-states.ts';
import { createDeadlines } from '../../proxy/upstream/deadlines.ts';
import { createPools } from '../../proxy/upstream/pools.ts';
import { openMemoryCache } from '../../store/cache/memory.ts';
import { neighbourStores } from '../../store/cache/semantic/open.ts';
import { sampleConfig } from './sample-config.ts';

/** What opening an exchange needs of a snapshot. */
export const headSettings = {
  userPathHeader: 'x-gateway-user-path',
  gatewayKeyHeader: 'x-gateway-key',
  trustedProxies: undefined,
};

export const nowMs = (): number => performance.now();

/** An exchange on a socket that is not connected: for stages that only read. */
export function exchangeOf(headers: Record<string, string>, socket = new Socket(), startedAtMs = 0): Exchange {
  const request = new IncomingMessage(socket);
  const rawHeaders = ['Host', 'gateway.test', ...Object.entries(headers).flat()];
  Object.assign(request, { rawHeaders, httpVersionMajor: 1, httpVersionMinor: 1, method: 'POST' });
  return openExchange(request, new ServerResponse(request), headSettings, startedAtMs);
}

/** A gateway without identities. */
export const noTokens = {
  known: () => undefined,
  now: () => undefined,
  judge: () => undefined,
  outcomes: () => [],
  states: () => [],
  remembered: 0,
};
export const noCertificates = { judge: () => undefined, trouble: () => undefined };

/** Unexpected failures. */
export const reported: unknown[] = [];

/** What the stages from admission on need: a limiter without rules, pools and deadlines of their own. */
export function partsOf() {
  const limiter = createLimiter();
  return {
    limiter,
    metrics: metricsOf(limiter),
    balance: ((route: Route) => route.targets) as Balance,
    targets: new TargetStates(),
    retries: new RetryBudgets(),
    pools: createPools(100),
    deadlines: createDeadlines(nowMs),
    usageEnabled: true,
    reportFailure: (error: unknown) => void reported.push(error),
    keyStreams: createKeyStreams(() => compile(sampleConfig({}), '', credentialsOf(undefined, [])), nowMs),
    nowMs,
  };
}

/** An admitted consumer at the root. */
export function admitted(parts: Parameters<typeof admit>[2]): ConsumerAllowance {
  const admission = admit(parts.limiter.forUserPath('/'), openaiOnly, parts);
  if (admission instanceof Promise || admission.lease === undefined) throw new Error('was rejected');
  return admission;
}

export function metricsOf(
  limiter = createLimiter(),
  targets = new TargetStates(),
  config: ObservedFacts['config'] = () => undefined,
): Metrics {
  return createMetrics({
    version: '1.2.3',
    worker: 1,
    workers: 1,
    failedLogins: createFailedLogins(),
    tokenKeys: noTokens,
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
    config,
    pin: () => undefined,
    state: () => undefined,
    limiter,
    targets,
    discovery: { known: () => [] },
    identities: { status: () => [], counts: () => [] },
    probes: { known: () => [] },
    bodies: new BodyBudget(0),
    budgets: new Budgets(),
    cache: cacheOf(),
    sessions: () => ({ open: 0, ended: {} as SessionCounts['ended'] }),
    connections: () => ({
      open: 0,
      refused: { max_connections: 0, max_connections_per_address: 0 },
      cut: { pipelined: 0, tiny_chunks: 0, garbage: 0, unread: 0 },
    }),
    output: { droppedRequests: 0, droppedEvents: 0 },
    accessLog: { omitted: 0 },
    retries: new RetryBudgets(),
    storedResponses: { counts: { kept: 0, remembered: 0, not_kept: 0, failed: 0 } },
    nowMs: () => 0,
    store: () => ({ isUp: true, writtenAtMs: 0 }),
  });
}

/** A cache that is off. */
export function cacheOf(clock: () => number = nowMs): ResponseCache {
  return new ResponseCache({
    open: (_, mostBytes) => openMemoryCache(mostBytes),
    semantic: semanticOf(),
    captures: new CaptureBudget(2 ** 30),
    nowMs: clock,
  });
}

/** A semantic layer that is off. */
function semanticOf(): SemanticLayer {
  return new SemanticLayer({
    demand: () => undefined,
    open: (wanted) =>
      neighbourStores({ databaseUrl: undefined, redisUrl: undefined, redisPrefix: 'gateway', workers: 1 }).open(wanted),
    nowMs,
    warn: () => undefined,
  });
}

/** What `run` is refused with. */
export async function refusedBy(run: () => unknown): Promise<Refusal> {
  try {
    await run();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error('was accepted');
}

export const open = credentialsOf(undefined, []);

/** What a call says of where it wants to go. */
export const named = (model: string, routingMember?: string) => ({ model, routingMember });

/** A call of chat in the words of its targets, as a rule counts it. */
export function routedOf(call: Call, route: Route, consumer: ConsumerAllowance): RoutedCall {
  return { operation: 'chat', surface: 'openai', isCounted: true, call, route, consumer, translated: undefined };
}

/** Room for whatever a test sends. */
export const held = () => new BodyBudget(2 ** 30).open('/', { bodyLimitBytes: 2 ** 20, bodyBudgetBytes: undefined });

/** The accepted answer of `attempt`; rejects when it refuses. */
export function attempted(
  routed: RoutedCall,
  failed: FailedAttempt[],
  exchange: Exchange,
  parts: ReturnType<typeof partsOf>,
): Promise<Accepted> {
  return attempt(routed, { exchange, failed }, parts, (accepted) => accepted);
}
