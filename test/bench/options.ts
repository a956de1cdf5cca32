// What may be typed after `npm run bench --`, read and checked.
import { parseArgs } from 'node:util';
import { CACHED } from './cache.ts';
import { VARIANTS, type Variant } from './findings.ts';
import { PARTS, type Part } from './full-run.ts';
import type { Peer } from './peer.ts';
import { MASTER_KEY } from './processes.ts';
import { CHAT_MODEL, WORKLOADS, type Workload } from './workload.ts';

/** Where the provider listens, so that a peer can be told. */
const UPSTREAM_PORT = '9199';
const OWN_VARIANTS: readonly Variant[] = VARIANTS.filter((variant) => variant !== 'peer');

/** Shown with `--help` and after a word nobody knows. */
export const USAGE = `usage: npm run bench -- [options]
  (no option)          the table: bare pass-through and gateway in all workloads, memory, start, targets;
                       then translation, many keys and launches in short; about 12 minutes
  --quick              about 30 s: fewer workloads and slices
  --only WHAT          json, sse, held, start, limiter, with commas
  --variants A,B       of ${VARIANTS.join(', ')} (default all)
  --rounds N           slices per workload and variant (default 20; with --quick 5; with --flags 12)
  --peer URL           another gateway beside this one: it runs already, takes the key ${MASTER_KEY}
                       and the model ${CHAT_MODEL}, and asks the provider of the bench at http://127.0.0.1:PORT/v1 (--upstream-port)
    --upstream-port N  where that listens (default ${UPSTREAM_PORT} with --peer, else any)
    --peer-header LINE a line of the head that the peer needs, such as 'x-provider: openai'; several times if need be
  --json FILE          writes every slice to FILE
  --record             appends the ratios to test/bench/history.jsonl

  --compare COMMIT     CPU per request of that commit's gateway and of this one, side by side, with an interval; 2 minutes;
                       a folder with another tree will do; COMMIT,OTHER compares OTHER instead of this one
    --only WHAT        of ${WORKLOADS.filter((name) => name !== 'held').join(', ')} (default json,sse,burst,paced)
    --pairs N          pairs per start of the gateways, 0.4 s each (default 6)
    --launches N       how often both are started (default 6)
  --flags              a table of Node flags: CPU, latency, memory and start of the gateway with each
    --node A,B         Node binaries to compare (default the one that runs this)
  --records            the record store: a million entries in 200,000 threads, on SQLite and PostgreSQL; how fast they are kept, how
                       long each page takes, and which indexes it uses; then as many usage records, and their reports; 20 minutes
    --entries N        of them (default 1000000)
    --rounds N         times that each page is asked for (default 30)
  --records-cost       CPU per request with records on, and with bodies recorded, × records off, side by side; 10 minutes
    --only WHAT        of the workloads of --compare (default json-1k,json-8k,sse)
    --pairs N          rounds per start of the gateways, 1 s each (default 12)
    --launches N       how often they are started (default 6)
  --dashboard          how long each page of the dashboard takes to its first data in a browser, and each call it waits for; 4 minutes
    --rules N          rate limits, half of them of operators (default 10000)
    --entries N        audit entries (default 1000000)
    --rounds N         times that each page is opened (default 5)
  --translation        what a translated call costs, × one whose bytes are relayed; 1 minute
  --cache              what a miss costs, × a gateway without cache, and a hit, × a miss, side by side; 2 minutes
    --only WHAT        of json, sse, paced (default all)
    --pairs N          rounds per start of the gateways, 1 s each (default 4)
    --launches N       how often they are started (default 3)
  --workers N          what N workers serve (GATEWAY_WORKERS), × one proxy alone, by CPU per request, so it needs no free cores; 3 minutes
    --only WHAT        of the workloads of --compare (default json-1k,sse)
    --pairs N          rounds per start of the gateways (default 6)
    --launches N       how often both are started (default 3)
  --fleet              what caps that a fleet shares cost below them, × caps of each proxy, by CPU per request; needs redis-server; 3 minutes
    --only WHAT        of the workloads of --compare (default json-1k,sse)
    --pairs N          rounds per start of the gateways (default 6)
    --launches N       how often both are started (default 3)
  --spread             how far launches lie apart, × a bare pass-through and × other launches of the same moment, with records and without; which are slow,
                       and what their garbage collector did; 15 minutes
    --only WHAT        of the workloads of --compare (default json,sse)
    --pairs N          rounds per launch (default 6)
    --launches N       how many (default 30)
  --many-keys          what 10,000 managed keys cost, each with its user path and its rule, × 10 of them: CPU of the proxy per request, and
                       of the control plane per record, with usage records alone and with audit entries; 4 minutes
    --only WHAT        of the workloads of --compare (default json)
    --pairs N          rounds per start of both planes (default 6)
    --launches N       how often they are started (default 3)
  --changes            what an operator's change costs where there are 89,000 keys and 10,000 rules: until it is answered, until it is in force,
                       how long the event loops stand still for it; and the import of 10,000 keys; 2 minutes
    --pairs N          changes of each kind (default 20)
  --slices             what holds the event loops of both planes up under load: work above 2 ms, by where it began, and pauses of the collector;
                       others disturb it: it needs a quiet machine; 1 minute
    --only WHAT        of the workloads of --compare (default json,sse)
  --profile            where the CPU time of gateway and bare goes, function by function`;

