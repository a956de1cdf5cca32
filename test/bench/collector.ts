// What the garbage collector of a gateway did between two looks at its metrics.
import { MASTER_KEY, type Running } from './processes.ts';

/** What the collector did for each of a number of requests. */
export interface Collected {
  /** Requests between two collections of the young objects. */
  readonly requestsPerScavenge: number;
  /** A collection of the young objects, in milliseconds. */
  readonly scavengeMs: number;
  /** Collections of all objects. */
  readonly majors: number;
  /** Time of all collections, in microseconds per request. */
  readonly usPerRequest: number;
}

const kinds = ['minor', 'major', 'incremental', 'weakcb'] as const;
type Kind = (typeof kinds)[number];
type Totals = Readonly<Record<Kind, { readonly count: number; readonly seconds: number }>>;

/** Begins a reading; the returned function ends it, for the requests that the gateway has served meanwhile. */
export async function watchCollector(gateway: Running): Promise<(requests: number) => Promise<Collected>> {
  const before = await totalsOf(gateway);
  return async (requests) => {
    const after = await totalsOf(gateway);
    const count = (kind: Kind): number => after[kind].count - before[kind].count;
    const seconds = (kind: Kind): number => after[kind].seconds - before[kind].seconds;
    const all = kinds.reduce((sum, kind) => sum + seconds(kind), 0);
    return {
      requestsPerScavenge: requests / count('minor'),
      scavengeMs: (seconds('minor') * 1000) / count('minor'),
      majors: count('major'),
      usPerRequest: (all * 1_000_000) / requests,
    };
  };
}

async function totalsOf({ url }: Running): Promise<Totals> {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${MASTER_KEY}` } });
  const text = await response.text();
  const of = (kind: Kind): Totals[Kind] => {
    const sample = (name: string): number =>
      Number(new RegExp(`^nodejs_gc_duration_seconds_${name}\\{kind="${kind}"\\} (\\S+)`, 'm').exec(text)?.[1] ?? 0);
    return { count: sample('count'), seconds: sample('sum') };
  };
  return { minor: of('minor'), major: of('major'), incremental: of('incremental'), weakcb: of('weakcb') };
}
