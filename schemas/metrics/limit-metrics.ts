// The metrics of the rate limiter: names, labels, help. Every label has a bounded number of values; a user path is never a label.

/** One metric of the exposition. */
export interface MetricDefinition {
  readonly name: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  readonly labelNames: readonly string[];
  /** Upper bounds of a histogram. */
  readonly buckets?: readonly number[];
  /** Of a gauge of the proxy: what its workers say together (GATEWAY_WORKERS). Counters and histograms are added up. */
  readonly acrossWorkers?: 'sum' | 'max' | 'min';
}

/** The most rules with separate series; the decisions of all other rules are added up under the rule `other`. */
export const mostLabelledRules = 250;

export const rateLimitMetrics = {
  decisions: {
    name: 'gateway_rate_limit_decisions_total',
    type: 'counter',
    help: 'Decisions by rule id. Outcome: allow, reject (429), skip_target (another target was tried), shadow_reject (would have refused). The refusals of a rule are there from the start, at 0.',
    labelNames: ['rule', 'scope', 'dimension', 'outcome'],
  },
  rules: {
    name: 'gateway_rate_limit_rule_info',
    type: 'gauge',
    help: 'The rules in force; the value is always 1. Name: that of the configuration or of the admin API, empty without one. The subject of a user_path rule is left out: npm run check-config prints it by rule id.',
    labelNames: ['rule', 'name', 'scope', 'subject', 'period', 'mode'],
    acrossWorkers: 'max',
  },
  utilization: {
    name: 'gateway_rate_limit_utilization_ratio',
    type: 'gauge',
    help: 'Used share of the cap, 1 when it is used up; of a per-child template the highest share of a child. Of a cap of the fleet what all proxies have used, as the state store said last.',
    labelNames: ['rule', 'scope', 'dimension'],
    acrossWorkers: 'max',
  },
  inFlight: {
    name: 'gateway_rate_limit_in_flight',
    type: 'gauge',
    help: 'Requests in flight under a concurrency rule, all children added up.',
    labelNames: ['rule', 'scope'],
    acrossWorkers: 'sum',
  },
  reserved: {
    name: 'gateway_rate_limit_reserved_tokens',
    type: 'gauge',
    help: 'Tokens that open requests have set aside under a token cap, all children added up.',
    labelNames: ['rule', 'scope'],
    acrossWorkers: 'sum',
  },
  usedOfReserved: {
    name: 'gateway_rate_limit_used_of_reserved_ratio',
    type: 'histogram',
    help: 'Tokens that an answer has used, divided by those that were set aside for it, where a token cap counted it. Basis: what the length of the answer was expected from: asked (the request says no more), learned (from answers before it), usual (1,024 tokens).',
    labelNames: ['basis'],
    buckets: [0.1, 0.25, 0.5, 0.75, 0.9, 1, 1.1, 1.5, 2, 4],
  },
  counters: {
    name: 'gateway_rate_limit_counters',
    type: 'gauge',
    help: 'Live counters in memory, children of templates included.',
    labelNames: [],
    acrossWorkers: 'sum',
  },
  overflowed: {
    name: 'gateway_rate_limit_overflowed_requests_total',
    type: 'counter',
    help: 'Requests of children of a template that shared one counter, by rule id: there were max_children children, or counters filled half of the heap.',
    labelNames: ['rule'],
  },
  dropped: {
    name: 'gateway_rate_limit_counters_dropped_total',
    type: 'counter',
    help: 'Stored counters of children that were not restored at the start, because memory for counters was full.',
    labelNames: [],
  },
  tokens: {
    name: 'gateway_rate_limit_tokens_total',
    type: 'counter',
    help: 'Tokens charged after completion, by source: reported by the provider; estimated where it did not; partial where the answer broke off or the client left before.',
    labelNames: ['source'],
  },
  exchanges: {
    name: 'gateway_rate_limit_exchanges_total',
    type: 'counter',
    help: 'Exchanges with the state store about caps that hold for the fleet, by reason: beat (twice a second), ask (a request waits), refill (few units are left in advance).',
    labelNames: ['reason'],
  },
  waits: {
    name: 'gateway_rate_limit_waits_total',
    type: 'counter',
    help: 'Requests that waited for the state store, because this proxy held nothing of a cap of the fleet.',
    labelNames: [],
  },
  waited: {
    name: 'gateway_rate_limit_wait_seconds_total',
    type: 'counter',
    help: 'How long they have waited together.',
    labelNames: [],
  },
  longestWait: {
    name: 'gateway_rate_limit_longest_wait_seconds',
    type: 'gauge',
    help: 'The longest that one of them has waited since the start: at most lease_wait, and what this process was late.',
    labelNames: [],
    acrossWorkers: 'max',
  },
  withoutStore: {
    name: 'gateway_rate_limit_fallback_decisions_total',
    type: 'counter',
    help: 'Decisions about caps of the fleet that were made without the state store, as on_store_loss says.',
    labelNames: [],
  },
  storeLost: {
    name: 'gateway_rate_limit_store_lost',
    type: 'gauge',
    help: '1 while the state store does not answer for caps of the fleet.',
    labelNames: [],
    acrossWorkers: 'max',
  },
  replicas: {
    name: 'gateway_rate_limit_replicas',
    type: 'gauge',
    help: 'Proxies that share the caps of the fleet, as the state store said last.',
    labelNames: [],
    acrossWorkers: 'max',
  },
  stocks: {
    name: 'gateway_rate_limit_stocks',
    type: 'gauge',
    help: 'Counters of the fleet of which this proxy holds units in advance, or has lately.',
    labelNames: [],
    acrossWorkers: 'sum',
  },
  recalls: {
    name: 'gateway_rate_limit_recalls_total',
    type: 'counter',
    help: 'How often this proxy was asked to give back units that it held in advance.',
    labelNames: [],
  },
  recoveries: {
    name: 'gateway_rate_limit_recoveries_total',
    type: 'counter',
    help: 'How often this proxy told the state store again what that had lost.',
    labelNames: [],
  },
  retryAfter: {
    name: 'gateway_rate_limit_retry_after_seconds',
    type: 'histogram',
    help: 'Retry-After of refused requests.',
    labelNames: [],
    buckets: [1, 2, 5, 10, 30, 61, 120, 300, 1800, 3660, 21600, 87840],
  },
} as const satisfies Record<string, MetricDefinition>;