/** The mode, and what belongs to it. */
export interface Options {
  readonly mode: 'table' | 'compare' | 'flags' | (typeof others)[number];
  readonly quick: boolean;
  /** Nothing is left out of the table. */
  readonly isWhole: boolean;
  readonly parts: readonly Part[];
  readonly limiter: boolean;
  readonly workloads: readonly Workload[];
  readonly variants: readonly Variant[];
  readonly rounds: number | undefined;
  readonly json: string | undefined;
  /** Another gateway to be measured, too. */
  readonly peer: Peer | undefined;
  /** Of the provider; 0: any. */
  readonly upstreamPort: number;
  readonly record: boolean;
  /** Commits or folders. */
  readonly compare: readonly string[];
  readonly pairs: number;
  readonly launches: number;
  readonly nodes: readonly string[];
  /** How many workers are compared with one. */
  readonly workers: number;
  /** Of the record store. */
  readonly entries: number;
  /** Of the dashboard. */
  readonly rules: number;
}

const others = [
  'profile',
  'records',
  'records-cost',
  'dashboard',
  'translation',
  'cache',
  'workers',
  'fleet',
  'spread',
  'many-keys',
  'slices',
  'changes',
] as const;

/** What a mode that loads gateways side by side measures unless told otherwise, and how often. */
interface Usual {
  readonly workloads: readonly Workload[];
  readonly pairs: number;
  readonly launches: number;
}

const USUAL: Usual = { workloads: ['json-1k', 'sse'], pairs: 6, launches: 3 };
const CONTESTS: Partial<Record<Options['mode'], Usual>> = {
  compare: { workloads: ['json', 'sse', 'burst', 'paced'], pairs: 6, launches: 6 },
  'records-cost': { workloads: ['json-1k', 'json-8k', 'sse'], pairs: 12, launches: 6 },
  cache: { workloads: CACHED, pairs: 4, launches: 3 },
  workers: USUAL,
  fleet: USUAL,
  changes: { ...USUAL, pairs: 20 },
  slices: { workloads: ['json', 'sse'], pairs: 1, launches: 1 },
  spread: { workloads: ['json', 'sse'], pairs: 6, launches: 30 },
  'many-keys': { ...USUAL, workloads: ['json'] },
};

