// Measures what conditions add to the admission of a request, from its body to the targets in their order: `node test/bench/conditions.ts`.
import { pathToFileURL } from 'node:url';
import { credentialsOf } from '../../domain/keys/credentials.ts';
import { readCall } from '../../proxy/call/call.ts';
import { RequestFacts } from '../../proxy/call/request-facts.ts';
import { createBalance } from '../../proxy/routing/balance/balance.ts';
import { compile } from '../../proxy/snapshot/compile.ts';
import { resolve } from '../../proxy/stages/resolve.ts';
import { TargetStates } from '../../proxy/targets/target-states.ts';
import type { Alias } from '../../schemas/types.ts';
import { loadExpressionParser } from '../../schemas/validation/parse-expression.ts';
import { sampleConfig } from '../proxy/sample-config.ts';

/** What an alias with conditions may add to an admission. Nanoseconds. */
const mostNs = 2_000;
const calls = 50_000;
const rounds = 9;
const models = ['small', 'large', 'eyes', 'night'];

const cases: readonly [what: string, when: readonly string[], alias?: string][] = [
  ['no condition', []],
  ['one on the alias: path and labels', [], 'path.within("/team") && "gold" in labels'],
  [
    'one for each of four: stream, tools, hour, a header',
    ['!stream', 'tools == 0', 'hour < 24 || stream', 'headers["x-tier"] == "gold"'],
  ],
  ['images, in a body of 1 KB', ['!images']],
  ['tokens, in a body of 1 KB', ['tokens < 8000', 'tokens >= 8000']],
  [
    'all of these',
    [
      '!images && !stream',
      'tokens < 8000',
      'tools == 0 || hour > 3',
      'headers["x-tier"] == "gold" && "gold" in labels',
    ],
  ],
];

const body = Buffer.from(
  JSON.stringify({
    model: 'chat',
    messages: [
      { role: 'system', content: 'You are a careful assistant. '.repeat(6) },
      { role: 'user', content: 'Say what the weather is like in three words, and why. '.repeat(14) },
    ],
    tools: [],
  }),
);
const rawHeaders =
  'Host,a,Authorization,Bearer x,Content-Type,application/json,User-Agent,b,Accept,*/*,X-Tier,gold'.split(',');

interface Cost {
  readonly what: string;
  readonly ns: number;
}

/** Processor time, the median of the rounds, of resolving a name and ordering its targets. About 5 s. */
async function measure(): Promise<Cost[]> {
  await loadExpressionParser();
  const works = cases.map(([what, when, own]) => ({ what, work: admission(when, own), samples: [] as number[] }));
  for (let round = 0; round < rounds; round += 1) {
    for (const { work, samples } of works) {
      const before = process.threadCpuUsage();
      for (let call = 0; call < calls; call += 1) work();
      const { user, system } = process.threadCpuUsage(before);
      samples.push(((user + system) * 1000) / calls);
    }
  }
  return works.map(({ what, samples }) => ({ what, ns: samples.sort((a, b) => a - b)[rounds >> 1] ?? 0 }));
}

function admission(when: readonly string[], own: string | undefined): () => void {
  const targets = models.map((model, index): Alias['targets'][number] => {
    const condition = when[index];
    return { model: `p/${model}`, weight: 1, ...(condition === undefined ? {} : { when: condition }) };
  });
  const alias = { source: 'chat', targets, ...(own === undefined ? {} : { when: own }) };
  const snapshot = compile(
    sampleConfig({ providers: { p: { models } }, aliases: [alias] }),
    '',
    credentialsOf(undefined, []),
  );
  const balance = createBalance(new TargetStates());
  const call = readCall(body);
  const caller = { userPath: '/team/app', labels: ['silver', 'gold'] };
  const { localTime } = snapshot;
  return () => {
    const startedAtMs = 1_800_000_000_000;
    const said = {
      caller,
      endpoint: '/v1/chat/completions',
      stream: false,
      rawHeaders,
      said: call,
      localTime,
      startedAtMs,
    };
    const route = resolve(call, snapshot, undefined, new RequestFacts(said));
    balance(route, { nowMs: startedAtMs, thread: undefined });
  };
}

if (pathToFileURL(process.argv[1] ?? '').href === import.meta.url) {
  const costs = await measure();
  const bare = costs[0]?.ns ?? 0;
  for (const { what, ns } of costs)
    console.log(`${what.padEnd(56)}${ns.toFixed(0).padStart(7)} ns${`+${(ns - bare).toFixed(0)}`.padStart(8)}`);
  const worst = Math.max(...costs.map(({ ns }) => ns - bare));
  console.log(`conditions add ${worst.toFixed(0)} ns at most; the target is ${mostNs}`);
  process.exitCode = worst > mostNs ? 1 : 0;
}
