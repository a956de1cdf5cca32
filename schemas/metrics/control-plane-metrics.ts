// The metrics of the control plane: names, labels, help.
import {
  authFailuresMetric,
  buildMetric,
  logEventsDroppedMetric,
  type MetricDefinition,
  secretFilesMetric,
  skippedMetric,
} from './limit-metrics.ts';

export const controlPlaneMetrics = {
  build: buildMetric,
  authFailures: authFailuresMetric,
  logEventsDropped: logEventsDroppedMetric,
  configIsGood: {
    name: 'gateway_config_last_reload_successful',
    type: 'gauge',
    help: '1 when the config on disk is in force, 0 when it was rejected.',
    labelNames: [],
  },
  recordsTaken: {
    name: 'gateway_records_total',
    type: 'counter',
    help: 'Records taken from the journal by outcome: stored (once each), or lost (lines that are no records, and records that cannot be stored).',
    labelNames: ['outcome'],
  },
  recordBytes: {
    name: 'gateway_record_store_bytes',
    type: 'gauge',
    help: 'Room on the disk by records of the embedded store: used, and the most that they may use (audit.max_size, or what the disk has).',
    labelNames: ['bound'],
  },
  recordsRelieved: {
    name: 'gateway_records_relieved_total',
    type: 'counter',
    help: 'What was removed of the embedded record store to make room, the oldest first: body (of an entry, which stays), or entry.',
    labelNames: ['what'],
  },
  recordStoreUp: {
    name: 'gateway_record_store_up',
    type: 'gauge',
    help: '1 while records can be taken from the journal and stored; at 0 they wait in the journal.',
    labelNames: [],
  },
  stateRevision: {
    name: 'gateway_state_revision',
    type: 'gauge',
    help: 'Revision of the managed state in force.',
    labelNames: [],
  },
  stateStoreUp: {
    name: 'gateway_state_store_up',
    type: 'gauge',
    help: '1 while the state store answers.',
    labelNames: [],
  },
  stateStoreEmptied: {
    name: 'gateway_state_store_emptied',
    type: 'gauge',
    help: '1 while the state store has lost the managed state.',
    labelNames: [],
  },
  stateStoreBehind: {
    name: 'gateway_state_store_behind',
    type: 'gauge',
    help: '1 while the state store says an older state than the one in force here or in a proxy, because it went back.',
    labelNames: [],
  },
  stateStoreEvicts: {
    name: 'gateway_state_store_evicts',
    type: 'gauge',
    help: '1 while the state store may drop rules and keys by itself (maxmemory-policy of Redis): new ones are refused.',
    labelNames: [],
  },
  stateWriteBacks: {
    name: 'gateway_state_write_backs_total',
    type: 'counter',
    help: 'How often this process has written the managed state back into a state store that had lost it or went back.',
    labelNames: [],
  },
  stateSkipped: skippedMetric,
  proxiesLive: {
    name: 'gateway_proxies_live',
    type: 'gauge',
    help: 'Proxies with a heartbeat in the last three seconds.',
    labelNames: [],
  },
  proxiesBehind: {
    name: 'gateway_proxies_behind',
    type: 'gauge',
    help: 'Live proxies that do not enforce the desired config and managed state.',
    labelNames: [],
  },
  instancesShared: {
    name: 'gateway_proxies_sharing_instance',
    type: 'gauge',
    help: 'Instance names that more than one proxy uses; their counters overwrite each other.',
    labelNames: [],
  },
  convergenceLag: {
    name: 'gateway_convergence_lag_seconds',
    type: 'gauge',
    help: 'Time for which at least one live proxy has been behind; 0 when none is.',
    labelNames: [],
  },
  budgetSpent: {
    name: 'gateway_budget_spent_ratio',
    type: 'gauge',
    help: 'Spent share of the amount of a budget in its present window, by budget id; of a per-child template the highest share of a child. The first 250 budgets.',
    labelNames: ['budget', 'scope', 'period', 'mode'],
  },
  budgetsExceeded: {
    name: 'gateway_budgets_exceeded',
    type: 'gauge',
    help: 'Subjects that have spent a budget in its present window, by the mode of the budget; each child of a template is one.',
    labelNames: ['mode'],
  },
  secretFilesUnusable: secretFilesMetric,
} as const satisfies Record<string, MetricDefinition>;
