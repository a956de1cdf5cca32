// How each metric of the proxy is read at a scrape. schemas/metrics/proxy-metrics.ts declares name, labels and help under the same key; a key that
// is missing here, or not declared there, is an error of types.

import type { ConfigPin } from '../../domain/config-pins/config-pin.ts';
import type { FollowStatus } from '../../gitops/follow/config-status.ts';
import type { FailedLogins } from '../../plane/access/failed-logins.ts';
import type { TokenKeys } from '../../plane/identities/token-keys.ts';
import type { LineWriter } from '../../plane/line-writer.ts';
import { byLabel, pinEnd, pinStates, rejectedSince, type Shown } from '../../plane/prometheus.ts';
import { type TlsFacts, tlsReaders } from '../../plane/tls/tls-metrics.ts';
import type { proxyMetrics } from '../../schemas/metrics/proxy-metrics.ts';
import { isEmptied } from '../../store/state/custody.ts';
import type { StateStatus } from '../../store/state/state-status.ts';
import { type BudgetsInForce, budgetOutcomes } from '../budgets/budgets-in-force.ts';
import type { Ledgers } from '../budgets/ledgers.ts';
import type { ResponseCache } from '../cache/response-cache.ts';
import type { CloudIdentities } from '../cloud-identity/identities.ts';
import type { Discovery } from '../discovery/discovery.ts';
import type { GuardrailTally } from '../guardrails/tally.ts';
import type { BodyBudget } from '../http/body-budget.ts';
import type { ConnectionCounts } from '../http/connections.ts';
import type { StoredResponses } from '../kept/responses/stored-responses.ts';
import type { Readiness } from '../readiness.ts';
import type { AccessLog } from '../records/access-log.ts';
import type { RecordingStatus } from '../records/open-records.ts';
import type { SpanCounts } from '../records/spans/spans.ts';
import { type RetryBudgets, retryKinds } from '../routing/retry/retry-budgets.ts';
import type { Snapshot } from '../snapshot/snapshot.ts';
import { type AuxiliaryTally, auxiliaryOutcomes, auxiliaryPurposes } from '../tallies/auxiliary-tally.ts';
import type { KnownProbe } from '../tallies/known-probe.ts';
import { type MirrorTally, mirrorOutcomes } from '../tallies/mirror-tally.ts';
import type { RescueTally } from '../tallies/rescue-tally.ts';
import type { SessionCounts } from '../tallies/session-counts.ts';

/** The sources of the readers. */
export interface ReadFacts {
  /** Of the product. */
  version: string;
  /** Which of the workers this is, from 1, and how many there are. */
  worker: number;
  workers: number;
  failedLogins: Pick<FailedLogins, 'counts'>;
  readiness: () => Pick<Readiness, 'status'>;
  /** The names of guardrails that cannot work. */
  unusableGuardrails: () => readonly string[];
  /** The control plane answers. */
  hasControlPlane: () => boolean;
  /** The pin of an operator that is in force. */
  pin: () => ConfigPin | undefined;
  /** Why files of the gateway's own secrets do not hold what is in force. */
  secretProblems: () => readonly string[];
  /** The state of the config flow; undefined before the first load. */
  config: () => FollowStatus | undefined;
  /** The managed state; undefined before the first read. */
  state: () => StateStatus | undefined;
  /** The state store, and when the counters were last written there: Unix milliseconds, 0 for never. */
  store: () => { readonly isUp: boolean; readonly writtenAtMs: number };
  discovery: Pick<Discovery, 'known'>;
  probes: { readonly known: () => readonly KnownProbe[] };
  identities: Pick<CloudIdentities, 'status' | 'counts'>;
  tokenKeys: Pick<TokenKeys, 'outcomes' | 'remembered' | 'states'>;
  bodies: Pick<BodyBudget, 'held' | 'refused'>;
  budgets: { verdicts: Pick<BudgetsInForce, 'decisions' | 'size'>; ledgers: Pick<Ledgers, 'overflowed'> };
  cache: Pick<ResponseCache, 'counts' | 'flights' | 'isShared' | 'saved' | 'semantic' | 'status'>;
  connections: () => ConnectionCounts;
  sessions: () => SessionCounts;
  handshakes: TlsFacts['handshakes'];
  output: Pick<LineWriter, 'droppedRequests' | 'droppedEvents'>;
  accessLog: Pick<AccessLog, 'omitted'>;
  retries: Pick<RetryBudgets, 'counts' | 'refused'>;
  storedResponses: Pick<StoredResponses, 'counts'>;
  recording: { readonly status: () => RecordingStatus };
  /** Of the data directory, for what may wait or go; see `diskRoom`. Bytes. */
  diskRoom: () => number;
  /** Of OpenTelemetry. */
  spans: () => SpanCounts;
  /** Whole milliseconds of the limiter's clock. */
  nowMs: () => number;
}