/** Reads the words; undefined when the usage is to be shown instead. Throws with the reason when a word is wrong. */
export function readOptions(words: string[]): Options | undefined {
  const { values } = parseArgs({
    args: words,
    options: {
      quick: { type: 'boolean', default: false },
      only: { type: 'string' },
      variants: { type: 'string' },
      rounds: { type: 'string' },
      json: { type: 'string' },
      peer: { type: 'string' },
      'peer-header': { type: 'string', multiple: true, default: [] },
      'upstream-port': { type: 'string' },
      record: { type: 'boolean', default: false },
      compare: { type: 'string' },
      pairs: { type: 'string' },
      launches: { type: 'string' },
      flags: { type: 'boolean', default: false },
      node: { type: 'string', default: process.execPath },
      profile: { type: 'boolean', default: false },
      translation: { type: 'boolean', default: false },
      cache: { type: 'boolean', default: false },
      records: { type: 'boolean', default: false },
      'records-cost': { type: 'boolean', default: false },
      dashboard: { type: 'boolean', default: false },
      workers: { type: 'string' },
      fleet: { type: 'boolean', default: false },
      changes: { type: 'boolean', default: false },
      slices: { type: 'boolean', default: false },
      spread: { type: 'boolean', default: false },
      'many-keys': { type: 'boolean', default: false },
      entries: { type: 'string', default: '1000000' },
      rules: { type: 'string', default: '10000' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const { quick, json, record } = values;
  const compare = listOf(values.compare);
  const modes = [values.compare === undefined ? [] : ['compare'], values.flags ? ['flags'] : []].flat();
  const chosen = [
    ...modes,
    ...others.filter((name) => values[name] !== undefined && values[name] !== false),
  ] as Options['mode'][];
  if (chosen.length > 1) throw new Error(`--${chosen.join(' and --')} cannot go together`);
  const [mode = 'table'] = chosen;
  const isCompare = mode === 'compare';
  if (isCompare && (compare.length < 1 || compare.length > 2)) throw new Error('--compare takes one commit or two');
  const peer = values.peer === undefined ? undefined : { url: values.peer, headers: values['peer-header'] };
  const port = values['upstream-port'] ?? (peer === undefined ? undefined : UPSTREAM_PORT);
  const contest = CONTESTS[mode];
  const { workloads, pairs, launches } = contest ?? { ...USUAL, launches: 6 };
  const comparable = mode === 'cache' ? CACHED : WORKLOADS.filter((name) => name !== 'held');
  const known = contest === undefined ? [...PARTS, 'limiter'] : comparable;
  const only = values.only === undefined ? undefined : check('--only', listOf(values.only), known);
  const parts = only ?? PARTS.filter((part) => !(quick && part === 'held'));
  return {
    mode,
    quick,
    isWhole: !quick && only === undefined && values.variants === undefined,
    parts: PARTS.filter((part) => parts.includes(part)),
    limiter: only?.includes('limiter') ?? true,
    workloads: contest !== undefined && only !== undefined ? (only as Workload[]) : workloads,
    peer,
    upstreamPort: port === undefined ? 0 : countOf('--upstream-port', port),
    variants:
      values.variants === undefined
        ? OWN_VARIANTS.concat(peer === undefined ? [] : 'peer')
        : check('--variants', listOf(values.variants), VARIANTS),
    rounds: values.rounds === undefined ? undefined : countOf('--rounds', values.rounds),
    json,
    record,
    compare,
    pairs: countOf('--pairs', values.pairs ?? String(pairs)),
    launches: countOf('--launches', values.launches ?? String(launches)),
    nodes: listOf(values.node),
    workers: countOf('--workers', values.workers ?? '2'),
    entries: countOf('--entries', values.entries),
    rules: countOf('--rules', values.rules),
  };
}

function listOf(text = ''): string[] {
  return text.split(',').filter((word) => word !== '');
}

function check<Word extends string>(option: string, words: readonly string[], known: readonly Word[]): Word[] {
  const wrong = words.filter((word) => !(known as readonly string[]).includes(word));
  if (wrong.length > 0) throw new Error(`${option} knows no ${wrong.join(', ')}; it knows ${known.join(', ')}`);
  return words as Word[];
}

function countOf(option: string, text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1) throw new Error(`${option} must be a whole number from 1 on, not ${text}`);
  return count;
}
