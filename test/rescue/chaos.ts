// Three providers that misbehave at random, under a steady load: while one of them can serve a request, its client gets one whole answer.
// npm run soak runs it for two minutes:
//   node test/rescue/chaos.ts --seconds 120 --per-minute 2000 --seed 1
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { readMetric, startGateway, untilIdle } from '../support/gateway.ts';
import { createRandom } from '../support/random.ts';
import type { Teardown } from '../support/teardown.ts';
import { doors } from './cells.ts';
import { type Heard, hear } from './heard.ts';
import { behaviourOf, behind } from './play.ts';
import type { Act, WireName } from './scenario.ts';
import type { Answer } from './wires.ts';

export interface ChaosOptions {
  readonly seconds: number;
  readonly perMinute: number;
  readonly seed: number;
}

export interface ChaosReport {
  readonly requests: number;
  /** What providers have seen. */
  readonly calls: number;
  /** Calls beyond the first of each request, as the gateway counts them, and how many the budget allows. */
  readonly further: number;
  readonly budget: number;
  /** Streams that another provider has told the rest of. */
  readonly rescued: number;
  /** What went wrong, in words. */
  readonly faults: readonly string[];
}

const wires: readonly WireName[] = ['chat', 'messages', 'responses'];
const paths = ['/v1/chat/completions', '/v1/messages', '/v1/responses'];
const letters = ['a', 'b', 'c'];
/** The share of calls that go wrong. */
const badShare = 0.25;
const budgetShare = 0.5;
const budgetFloor = 10;
const patienceMs = 30_000;
/** None of these says that the next request will fail, too: clients are told the wait of a provider that says so. */
const always: readonly Act[] = [
  { status: 500 },
  { status: 503 },
  { status: 529 },
  { until: 'nothing', ending: 'closes' },
  { until: 'nothing', ending: 'resets' },
  { until: 'nothing', ending: 'silence' },
  { until: 'head', ending: 'closes' },
  { until: 'middle', ending: 'closes' },
  { until: 'middle', ending: 'resets' },
  { body: '{"error":{"message":"Overloaded.","type":"server_error","code":503}}', type: 'application/json' },
  { body: '<!doctype html><title>Maintenance</title>', type: 'text/html' },
  { waitsMs: 100, at: 'nothing' },
];
const ofStreams: readonly Act[] = [
  { until: 'role', ending: 'closes' },
  { until: 'head', says: 'error' },
  { until: 'role', says: 'error' },
  { until: 'middle', says: 'error' },
  { until: 'finish', ending: 'ends' },
  { waitsMs: 100, at: 'role' },
];

/** What the three providers do with a request, and what each would answer. */
interface Fate {
  readonly plans: readonly Act[];
  readonly answers: readonly Answer[];
  readonly door: (typeof doors)[number];
  readonly isStream: boolean;
  readonly mark: string;
}

/** Always the same for the same seed and number. One provider at least behaves. */
function fateOf(seed: number, number: number): Fate {
  const random = createRandom(seed * 1_000_003 + number);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;
  const isStream = random() < 0.5;
  const mark = `Q${number}x${Math.floor(random() * 1e9)}`;
  const good = Math.floor(random() * wires.length);
  const acts = isStream ? [...always, ...ofStreams] : always;
  const plans = wires.map((_, index): Act => (index === good || random() > badShare ? 'answers' : pick(acts)));
  const answers = letters.map((letter, index) => ({
    text: `Provider ${letter} answers ${mark}: every word of this was said by it, and by no other provider.`,
    usage: { input: 100 + (number % 900) + index, output: 20 + index },
  }));
  return { plans, answers, door: pick(doors), isStream, mark };
}