/** The tallies of the metrics, and the providers of the snapshot in force. */
export interface CountedFacts {
  readonly auxiliary: AuxiliaryTally;
  readonly guardrails: GuardrailTally;
  readonly rescues: RescueTally;
  readonly mirrors: MirrorTally;
  readonly upstreams: () => Snapshot['upstreams'];
}

/**
 * Written as text by what counts them, because they have many samples: prom-client hashes and sorts the labels of each one at every scrape,
 * which holds the event loop up for 39 ms with 2,500 samples, 144 ms with 10,000 and 862 ms with 30,000.
 */
export type WrittenMetric =
  | 'requests'
  | 'httpRequests'
  | 'duration'
  | 'inFlight'
  | 'upstreamAttempts'
  | 'tokens'
  | 'cost'
  | 'upstreamDuration'
  | 'upstreamFirstByte'
  | `target${string}`;

export type ReadMetric = Exclude<keyof typeof proxyMetrics, WrittenMetric>;

type Readers<Name extends string> = Readonly<Record<Name, () => Shown>>;

/** Reads every metric that is not written as text. */
export function proxyReaders(facts: ReadFacts, counted: CountedFacts): Readers<ReadMetric> {
  return {
    ...processReaders(facts),
    ...requestReaders(facts, counted),
    ...stateReaders(facts),
    ...tlsReaders(facts),
    ...cacheReaders(facts),
    ...identityReaders(facts),
    ...tokenReaders(facts),
  } satisfies Readers<ReadMetric>;
}

const flag = (isSo: boolean): number => (isSo ? 1 : 0);

function processReaders(facts: ReadFacts) {
  const { version, readiness, connections, sessions, output, accessLog, spans, recording, diskRoom, workers } = facts;
  // Of several workers, their parent knows it.
  const alone = (shown: Shown): Shown => (workers > 1 ? [] : shown);
  return {
    build: () => [[{ plane: 'proxy', version, node: process.versions.node }, 1]],
    ready: () => flag(['ready', 'degraded'].includes(readiness().status)),
    overloaded: () => flag(readiness().status === 'overloaded'),
    connectionsOpen: () => connections().open,
    connectionsRefused: () => byLabel('reason', { ...connections().refused }),
    connectionsCut: () => byLabel('reason', { ...connections().cut }),
    sessionsOpen: () => sessions().open,
    sessionsEnded: () => byLabel('reason', { ...sessions().ended }),
    accessLogDropped: () => output.droppedRequests,
    accessLogOmitted: () => accessLog.omitted,
    logEventsDropped: () => output.droppedEvents,
    journalRecords() {
      const { appendedRecords: appended, droppedRecords: dropped, omittedRecords: omitted } = recording.status();
      return byLabel('outcome', { appended, dropped, omitted });
    },
    journalWaitingBytes: () => recording.status().waitingBytes,
    diskRoom,
    spans() {
      const { exported, dropped, failed } = spans();
      return byLabel('outcome', { exported, dropped, failed });
    },
    spansWaiting: () => spans().waiting,
    workers: () => alone(byLabel('state', { serving: 1, missing: 0 })),
    workersLeftOut: () => alone(0),
    workerRestarts: () => alone(0),
  } satisfies Partial<Readers<ReadMetric>>;
}

