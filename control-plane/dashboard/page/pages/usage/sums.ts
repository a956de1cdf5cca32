// Rows of usage as the API gives them, and sums of them: by team, over time. Pure.
import { plural } from '../../format.ts';

export interface UsageSums {
  /** Of clients. */
  readonly requests: number;
  /** Calls of providers. */
  readonly attempts: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly total_tokens: number;
  readonly cached_input_tokens: number;
  /** US dollars; null: nothing of it has a price. */
  readonly total_cost: number | null;
  readonly unpriced_requests: number;
}

export interface UsageRow extends UsageSums {
  /** Of the row's dimension, one of these. */
  readonly date?: string;
  readonly user_path?: string;
  readonly model?: string;
  readonly provider_name?: string;
  readonly label?: string;
  readonly auth_key_id?: string;
}

/** A row of the table. */
export interface NamedSums extends UsageSums {
  readonly name: string;
  /** The small text below the name. */
  readonly note?: string;
  /** Where a click on the name leads: changes of the query. */
  readonly query?: Readonly<Record<string, string | undefined>>;
}

const nothing: UsageSums = {
  requests: 0,
  attempts: 0,
  input_tokens: 0,
  output_tokens: 0,
  total_tokens: 0,
  cached_input_tokens: 0,
  total_cost: null,
  unpriced_requests: 0,
};

export function sumOf(rows: readonly UsageSums[]): UsageSums {
  return rows.reduce(plus, nothing);
}

function plus(one: UsageSums, other: UsageSums): UsageSums {
  const isUnknown = one.total_cost === null && other.total_cost === null;
  return {
    requests: one.requests + other.requests,
    attempts: one.attempts + other.attempts,
    input_tokens: one.input_tokens + other.input_tokens,
    output_tokens: one.output_tokens + other.output_tokens,
    total_tokens: one.total_tokens + other.total_tokens,
    cached_input_tokens: one.cached_input_tokens + other.cached_input_tokens,
    total_cost: isUnknown ? null : (one.total_cost ?? 0) + (other.total_cost ?? 0),
    unpriced_requests: one.unpriced_requests + other.unpriced_requests,
  };
}

/** Rows of user paths, summed for each direct child of `parent`: the teams below it. */
export function byTeam(rows: readonly UsageRow[], parent: string): NamedSums[] {
  const above = parent === '/' ? '' : parent;
  const teams = Map.groupBy(rows, ({ user_path = '/' }) => {
    if (user_path === parent || !user_path.startsWith(`${above}/`)) return user_path;
    return `${above}/${user_path.slice(above.length + 1).split('/')[0]}`;
  });
  return [...teams].map(([name, some]) => {
    const isParent = name === parent;
    const paths = some.length === 1 && some[0]?.user_path === name ? '' : plural(some.length, 'user path');
    return {
      name,
      note: isParent ? 'named by the requests themselves' : paths,
      ...(isParent ? {} : { query: { user_path: name } }),
      ...sumOf(some),
    };
  });
}

/** The most expensive first, then those with the most tokens. */
export function costliestFirst(rows: readonly NamedSums[]): NamedSums[] {
  return rows.toSorted((a, b) => (b.total_cost ?? 0) - (a.total_cost ?? 0) || b.total_tokens - a.total_tokens);
}