/** Runs the load; what it starts ends with `t`. */
export async function runChaos(t: Teardown, { seconds, perMinute, seed }: ChaosOptions): Promise<ChaosReport> {
  const upstream = await startFakeUpstream({ t, models: [] });
  /** What providers got for each request: the path, and the body. */
  const asked = new Map<number, string[]>();
  await upstream.behave((entry) => {
    const request = entry.body.toString();
    const number = Number(/Q(\d+)x/.exec(request)?.[1]);
    asked.set(number, [...(asked.get(number) ?? []), `${entry.path} ${request}`]);
    const { plans, answers, isStream } = fateOf(seed, number);
    const index = paths.indexOf(entry.path);
    const [wire = 'chat', answer, act = 'answers'] = [wires[index], answers[index], plans[index]];
    if (answer === undefined) return { kind: 'error', status: 404 };
    const first = answers.find(({ text }) => request.includes(text.slice(0, text.indexOf(':')))) ?? answer;
    const player = { wire, model: 'm', answer, plan: act, isStream, first };
    return behaviourOf(behind(player, request), 0, request);
  });
  const gateway = await startGateway(t, { config: configOf(new URL(upstream.url).origin) });
  const faults: string[] = [];
  const open = new Set<Promise<void>>();
  let [requests, rescued, reported] = [0, 0, 0];
  const ask = async (number: number): Promise<void> => {
    const { door, isStream, mark, plans, answers } = fateOf(seed, number);
    const heard = await hear(gateway, { door, isStream, model: 'any', mark }, patienceMs);
    const { fault, isRescued } = judgeAnswer(heard, answers, asked.get(number) ?? []);
    if (isRescued) rescued += 1;
    const { input, output } = lastUsage(asked.get(number) ?? [], answers);
    reported += input + output;
    const calls = (asked.get(number) ?? []).map((call) => call.split(' ', 1)[0]).join(', ');
    if (fault !== undefined)
      faults.push(`${door} ${isStream ? 'SSE' : 'JSON'} ${mark} ${JSON.stringify(plans)}: ${fault}; asked: ${calls}`);
  };
  const startedMs = performance.now();
  while (performance.now() - startedMs < seconds * 1000) {
    const answered = ask(requests);
    requests += 1;
    open.add(answered);
    void answered.finally(() => open.delete(answered));
    await pause(Math.max(0, startedMs + (requests * 60_000) / perMinute - performance.now()));
  }
  await Promise.all(open);
  await untilIdle(gateway);
  const metrics = await gateway.metrics();
  const further = readMetric(metrics, 'gateway_retries_total') ?? 0;
  const refused = readMetric(metrics, 'gateway_retry_budget_exhausted_total') ?? 0;
  const budget = budgetFloor * Math.ceil(seconds / 10 + 1) + budgetShare * requests;
  faults.push(...wrongCounts(metrics, reported));
  if (further > budget) faults.push(`${further} further calls, and the budget allows ${budget}`);
  if (refused > 0) faults.push(`${refused} further calls were not made, because the budget was used up`);
  return { requests, calls: upstream.ledger.length, further, budget, rescued, faults };
}

function configOf(origin: string): object {
  const usual = { api_key: 'sk-chaos', models: ['m'], timeouts: { first_byte: '2s' } };
  const providers = {
    a: { ...usual, type: 'openai', base_url: `${origin}/v1`, dialects: ['chat'] },
    b: { ...usual, type: 'anthropic', base_url: `${origin}/v1` },
    c: { ...usual, type: 'openai', base_url: `${origin}/v1`, dialects: ['responses'] },
  };
  const targets = letters.map((name) => ({ model: `${name}/m` }));
  return { providers, aliases: [{ source: 'any', targets, retry: { budget: budgetShare }, rescue: 'continue' }] };
}

/** What the provider that was asked last, and has ended the answer, reports of it. */
function lastUsage(calls: readonly string[], answers: readonly Answer[]): Answer['usage'] {
  const [path = ''] = calls.at(-1)?.split(' ', 1) ?? [];
  return answers[paths.indexOf(path)]?.usage ?? { input: 0, output: 0 };
}

/** Where the tokens that the gateway counted differ from those that providers reported, in words; what broke off comes on top of them. */
function wrongCounts(metrics: string, reported: number): string[] {
  const charged = (source?: string): number =>
    readMetric(metrics, 'gateway_rate_limit_tokens_total', source === undefined ? {} : { source }) ?? 0;
  const counted = readMetric(metrics, 'gateway_tokens_total') ?? 0;
  return [
    ...(charged('reported') === reported ? [] : [`${charged('reported')} tokens are charged, ${reported} reported`]),
    ...(counted === charged() ? [] : [`${counted} tokens are counted, ${charged()} charged`]),
  ];
}

/** Whether a client has got one whole answer, with its usage. */
function judgeAnswer(
  { status, error, oddity, text, finish, isEnded, usage }: Heard,
  answers: readonly Answer[],
  calls: readonly string[],
): { fault: string | undefined; isRescued: boolean } {
  const own = answers.findIndex((answer) => answer.text === text);
  const isRescued = own >= 0 && calls.some((body) => body.includes(text.slice(0, text.indexOf(':'))));
  const fault = ((): string | undefined => {
    if (oddity !== undefined) return oddity;
    if (status !== 200 || error !== undefined) return `${status} ${error?.code}: ${error?.message}`;
    if (own < 0) return `the answer of no provider: ${text}`;
    if (finish !== 'complete' || !isEnded) return `finish ${finish}, ended ${isEnded}`;
    const told = answers[own]?.usage;
    if (isRescued) return (usage?.output ?? 0) > 0 ? undefined : 'no usage';
    const isSame = usage?.input === told?.input && usage?.output === told?.output;
    return isSame ? undefined : `usage ${usage?.input}, ${usage?.output} instead of ${told?.input}, ${told?.output}`;
  })();
  return { fault, isRescued };
}

if (import.meta.main) {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({ options: { seconds: text, 'per-minute': text, seed: text } });
  const undoing: (() => unknown)[] = [];
  const options = {
    seconds: Number(values.seconds ?? 120),
    perMinute: Number(values['per-minute'] ?? 2000),
    seed: Number(values.seed ?? 1),
  };
  try {
    const { faults, ...figures } = await runChaos({ teardown: (undo) => undoing.unshift(undo) }, options);
    console.log(JSON.stringify({ ...options, ...figures, faults: faults.length }));
    for (const fault of faults) process.stderr.write(`${fault}\n`);
    process.exitCode = faults.length === 0 ? 0 : 1;
  } finally {
    for (const undo of undoing) await undo();
  }
}
