// The settings of a Redis server that can lose rules.
import type { Inspection } from '../state-store.ts';
import type { RedisCommand } from './connection.ts';

/** The facts of a server: settings as CONFIG GET gives them, facts as INFO gives them; as far as they may be read. */
export type ServerFacts = ReadonlyMap<string, string>;

/** Looks at a server again and again. */
export class RedisInspector {
  readonly #ask: (command: RedisCommand) => Promise<unknown>;
  /** Of the server of this run: its count of evicted keys when it was first seen. */
  #before: { readonly server: string; readonly evicted: number } | undefined;

  constructor(ask: (command: RedisCommand) => Promise<unknown>) {
    this.#ask = ask;
  }

  /** Reads the settings; one that the user may not read gives no warning. */
  async look(): Promise<Inspection> {
    const facts = new Map<string, string>();
    for (const section of ['server', 'memory', 'stats']) {
      const text = await this.#ask(['INFO', section]).catch(() => '');
      for (const [, name = '', value = ''] of String(text).matchAll(/^([a-z_]+):(.*?)\r?$/gm)) facts.set(name, value);
    }
    for (const name of ['maxmemory-policy', 'appendonly', 'save']) {
      const found = await this.#ask(['CONFIG', 'GET', name]).catch(() => []);
      const [, value] = found as string[];
      if (value !== undefined) facts.set(name, value);
    }
    const server = facts.get('run_id') ?? '';
    const evicted = Number(facts.get('evicted_keys') ?? 0);
    if (this.#before?.server !== server) this.#before = { server, evicted };
    return inspected(facts, evicted - this.#before.evicted);
  }
}

/** `evicted`: keys that the server has dropped while it was looked at. */
export function inspected(facts: ServerFacts, evicted: number): Inspection {
  const policy = facts.get('maxmemory-policy') ?? facts.get('maxmemory_policy');
  const isKept = facts.get('appendonly') !== 'no' || (facts.get('save') ?? '') !== '';
  return { warnings: isKept ? [] : [onlyInMemory], evicts: evictionOf(policy, evicted) };
}

const onlyInMemory =
  'Redis keeps nothing on disk (appendonly no, no save points): a restart loses every rule; set appendonly yes';

/** `policy` undefined: the server does not say. */
function evictionOf(policy: string | undefined, evicted: number): string | undefined {
  if (policy === 'noeviction' || (policy === undefined && evicted === 0)) return undefined;
  const what = evicted > 0 ? `has evicted ${evicted} keys` : 'evicts keys when its memory is full';
  return `Redis ${what} (maxmemory-policy ${policy ?? 'unknown'}) and could drop every rule and key, so it gets no new ones, and what shared limits have counted; set maxmemory-policy to noeviction`;
}