function requestReaders(facts: ReadFacts, { auxiliary, guardrails, mirrors, rescues, upstreams }: CountedFacts) {
  const { failedLogins, bodies, budgets, retries, storedResponses, unusableGuardrails, nowMs } = facts;
  return {
    authFailures: () => byLabel('reason', failedLogins.counts()),
    bodyBytes: () => bodies.held,
    bodiesRefused: () => bodies.refused,
    retries: () => retryKinds.map((kind) => [{ kind }, retries.counts[kind]]),
    retriesRefused: () => retries.refused,
    streamRescues: () => Array.from(rescues.counts, ({ count, ...labels }) => [labels, count]),
    storedResponses: () => byLabel('outcome', { ...storedResponses.counts }),
    auxiliaryCalls: () =>
      auxiliaryPurposes.flatMap((purpose) =>
        auxiliaryOutcomes.map((outcome) => [{ purpose, outcome }, auxiliary.count(purpose, outcome)] as const),
      ),
    mirrors: () =>
      Array.from(mirrors.counts).flatMap(([alias, counts]) =>
        mirrorOutcomes.map((outcome) => [{ alias, outcome }, counts[outcome]] as const),
      ),
    budgetDecisions: () =>
      budgets.verdicts.decisions().flatMap(({ budget, counts }) => {
        return budgetOutcomes.map((outcome) => [{ budget, outcome }, counts[outcome]] as const);
      }),
    budgetVerdicts: () => budgets.verdicts.size,
    budgetOverflows: () => budgets.ledgers.overflowed,
    guardrailVerdicts: () => Array.from(guardrails.counts, ({ count, ...labels }) => [labels, count]),
    guardrailsUnusable: () => unusableGuardrails().map((guardrail) => [{ guardrail }, 1] as const),
    // Keys are named by their place in the configuration. A provider with a single key has nothing to rotate, and is not shown.
    providerKeyResting: () =>
      upstreams()
        .filter(({ credentials }) => credentials.count > 1)
        .flatMap(({ name: provider, credentials }) =>
          credentials
            .rests(nowMs())
            .map(({ position, isResting }) => [{ provider, key: String(position) }, flag(isResting)] as const),
        ),
    providerKeyRefused: () =>
      upstreams().flatMap(({ name: provider, credentials }) =>
        credentials
          .troubles()
          .map(({ position, trouble }) => [{ provider, key: String(position) }, flag(trouble !== undefined)] as const),
      ),
  } satisfies Partial<Readers<ReadMetric>>;
}

/** A credential without an end has none to show. */
function identityReaders({ identities }: ReadFacts) {
  return {
    identityRenewals: () =>
      identities
        .counts()
        .flatMap(({ provider, renewed, failed }) => [
          [{ provider, outcome: 'renewed' }, renewed] as const,
          [{ provider, outcome: 'failed' }, failed] as const,
        ]),
    identityExpiry: () =>
      identities.status().flatMap(({ provider, endsAtMs = 0 }) => {
        return Number.isFinite(endsAtMs) ? [[{ provider }, endsAtMs / 1000] as const] : [];
      }),
    identityValid: () => identities.status().map(({ provider, isValid }) => [{ provider }, flag(isValid)] as const),
  } satisfies Partial<Readers<ReadMetric>>;
}

/** Identities are those of the configuration, so their names are bounded. */
function tokenReaders({ tokenKeys, nowMs }: ReadFacts) {
  return {
    tokensJudged: () =>
      tokenKeys.outcomes().map(({ identity, outcome, count }) => [{ identity, outcome }, count] as const),
    tokensRemembered: () => tokenKeys.remembered,
    issuerKeys: () =>
      tokenKeys.states().map(({ name: identity, areUsable, keys }) => [{ identity }, areUsable ? keys : 0] as const),
    issuerKeysAge: () =>
      tokenKeys.states().flatMap(({ name: identity, fetchedAtMs }) => {
        if (fetchedAtMs === undefined) return [];
        return [[{ identity }, Math.max(0, Math.round((nowMs() - fetchedAtMs) / 1000))] as const];
      }),
  } satisfies Partial<Readers<ReadMetric>>;
}

