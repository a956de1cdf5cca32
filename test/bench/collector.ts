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
  /** Room for young objects, at the end. MiB. */
  readonly youngMiB: number;
}

const kinds = ['minor', 'major', 'incremental', 'weakcb'] as const;
type Kind = (typeof kinds)[number];
type Total = { readonly count: number; readonly seconds: number };
type Totals = Readonly<Record<Kind, Total>> & { readonly youngBytes: number };

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
      youngMiB: after.youngBytes / 2 ** 20,
    };
  };
}

async function totalsOf({ url }: Running): Promise<Totals> {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: `Bearer ${MASTER_KEY}` } });
  const text = await response.text();
  const sample = (name: string): number =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${name} `))
        ?.split(' ')[1] ?? 0,
    );
  const of = (kind: Kind): Total => ({
    count: sample(`nodejs_gc_duration_seconds_count{kind="${kind}"}`),
    seconds: sample(`nodejs_gc_duration_seconds_sum{kind="${kind}"}`),
  });
  const youngBytes = sample('nodejs_heap_space_size_total_bytes{space="new"}');
  return { minor: of('minor'), major: of('major'), incremental: of('incremental'), weakcb: of('weakcb'), youngBytes };
}
