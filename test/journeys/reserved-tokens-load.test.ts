// 50 clients at once at a token cap, with streams of 10 to 8,000 tokens: the window stays at its cap, which is used well all the same.
import { t as suite, test } from 'tap';
import { usageOf } from '../support/consumer.ts';
import { isFull } from '../support/extent.ts';
import { type Behaviour, type Entry, pause, startFakeUpstream } from '../support/fake-upstream.ts';
import { createRandom } from '../support/random.ts';
import { shareGateway } from '../support/shared.ts';
import { waitFor } from '../support/wait-for.ts';

const seed = Number(process.env['TEST_SEED'] ?? Date.now() % 2 ** 31);
const clients = 50;
const periodSeconds = 2;
const cap = 120_000;
const lastsMs = 3_000;
const shortest = 10;
const longest = 8_000;
const prompt = { role: 'user', content: 'Tell me a story.' };
const promptTokens = 8;

const upstream = await startFakeUpstream({ t: suite });
const gateway = await shareGateway({ upstream, config: {} });
const rules = (reserve_tokens: string) => ({
  reserve_tokens,
  user_paths: [
    { path: '/team', per_child: true, limits: [{ period_seconds: periodSeconds, max_tokens: cap }] },
    { path: '/before', limits: [{ period: 'minute', max_tokens: 1_000 * cap }] },
  ],
});

/** A stream of so many tokens, which takes a while in proportion to them. */
function streamOf(tokens: number): Behaviour {
  const usage = { prompt_tokens: promptTokens, completion_tokens: tokens, total_tokens: promptTokens + tokens };
  const event = (body: object): string =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', ...body })}\n\n`;
  const words = event({ choices: [{ index: 0, delta: { content: 'word ' } }] });
  const end = event({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] });
  return { kind: 'sse', chunks: [words, pause(tokens / 20), end, event({ choices: [], usage }), 'data: [DONE]\n\n'] };
}

/** Answers with as many tokens as the request has in its `user`, and no more than it wants. */
function answering(entry: Entry): Behaviour {
  const { user, max_tokens = longest } = entry.json() as { user: string; max_tokens?: number };
  return streamOf(Math.min(Number(user), max_tokens));
}

const lengthOf = (random: () => number): number => Math.round(shortest * (longest / shortest) ** random());

/** Asks for an answer of so many tokens and reads it; the status. */
async function ask(userPath: string, length: number, more: object): Promise<number> {
  const response = await gateway.fetch('/v1/chat/completions', {
    method: 'POST',
    headers: { 'x-gateway-user-path': userPath },
    body: { model: 'fake/fake-small', messages: [prompt], stream: true, user: String(length), ...more },
  });
  await response.text();
  return response.status;
}

interface Outcome {
  /** The most that was used in a window, as a share of the cap. */
  readonly worst: number;
  /** What was used, as a share of what the cap allows in the time. */
  readonly used: number;
  readonly answered: number;
  readonly refused: number;
}

/** What is learned of the answers of a model to others holds until enough have come to a consumer. */
async function learn(): Promise<void> {
  await upstream.behave(answering);
  const random = createRandom(seed);
  for (let answer = 0; answer < 10; answer += 1)
    await Promise.all(Array.from({ length: 6 }, () => ask('/before', lengthOf(random), {})));
}

/** `bounded`: the share of requests that say a `max_tokens`, at least as long as their answer. */
async function run(reserve: string, bounded: number): Promise<Outcome> {
  await gateway.applyConfig({ 'gateway.yaml': { rate_limits: rules(reserve) } });
  const random = createRandom(seed);
  const path = `/team/${reserve}`;
  const untilMs = performance.now() + lastsMs;
  let [worst, tokens, answered, refused] = [0, 0, 0, 0];
  const once = async (): Promise<void> => {
    const length = lengthOf(random);
    const most = random() < bounded ? { max_tokens: length + Math.round(random() * (longest - length)) } : {};
    if ((await ask(path, length, most)) !== 200) {
      refused += 1;
      await new Promise((resolve) => void setTimeout(resolve, 200 + 200 * random()));
      return;
    }
    answered += 1;
    tokens += promptTokens + length;
    // What is used only grows when a request ends, so that its largest value is there just after one.
    const [rule] = await usageOf(gateway, path);
    worst = Math.max(worst, rule?.tokens_used ?? Number.NaN);
  };
  const client = async (): Promise<void> => {
    while (performance.now() < untilMs) await once();
  };
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: clients }, client));
  const seconds = (performance.now() - startedMs) / 1000;
  await waitFor('nothing set aside', async () => (await usageOf(gateway, path))[0]?.tokens_reserved === 0);
  return { worst: worst / cap, used: tokens / (cap * (seconds / periodSeconds)), answered, refused };
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

await test(`${clients} clients at once at a token cap`, async (t) => {
  t.comment(`TEST_SEED=${seed}`);
  await gateway.applyConfig({ 'gateway.yaml': { rate_limits: rules('p50') } });
  await learn();
  const runs = [
    ...(isFull ? [{ reserve: 'none', bounded: 0.6, most: Number.POSITIVE_INFINITY }] : []),
    { reserve: 'p90', bounded: 0.6, most: 1.15 },
    { reserve: 'max', bounded: 1, most: 1 },
  ];
  for (const { reserve, bounded, most } of runs) {
    const { worst, used, answered, refused } = await run(reserve, bounded);
    t.comment(
      `${reserve}: worst window ${percent(worst)}, used ${percent(used)}, ${answered} answered, ${refused} refused`,
    );
    t.ok(worst <= most, `${reserve}: ${percent(worst)} of the cap in a window`);
    t.ok(answered > 0 && refused > 0);
  }
});
