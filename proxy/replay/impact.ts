// What a change of configuration would have done to recorded traffic: counts by cause and by user path, with the first time and some requests. Bounded.
import type { TrafficLine } from '../../domain/records/traffic.ts';
import { foldUserPath } from '../../domain/user-path.ts';
import { isRefusedByConfig } from './recorded.ts';
import type { Verdict } from './verdict.ts';

/** Request ids of one group. */
const mostSamples = 3;
/** Groups of one kind, and user paths of one group; what is beyond is counted under one name. */
const mostNames = 2_000;
const others = '(others)';

/** Requests that met the same change. */
export interface Group {
  count: number;
  /** Unix milliseconds. */
  firstMs: number;
  /** The ids of the first ones. */
  readonly samples: string[];
  readonly byUserPath: Map<string, number>;
}

/** Where a request goes before and after. */
export interface Move {
  readonly model: string;
  readonly from: string;
  readonly to: string;
}

/** Of one user path, in US dollars. */
export interface Spent {
  before: number;
  after: number;
}

export class Impact {
  requests = 0;
  firstMs = Number.POSITIVE_INFINITY;
  lastMs = Number.NEGATIVE_INFINITY;
  /** How many were refused as recorded, before and after; and how many of the verdicts before agree with the recording. */
  readonly refusals = { recorded: 0, before: 0, after: 0 };
  agreed = 0;
  /** By user path. */
  readonly refusedAt = new Map<string, { before: number; after: number }>();
  /** By what refuses, or did. */
  readonly refused = new Map<string, Group>();
  readonly admitted = new Map<string, Group>();
  readonly moved = new Map<string, Group & Move>();
  /** How many requests each name of a model has, of those that are served before and after. */
  readonly served = new Map<string, number>();
  readonly spent: Spent = { before: 0, after: 0 };
  readonly spentBy = new Map<string, Spent>();
  /** Requests that cost something unknown, and those whose tokens were guessed, after. */
  unpriced = 0;
  guessed = 0;
  /** Answers of the cache that would be asked of a provider. */
  uncached = 0;

  note(line: TrafficLine, before: Verdict, after: Verdict): void {
    this.requests += 1;
    this.firstMs = Math.min(this.firstMs, line.at);
    this.lastMs = Math.max(this.lastMs, line.at);
    const wasRefused = isRefusedByConfig(line);
    if (wasRefused) this.refusals.recorded += 1;
    if (wasRefused === (before.outcome === 'refused')) this.agreed += 1;
    this.#noteRefusals(line, before.outcome === 'refused', after.outcome === 'refused');
    if (before.outcome !== 'refused' && after.outcome === 'refused') add(this.refused, after.by ?? '', line);
    if (before.outcome === 'refused' && after.outcome !== 'refused') add(this.admitted, before.by ?? '', line);
    if (before.outcome === 'cached' && after.outcome === 'served') this.uncached += 1;
    if (before.outcome === 'served' && after.outcome === 'served') this.#noteTarget(line, before, after);
    this.#noteCost(line, before, after);
  }

  #noteRefusals(line: TrafficLine, before: boolean, after: boolean): void {
    if (!before && !after) return;
    const sums = sumsOf(this.refusedAt, line);
    for (const each of [this.refusals, sums]) {
      if (before) each.before += 1;
      if (after) each.after += 1;
    }
  }

  #noteTarget(line: TrafficLine, { target: from = '' }: Verdict, { target: to = '' }: Verdict): void {
    const model = line.model ?? line.path;
    const key = this.served.has(model) || this.served.size < mostNames ? model : others;
    this.served.set(key, (this.served.get(key) ?? 0) + 1);
    if (from === to) return;
    const group = add(this.moved, JSON.stringify([model, from, to]), line);
    Object.assign(group, { model, from, to });
  }

  #noteCost(line: TrafficLine, before: Verdict, after: Verdict): void {
    if (after.outcome === 'served' && after.cost === null) this.unpriced += 1;
    if (after.outcome === 'served' && after.isGuessed === true) this.guessed += 1;
    // What is known on one side alone would look like a change.
    if (before.cost === null || after.cost === null) return;
    const [was, is] = [before.cost ?? 0, after.cost ?? 0];
    this.spent.before += was;
    this.spent.after += is;
    const sums = sumsOf(this.spentBy, line);
    sums.before += was;
    sums.after += is;
  }
}

/** The sums of the user path of a request. */
function sumsOf(all: Map<string, { before: number; after: number }>, { user_path: userPath }: TrafficLine): Spent {
  const path = foldUserPath(userPath);
  const key = all.has(path) || all.size < mostNames ? path : others;
  const known = all.get(key);
  if (known !== undefined) return known;
  const sums = { before: 0, after: 0 };
  all.set(key, sums);
  return sums;
}

function add<Kind extends Group>(groups: Map<string, Kind>, name: string, line: TrafficLine): Group {
  const key = groups.has(name) || groups.size < mostNames ? name : others;
  let group: Group | undefined = groups.get(key);
  if (group === undefined) {
    group = { count: 0, firstMs: line.at, samples: [], byUserPath: new Map() };
    groups.set(key, group as Kind);
  }
  group.count += 1;
  if (group.samples.length < mostSamples) group.samples.push(line.id);
  const path = foldUserPath(line.user_path);
  const at = group.byUserPath.has(path) || group.byUserPath.size < mostNames ? path : others;
  group.byUserPath.set(at, (group.byUserPath.get(at) ?? 0) + 1);
  return group;
}
