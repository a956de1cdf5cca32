// Providers that list no models are asked for them: at the start, then again and again, never because of a request.
import type { AskedProvider, Told } from './ask-models.ts';
import { AskingQueue } from './asking-queue.ts';
import type { Inventory, KeptInventories } from './inventory-file.ts';
import { type ModelFilter, modelFilter } from './model-filter.ts';
import { sourceOf } from './source.ts';

/** How the models of a provider are found out. */
export interface DiscoveryPlan {
  /** The identity of its inventory (source.ts). */
  readonly source: string;
  readonly refreshMs: number;
  readonly accepts: ModelFilter;
}

export interface DiscoveringProvider extends AskedProvider {
  /** Undefined: its models are configured. */
  readonly discovery: DiscoveryPlan | undefined;
}

export interface DiscoveryParts {
  /** Of a run before. */
  readonly recalled: KeptInventories;
  /** Never rejects. */
  readonly ask: (provider: AskedProvider) => Promise<Told>;
  /** Takes all inventories for the next start. */
  readonly save: (inventories: KeptInventories) => void;
  /** Some provider has other models than before. Called soon after, once for several. */
  readonly changed: () => void;
  readonly log: Record<'info' | 'warn' | 'error', (fields: object, text: string) => void>;
  /** Unix milliseconds. */
  readonly nowMs: () => number;
}

/** The known models of one provider. */
export interface Discovered {
  readonly provider: string;
  /** Behind the filters. */
  readonly count: number;
  /** When it last said so, in Unix milliseconds; undefined: never. */
  readonly atMs: number | undefined;
  /** Questions without a usable answer. */
  readonly failures: number;
}

/** A provider that fails is asked again after this time, or after its refresh interval when that is shorter. Milliseconds. */
const retryMs = 60_000;
/** Times are varied by these parts of them, so that the proxies of a fleet do not ask together. */
const refreshSpread = 0.1;
const retrySpread = 0.25;
/** Without a change the copy on disk is renewed after this time. Milliseconds. */
const saveMs = 60_000;
/** Changes of several providers within this time are put in force together. Milliseconds. */
const gatherMs = 20;
/** The most names in a line of the log. */
const mostNamed = 20;

/** A provider that is asked. */
interface Watched {
  provider: DiscoveringProvider;
  plan: DiscoveryPlan;
  inventory: Inventory | undefined;
  /** The models that pass the filters. */
  offered: readonly string[];
  /** Why the last answer could not be used. */
  trouble: string | undefined;
  failures: number;
  skipped: number;
  isGone: boolean;
  timer: NodeJS.Timeout | undefined;
}

export class Discovery {
  readonly #parts: DiscoveryParts;
  readonly #watched = new Map<string, Watched>();
  readonly #queue: AskingQueue<Watched>;
  #revision = '';
  #savedAtMs = 0;
  #telling: NodeJS.Timeout | undefined;

