// What an operator has set outside git and holds now, and the entry of the configuration that would say the same.

export const overrideKinds = ['rule', 'budget', 'budget_windows', 'alias', 'guardrail', 'key', 'drain', 'pin'] as const;
export type OverrideKind = (typeof overrideKinds)[number];

/** How sentences name one of a kind, and several. */
export const overrideNouns: Readonly<Record<OverrideKind, readonly [one: string, several: string]>> = {
  rule: ['rate limit', 'rate limits'],
  budget: ['budget', 'budgets'],
  budget_windows: ['setting of budget windows', 'settings of budget windows'],
  alias: ['virtual model', 'virtual models'],
  guardrail: ['guardrail', 'guardrails'],
  key: ['issued key', 'issued keys'],
  drain: ['drained target', 'drained targets'],
  pin: ['pinned revision', 'pinned revisions'],
};

/** The lists of limits and budgets, and the member that names the subject in each. */
export const subjectMembers = { user_paths: 'path', providers: 'name', models: 'model', labels: 'label' } as const;
export type SubjectList = keyof typeof subjectMembers;

/** One limit or budget of a subject. */
export interface LimitEntry {
  readonly section: 'rate_limits' | 'budgets';
  readonly list: SubjectList;
  readonly subject: string;
  readonly per_child: boolean;
  readonly limit: Readonly<Record<string, unknown>>;
}

/** An entry of a list; `alias`, `guardrail` and `key` of `schemas/config`. */
export interface ListedEntry {
  readonly section: 'aliases' | 'guardrails' | 'keys';
  readonly entry: Readonly<Record<string, unknown>>;
}

/** Members of `budgets.settings`. */
export interface WindowsEntry {
  readonly section: 'budgets';
  readonly settings: Readonly<Record<string, number>>;
}

export type Entry = LimitEntry | ListedEntry | WindowsEntry;

/** Times are RFC 3339 texts in UTC. */
export interface Override {
  readonly kind: OverrideKind;
  /** Names it among those of its kind: the id of its document. */
  readonly id: string;
  /** Its title, such as `user_path /team-a minute`. */
  readonly name: string;
  /** Who set it last: `master_key`, or the id of a managed key. */
  readonly updated_by?: string;
  /** Since when it is there, also if it was changed since. */
  readonly created_at?: string;
  readonly updated_at?: string;
  readonly reason?: string;
  readonly expires_at?: string;
  /** The line, or the variable, of the configuration that it stands in front of. */
  readonly declared_at?: string;
  /** The configuration says the same by now: it may be deleted. */
  readonly in_git?: true;
  /** Absent: the configuration cannot say it, and `kept_out` says why. */
  readonly entry?: Entry;
  /** A sentence without a full stop. */
  readonly kept_out?: string;
}

export function isLimit(entry: Entry): entry is LimitEntry {
  return 'limit' in entry;
}

export function isListed(entry: Entry): entry is ListedEntry {
  return 'entry' in entry;
}
