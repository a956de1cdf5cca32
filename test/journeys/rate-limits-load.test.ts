// After a load with many kinds of clients: every slot is free, every admitted request counted once, every token charged with its source.
import { t as suite, test } from 'tap';
import { chatHead } from '../support/chat-call.ts';
import { extent } from '../support/extent.ts';
import { createGate, type Entry, startFakeUpstream } from '../support/fake-upstream.ts';
import { readMetric, startGateway } from '../support/gateway.ts';
import { createRandom } from '../support/random.ts';
import { openRaw, type Step } from '../support/raw-http.ts';
import { waitFor } from '../support/wait-for.ts';

const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 2 ** 31);
const total = extent(2_000, 500);
const atOnce = 50;
/** Reported totals lie above it, estimates below. */
const leastReported = 1_000_000;
const plenty = 2 ** 50;

/** Where a client leaves. */
const points = ['in the head', 'in the body', 'once sent', 'once the provider has it', 'after some bytes'] as const;

interface Job {
  readonly id: string;
  readonly stream: boolean;
  readonly leaves: (typeof points)[number] | undefined;
  readonly how: 'fin' | 'rst';
  /** How many bytes of the answer the client reads before it leaves. */
  readonly bytes: number;
}

function planJobs(): Job[] {
  const random = createRandom(seed);
  return Array.from({ length: total }, (_, index) => ({
    id: `load-${index}`,
    stream: random() < 0.5,
    leaves: random() < 0.2 ? points[Math.floor(random() * points.length)] : undefined,
    how: random() < 0.5 ? 'fin' : 'rst',
    bytes: 1 + Math.floor(random() * 3_000),
  }));
}

const upstream = await startFakeUpstream({ t: suite });
const gateway = await startGateway(suite, {
  upstream,
  env: { GATEWAY_ENTITLEMENTS: 'quota_templates' },
  config: {
    rate_limits: {
      user_paths: [
        {
          path: '/',
          limits: [
            { period: 'day', max_requests: plenty, max_tokens: plenty },
            { period: 'concurrent', max_requests: 46 },
          ],
        },
        {
          path: '/load',
          per_child: true,
          limits: [
            { period: 'day', max_requests: plenty, max_tokens: plenty },
            { period: 'concurrent', max_requests: 1 },
          ],
        },
      ],
      providers: [
        {
          name: 'fake',
          limits: [
            { period: 'day', max_requests: plenty, max_tokens: plenty },
            { period: 'concurrent', max_requests: 43 },
          ],
        },
      ],
      models: [{ model: 'fake-small', limits: [{ period: 'concurrent', max_requests: 40 }] }],
    },
  },
});

const bodyOf = ({ stream }: Job) =>
  JSON.stringify({ model: 'fake/fake-small', messages: [{ role: 'user', content: 'say hello' }], stream });
const headersOf = ({ id }: Job) => ({ 'x-request-id': id, 'x-gateway-user-path': `/load/${id}/app` });

/** Reads the answer to its end and gives its status. */
async function stay(job: Job): Promise<number> {
  const response = await gateway.fetch('/v1/chat/completions', {
    method: 'POST',
    headers: { ...headersOf(job), 'content-type': 'application/json' },
    body: bodyOf(job),
  });
  const text = await response.text();
  if (response.status === 200 && !text.endsWith(job.stream ? 'data: [DONE]\n\n' : '}')) return 0;
  return response.status;
}

/** Sends as much as the job says, reads as much as it says, and is gone. */
async function leave(job: Job, isAtProvider: (id: string) => boolean): Promise<void> {
  const connection = await openRaw(gateway.port);
  const body = bodyOf(job);
  const head = chatHead(body.length, headersOf(job));
  const steps: Record<(typeof points)[number], Step> = {
    'in the head': head.slice(0, -20),
    'in the body': head + body.slice(0, 20),
    'once sent': head + body,
    'once the provider has it': head + body,
    'after some bytes': head + body,
  };
  await connection.send(steps[job.leaves ?? 'once sent']);
  const isAnswered = (): boolean => connection.exchange().responses.some(({ complete }) => complete);
  if (job.leaves === 'once the provider has it') {
    await waitFor(`${job.id} to get on`, () => isAtProvider(job.id) || isAnswered());
  }
  if (job.leaves === 'after some bytes') {
    await connection.waitFor(({ raw }) => raw.length >= job.bytes || isAnswered());
  }
  if (job.how === 'fin') connection.close();
  else connection.reset();
}

interface Listed {
  readonly per_child: boolean;
  readonly period_seconds: number;
  readonly requests_used: number;
  readonly tokens_used: number;
  readonly in_flight: number;
}

async function usageOf(userPath: string): Promise<Listed[]> {
  const response = await gateway.fetch('/v1/usage', { headers: { 'x-gateway-user-path': userPath } });
  return ((await response.json()) as { rate_limits: Listed[] }).rate_limits;
}

/** Does the jobs in order, so many at once. */
async function inParallel<T>(jobs: readonly Job[], work: (job: Job) => Promise<T>): Promise<Map<string, T>> {
  const done = new Map<string, T>();
  const waiting = jobs.values();
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const job of waiting) done.set(job.id, await work(job));
    }),
  );
  return done;
}