  constructor(parts: DiscoveryParts) {
    this.#parts = parts;
    this.#queue = new AskingQueue(async (watched) => {
      if (watched.isGone) return;
      const told = await parts.ask(watched.provider);
      if (watched.isGone) return;
      if (told.trouble === undefined) this.#learn(watched, told.ids, told.skipped);
      else this.#note(watched, told.trouble);
    });
  }

  /** The models of a provider without a list, as it said last; none before it did. */
  modelsOf(
    name: string,
    provider: Parameters<typeof sourceOf>[1] & { discovery?: Parameters<typeof modelFilter>[0] | undefined },
  ): readonly string[] {
    const { discovery = {} } = provider;
    const source = sourceOf(name, provider);
    const watched = this.#watched.get(name);
    const inventory = watched?.plan.source === source ? watched.inventory : this.#parts.recalled.get(source);
    return inventory?.ids.filter(modelFilter(discovery)) ?? [];
  }

  /** From now on there are these providers. New ones are asked at once, and with another `revision` those that failed, too. */
  keep(providers: readonly DiscoveringProvider[], revision: string): void {
    const isOther = revision !== this.#revision;
    this.#revision = revision;
    const present = new Set<string>();
    for (const provider of providers) {
      const { name, discovery: plan } = provider;
      if (plan === undefined) continue;
      present.add(name);
      const before = this.#watched.get(name);
      if (before?.plan.source === plan.source) this.#renew(before, provider, plan, isOther);
      else {
        if (before !== undefined) drop(before);
        this.#watched.set(name, this.#begin(provider, plan));
      }
    }
    for (const [name, watched] of this.#watched) {
      if (present.has(name)) continue;
      drop(watched);
      this.#watched.delete(name);
    }
  }

  /** The known models of each provider that is asked. */
  known(): Discovered[] {
    return [...this.#watched].map(([provider, { offered, inventory, failures }]) => {
      return { provider, count: offered.length, atMs: inventory?.atMs, failures };
    });
  }

  /** Some provider never said what models it has. */
  get isIncomplete(): boolean {
    for (const { inventory } of this.#watched.values()) if (inventory === undefined) return true;
    return false;
  }

  close(): void {
    clearTimeout(this.#telling);
    for (const watched of this.#watched.values()) drop(watched);
  }

  #begin(provider: DiscoveringProvider, plan: DiscoveryPlan): Watched {
    const inventory = this.#parts.recalled.get(plan.source);
    const offered = inventory?.ids.filter(plan.accepts) ?? [];
    const state = { trouble: undefined, failures: 0, skipped: 0, isGone: false, timer: undefined };
    const watched: Watched = { provider, plan, inventory, offered, ...state };
    this.#queue.add(watched);
    return watched;
  }

  #renew(watched: Watched, provider: DiscoveringProvider, plan: DiscoveryPlan, isOther: boolean): void {
    // The object is unchanged when only rules or keys of clients have changed.
    if (watched.provider === provider) return;
    const isPaced = watched.plan.refreshMs !== plan.refreshMs;
    watched.provider = provider;
    watched.plan = plan;
    watched.offered = watched.inventory?.ids.filter(plan.accepts) ?? [];
    if (isOther && watched.trouble !== undefined) this.#queue.add(watched);
    else if (isPaced && watched.timer !== undefined) this.#askLater(watched);
  }

  #note(watched: Watched, trouble: string): void {
    watched.failures += 1;
    if (trouble !== watched.trouble) {
      const { provider, offered } = watched;
      const kept = watched.inventory === undefined ? 'it has none until then' : `its last ${offered.length} stay`;
      this.#parts.log.warn({ provider: provider.name, reason: trouble }, `models could not be discovered; ${kept}`);
    }
    watched.trouble = trouble;
    this.#askLater(watched);
  }

  #learn(watched: Watched, ids: readonly string[], skipped: number): void {
    const { log, nowMs } = this.#parts;
    const { plan, offered: before, inventory: last } = watched;
    const provider = watched.provider.name;
    const atMs = Math.floor(nowMs());
    if (watched.trouble !== undefined) log.info({ provider }, 'models are discovered again');
    if (skipped > 0 && skipped !== watched.skipped)
      log.warn({ provider, skipped }, 'models are left out: too many, or ids that cannot be used');
    Object.assign(watched, { trouble: undefined, skipped, inventory: { ids, atMs } });
    watched.offered = ids.filter(plan.accepts);
    const added = without(watched.offered, before);
    const removed = without(before, watched.offered);
    if (added.length + removed.length > 0) {
      log.info({ provider, count: watched.offered.length, ...some({ added }), ...some({ removed }) }, 'models changed');
      this.#tell();
    }
    const isSame = last !== undefined && last.ids.length === ids.length && without(ids, last.ids).length === 0;
    if (!isSame || atMs - this.#savedAtMs >= saveMs) this.#save(atMs);
    this.#askLater(watched);
  }

  #save(atMs: number): void {
    this.#savedAtMs = atMs;
    const inventories = new Map<string, Inventory>();
    for (const { plan, inventory } of this.#watched.values())
      if (inventory !== undefined) inventories.set(plan.source, inventory);
    this.#parts.save(inventories);
  }

  #askLater(watched: Watched): void {
    const { plan, trouble } = watched;
    const [meanMs, spread] =
      trouble === undefined ? [plan.refreshMs, refreshSpread] : [Math.min(retryMs, plan.refreshMs), retrySpread];
    clearTimeout(watched.timer);
    const waitMs = meanMs * (1 + spread * (2 * Math.random() - 1));
    // A timer holds 31 bits.
    watched.timer = setTimeout(() => this.#queue.add(watched), Math.min(waitMs, 2 ** 31 - 1)).unref();
  }

  #tell(): void {
    this.#telling ??= setTimeout(() => {
      this.#telling = undefined;
      try {
        this.#parts.changed();
      } catch (error) {
        this.#parts.log.error({ err: error }, 'changed models could not be put in force');
      }
    }, gatherMs).unref();
  }
}

function drop(watched: Watched): void {
  watched.isGone = true;
  clearTimeout(watched.timer);
}

function without(ids: readonly string[], others: readonly string[]): string[] {
  const known = new Set(others);
  return ids.filter((id) => !known.has(id));
}

/** The first of a list by its name, and how many more there are; nothing when it is empty. */
function some(lists: Record<string, readonly string[]>): object {
  const [[name, list] = ['', []]] = Object.entries(lists);
  if (list.length === 0) return {};
  const more = list.length - mostNamed;
  return { [name]: list.slice(0, mostNamed), ...(more > 0 ? { [`${name}_more`]: more } : {}) };
}