/** The most budgets with series of their own. */
export const mostLabelledBudgets = 250;

/** A metric of both planes. Reason: `unsealed` or `unreadable`. */
export const skippedMetric = {
  name: 'gateway_state_documents_skipped',
  type: 'gauge',
  help: 'Stored documents that are not in force: unsealed (not written with the master key) or unreadable.',
  labelNames: ['reason'],
  acrossWorkers: 'max',
} as const satisfies MetricDefinition;

/** A metric of both planes. */
export const buildMetric = {
  name: 'gateway_build_info',
  type: 'gauge',
  help: 'Always 1; the labels say which plane and version is running, on which Node.',
  labelNames: ['plane', 'version', 'node'],
  acrossWorkers: 'max',
} as const satisfies MetricDefinition;

/** A metric of both planes. */
export const configWaitingMetric = {
  name: 'gateway_config_waiting',
  type: 'gauge',
  help: '1 while the directory holds a config that is not in force, because of a rollout or a pin.',
  labelNames: [],
  acrossWorkers: 'max',
} as const satisfies MetricDefinition;

/** A metric of both planes. */
export const configRejectedMetric = {
  name: 'gateway_config_rejected_timestamp_seconds',
  type: 'gauge',
  help: 'Unix time since which the config on disk has been rejected, by the revision of what was rejected last; absent while it is in force.',
  labelNames: ['revision'],
  acrossWorkers: 'min',
} as const satisfies MetricDefinition;

/** A metric of both planes. */
export const configPinnedMetric = {
  name: 'gateway_config_pinned',
  type: 'gauge',
  help: '1 while an operator has pinned a revision of the config, by state: in_force, or unusable (it cannot be put in force here, so what was in force stays). Else 0.',
  labelNames: ['state'],
  acrossWorkers: 'max',
} as const satisfies MetricDefinition;

/** A metric of both planes. */
export const configPinEndMetric = {
  name: 'gateway_config_pin_end_timestamp_seconds',
  type: 'gauge',
  help: 'Unix time at which the pin of the config ends; absent while none is in force.',
  labelNames: ['revision'],
  acrossWorkers: 'max',
} as const satisfies MetricDefinition;

/** A metric of both planes. */
export const authFailuresMetric = {
  name: 'gateway_auth_failures_total',
  type: 'counter',
  help: 'Requests refused for their key, by reason: missing, malformed (not a bearer token), ambiguous (two keys), unknown, revoked, expired, unavailable (the keys could not be read yet), denied (a valid key that does not open the admin API), paused (not looked at, because of the failures of its address).',
  labelNames: ['reason'],
} as const satisfies MetricDefinition;

/** A metric of both planes. */
export const diskRoomMetric = {
  name: 'gateway_disk_room_bytes',
  type: 'gauge',
  help: 'How much more the disk of GATEWAY_DATA takes of records, journals and stored responses; at 0 they stop, and what is left is kept for rules, keys and counters.',
  labelNames: [],
  acrossWorkers: 'min',
} as const satisfies MetricDefinition;

/** A metric of both planes. */
export const logEventsDroppedMetric = {
  name: 'gateway_log_events_dropped_total',
  type: 'counter',
  help: 'Log lines of events that were dropped, because standard output was not read, or is gone.',
  labelNames: [],
} as const satisfies MetricDefinition;

/** A metric of both planes. */
export const secretFilesMetric = {
  name: 'gateway_secret_files_unusable',
  type: 'gauge',
  help: 'Files of GATEWAY_MASTER_KEY_FILE, GATEWAY_PREVIOUS_MASTER_KEY_FILE, REDIS_URL_FILE and the other files for Redis that do not hold what is in force: they cannot be read, hold no such secret, or an address or certificate that does not work. The last good value stays in force.',
  labelNames: [],
  acrossWorkers: 'max',
} as const satisfies MetricDefinition;