await test(`${total} requests, a fifth of them abandoned somewhere: the books are right to the last token`, async (t) => {
  const startedAtMs = performance.now();
  t.comment(`TEST_SEED=${seed}`);
  const jobs = planJobs();
  const entries = new Map<string, Entry>();
  // The first calls are held until one was refused, because then all slots are taken.
  const gate = createGate();
  await upstream.behave((entry) => {
    entries.set(entry.header('x-request-id') ?? '', entry);
    const usage = { prompt_tokens: leastReported, completion_tokens: entry.id, total_tokens: leastReported + entry.id };
    const next = { kind: 'openai', usage, ...(entry.id % 8 === 0 ? { pauseMs: 1 } : {}) } as const;
    return gate.released ? next : { kind: 'hold', gate, next };
  });
  const statuses = await inParallel(jobs, async (job) => {
    if (job.leaves !== undefined) return leave(job, (id) => entries.has(id));
    const status = await stay(job);
    if (status === 429) gate.release();
    return status;
  });

  const idle = await waitFor('every slot to be back', async () => {
    const text = await gateway.metrics();
    const open = readMetric(text, 'gateway_requests_in_flight');
    return open === 0 && readMetric(text, 'gateway_rate_limit_in_flight') === 0 && text;
  });
  const samples = idle.split('\n').filter((line) => line.startsWith('gateway_rate_limit_in_flight{'));
  t.equal(samples.length, 4, 'both user paths, the provider, the model');
  t.ok(samples.every((line) => line.endsWith(' 0')));
  t.equal(readMetric(idle, 'gateway_rate_limit_reserved_tokens'), 0, 'nothing stays set aside');

  const stayed = jobs.filter(({ leaves }) => leaves === undefined);
  const left = jobs.filter(({ leaves }) => leaves !== undefined);
  const ok = stayed.filter(({ id }) => statuses.get(id) === 200);
  const refused = stayed.filter(({ id }) => statuses.get(id) === 429);
  t.equal(ok.length + refused.length, stayed.length, 'every client that stayed got a whole answer or a refusal');
  t.ok(refused.length > 0 && ok.length > total / 2);
  t.ok(left.length > total / 10);

  const usages = await inParallel(jobs, ({ id }) => usageOf(`/load/${id}/app`));
  const child = (id: string) => (usages.get(id) ?? []).filter(({ per_child }) => per_child);
  const charged = (id: string) => child(id).reduce((sum, { tokens_used }) => sum + tokens_used, 0);
  const counted = (id: string) => child(id).reduce((sum, { requests_used }) => sum + requests_used, 0);
  t.ok([...usages.values()].every((rules) => rules.length === 4 && rules.every(({ in_flight }) => in_flight === 0)));

  t.strictSame(
    ok.filter(({ id }) => counted(id) !== 1 || !entries.get(id)?.finished),
    [],
    'served: counted once',
  );
  t.strictSame(
    refused.filter(({ id }) => counted(id) !== 0 || entries.has(id)),
    [],
    'refused: counted nowhere',
  );
  const early = left.filter(({ leaves }) => leaves === 'in the head' || leaves === 'in the body');
  t.strictSame(
    early.filter(({ id }) => counted(id) !== 0 || charged(id) !== 0),
    [],
    'gone before it was a request',
  );
  t.strictSame(
    jobs.filter(({ id }) => entries.has(id) && counted(id) !== 1),
    [],
    'asked of the provider: counted once',
  );
  // A call can be given up before the provider has seen it; it was admitted nevertheless.
  const unseen = jobs.filter(({ id }) => counted(id) === 1 && !entries.has(id));
  t.strictSame(
    unseen.filter(({ leaves }) => leaves !== 'once sent'),
    [],
  );

  const admitted = jobs.reduce((sum, { id }) => sum + counted(id), 0);
  const all = (await usageOf('/'))[1];
  t.equal(all?.requests_used, admitted);
  t.equal(admitted, entries.size + unseen.length);
  const byProvider = { scope: 'provider', dimension: 'requests', outcome: 'allow' };
  t.equal(readMetric(idle, 'gateway_rate_limit_decisions_total', byProvider), admitted, 'the provider says the same');

  const toldOf = (id: string) => entries.get(id)?.usage?.total_tokens;
  t.strictSame(
    ok.filter(({ id }) => charged(id) !== toldOf(id)),
    [],
    'served: charged what the provider reported',
  );
  const reported = left.filter(({ id }) => charged(id) >= leastReported);
  t.strictSame(
    reported.filter(({ id }) => charged(id) !== toldOf(id)),
    [],
    'left, reported in time: as reported',
  );
  const estimated = left.filter(({ id }) => charged(id) > 0 && charged(id) < leastReported);
  t.strictSame(
    estimated.filter(({ id }) => !entries.has(id)),
    [],
    'an estimate is for an answer that had begun',
  );
  t.ok(estimated.length > 0);
  t.strictSame(
    left.filter(({ id }) => entries.has(id) && charged(id) === 0),
    [],
    'every client that left is charged for the request that the provider got',
  );
  const sum = (list: readonly Job[]) => list.reduce((so, { id }) => so + charged(id), 0);
  const source = (name: string) => readMetric(idle, 'gateway_rate_limit_tokens_total', { source: name }) ?? 0;
  t.equal(source('reported'), sum(ok) + sum(reported));
  t.equal(source('partial'), sum(estimated), 'only clients that left are charged for a part');
  t.equal(all?.tokens_used, sum(jobs));
  const longest = Math.max(0, ...estimated.map(({ id }) => charged(id)));
  t.ok(longest < 200, `an estimate is of the answer's size: at most ${longest}`);
  t.same(upstream.malformed, []);

  const tookMs = performance.now() - startedAtMs;
  t.comment(
    `${ok.length} served, ${refused.length} refused, ${left.length} left (${reported.length} charged as reported, ` +
      `${estimated.length} by estimate, ${unseen.length} before the provider saw them), ${tookMs.toFixed(0)} ms`,
  );
});
