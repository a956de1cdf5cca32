// One difference between two configurations, as data and in words. It never holds a secret.

export interface ConfigChange {
  kind: 'provider' | 'alias' | 'rule' | 'budget' | 'guardrail' | 'key' | 'setting';
  /** The name of the provider, guardrail or key, the source of the alias, scope with subject and period of the rule or budget, or the key of the setting. */
  name: string;
  change: 'added' | 'removed' | 'loosened' | 'tightened' | 'changed';
  /** Whether callers may do more or less: ask, say, see of each other, go unrecorded. Absent when neither is certain. */
  effect?: 'loosened' | 'tightened';
  before?: unknown;
  after?: unknown;
  /** For example `loosened: rule user_path /team-a minute: max_requests 60 → 600`. */
  words: string;
}

/** The most names in one sentence. */
const mostNamed = 10;

/** One change with its sentence. `detail` follows the name; it may be empty. */
export function describeChange(change: Omit<ConfigChange, 'words'>, detail: string): ConfigChange {
  const { kind, name, change: verb, effect } = change;
  const meaning = effect === undefined || effect === verb ? '' : ` (${effect})`;
  return { ...change, words: `${verb}${meaning}: ${kind} ${name}${detail === '' ? '' : `: ${detail}`}` };
}

/** The first names of a list, and how many more there are. */
export function nameSome(names: readonly string[], most: number = mostNamed): string {
  const more = names.length - most;
  return more > 0 ? `${names.slice(0, most).join(', ')} and ${more} more` : names.join(', ');
}