function stateReaders(facts: ReadFacts) {
  const { config, pin, state, store, hasControlPlane, secretProblems, discovery, probes, nowMs } = facts;
  return {
    controlPlaneUp: () => flag(hasControlPlane()),
    secretFilesUnusable: () => secretProblems().length,
    configReloads: () => byLabel('result', config()?.reloads ?? { success: 0, failure: 0 }),
    configIsGood: () => flag(config()?.lastReloadSuccessful === true),
    configLastGood: () => (config()?.lastSuccessMs ?? 0) / 1000,
    configRejected: () => rejectedSince(config()),
    configPinned: () => pinStates(config()),
    configPinEnd: () => pinEnd(pin()),
    configWaiting: () => flag(config()?.waiting !== undefined),
    configInfo() {
      const { revision, source } = config() ?? {};
      return revision === undefined || source === undefined ? [] : [[{ revision, source }, 1]];
    },
    keyFilesUnreadable: () => config()?.keyFileProblems?.length ?? 0,
    secretReferencesUnreadable: () => config()?.referenceProblems?.length ?? 0,
    secretAge: () => agesAt(nowMs(), config()?.secretAges),
    stateStoreUp: () => flag(store().isUp),
    stateSkipped: () => byLabel('reason', { ...state()?.skipped }),
    countersWritten: () => store().writtenAtMs / 1000,
    stateRevision() {
      const { source, revision = 0 } = state() ?? {};
      return source === undefined ? [] : [[{ source }, revision]];
    },
    stateStoreEmptied: () => flag(isEmptied(state()?.standing)),
    stateStoreBehind: () => flag(state()?.standing === 'behind'),
    stateStoreEvicts: () => flag(state()?.evicts !== undefined),
    stateWriteBacks: () => state()?.writeBacks ?? 0,
    discoveryModels: () => discovery.known().map(({ provider, count }) => [{ provider }, count]),
    discoveryLastSuccess: () => discovery.known().map(({ provider, atMs = 0 }) => [{ provider }, atMs / 1000]),
    probes: () =>
      probes
        .known()
        .flatMap(({ provider, counts }) =>
          Object.entries(counts).map(([outcome, count]) => [{ provider, outcome }, count] as const),
        ),
    probeUp: () =>
      probes
        .known()
        .flatMap(({ provider, last }) =>
          last === undefined || last.outcome === 'unclear'
            ? []
            : [[{ provider }, flag(last.outcome === 'up')] as const],
        ),
    discoveryFailures: () => discovery.known().map(({ provider, failures }) => [{ provider }, failures]),
  } satisfies Partial<Readers<ReadMetric>>;
}

function cacheReaders({ cache, worker }: Pick<ReadFacts, 'cache' | 'worker'>) {
  // What all workers share is told by the first one alone, because theirs is added up.
  const told = (isShared: boolean, value: number): Shown => (isShared && worker > 1 ? [] : value);
  return {
    cacheRequests: () =>
      [...cache.counts].flatMap(([endpoint, { hit, miss, bypass }]) =>
        Object.entries({ hit, miss, bypass }).map(([outcome, count]) => [{ endpoint, outcome }, count] as const),
      ),
    cacheBytes: () => told(cache.isShared, cache.status().bytes),
    cacheEntries: () => told(cache.isShared, cache.status().entries),
    cacheEvictions: () => cache.status().evicted,
    cacheDropped: () => cache.status().dropped,
    cacheWaiting: () => cache.flights.waiting,
    cacheSemantic: () => byLabel('outcome', cache.semantic.counts),
    cacheSemanticEntries: () => told(cache.semantic.isShared, cache.semantic.status().entries),
    cacheSemanticDropped: () => cache.semantic.status().dropped,
    cacheSavedTokens: () => cache.saved.tokens,
    cacheSavedCost: () => cache.saved.nanoDollars / 1e9,
  } satisfies Partial<Readers<ReadMetric>>;
}

function agesAt(nowMs: number, ages: FollowStatus['secretAges'] = []) {
  return ages.flatMap(({ reference, readAtMs }) =>
    readAtMs === undefined ? [] : [[{ reference }, Math.max(0, (nowMs - readAtMs) / 1000)] as const],
  );
}
