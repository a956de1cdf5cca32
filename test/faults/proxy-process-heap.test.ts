// The heap fills up: new requests are refused, what is under way goes on, and when there is room again work is taken again.
import { writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { t as suite, test } from 'tap';
import { oldGenerationLimit } from '../../proxy/http/overload.ts';
import { chatCall } from '../support/chat-call.ts';
import { extent } from '../support/extent.ts';
import { startGateway } from '../support/gateway.ts';
import { listen } from '../support/ports.ts';
import { startProcess } from '../support/process.ts';
import { openRaw, type RawConnection, type RawResponse, rawRequest } from '../support/raw-http.ts';
import { watchSlowdown } from '../support/slowdown.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

const mebibyte = 2 ** 20;
const answer = '{"object":"chat.completion","choices":[]}';
const answerBytes = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${answer.length}\r\n\r\n${answer}`;

/** A provider that answers only when told to, and keeps nothing but the sockets. */
const waiting = new Set<Socket>();
let isHolding = true;
const slow = createServer({ noDelay: true }, (socket) => {
  socket.on('data', (bytes) => {
    if (bytes.at(-1) !== 0x7d) return;
    if (isHolding) waiting.add(socket);
    else socket.write(answerBytes);
  });
  socket.on('error', () => {});
  socket.on('close', () => waiting.delete(socket));
});
const slowPort = await listen(slow);
// Sharing its processor with others, a full heap takes its time.
suite.setTimeout(150_000);
suite.teardown(() => {
  for (const socket of waiting) socket.destroy();
  slow.close();
});

/** A call with as many header bytes as are allowed: they live in the heap as long as it is open. */
function call(headers: number): string {
  const more = Array.from({ length: headers }, (_, index) => [`X-Header-${index}`, 'h'.repeat(150)]);
  return chatCall({ model: 'slow', messages: [] }, Object.fromEntries(more));
}

const heavy = call(90);
const light = call(0);

const answered = (connection: RawConnection, count = 1) =>
  connection.waitFor(({ responses }) => {
    const complete = responses.filter((response) => response.complete);
    return complete.length >= count && complete[count - 1];
  });

await test('a heap that fills up with requests under way', async (t) => {
  isHolding = true;
  const gateway = await startGateway(t, {
    config: {
      providers: { slow: { type: 'openai', base_url: `http://127.0.0.1:${slowPort}/v1`, models: ['slow'] } },
      rate_limits: { user_paths: [{ path: '/', limits: [{ period: 'concurrent', max_requests: 100_000 }] }] },
    },
    // 16 MiB are left when refusing begins, the most that any heap up to 320 MiB has: requests come faster here than they are checked.
    // As Node has it without the second flag: V8 counts 96 MiB of young generation as heap, which is no room for what stays.
    execArgv: ['--max-old-space-size=128', '--max-semi-space-size=32', '--v8-pool-size=0'],
    env: { NODE_V8_COVERAGE: undefined },
  });
  t.setTimeout(100_000);
  const readiness = async (): Promise<{ http: number; status: string; reasons: string[] }> => {
    const response = await gateway.fetch('/health/ready');
    return { http: response.status, ...((await response.json()) as { status: string; reasons: string[] }) };
  };
  await waitFor('it to be ready', async () => (await readiness()).status === 'ready');

  // Filled by use: requests whose provider takes its time.
  const open: RawConnection[] = [];
  const isNearlyFull = (): boolean =>
    gateway.process.stderr.concat(gateway.process.stdout).some((line) => line.includes('heap is nearly full'));
  const startedMs = performance.now();
  while (!isNearlyFull()) {
    if (!gateway.process.running) throw new Error(`it died:\n${gateway.process.lastLines()}`);
    if (open.length > 4_000) throw new Error('4,000 requests did not fill the heap');
    const batch = await Promise.all(Array.from({ length: 60 }, () => openRaw(gateway.port)));
    open.push(...batch);
    for (const connection of batch) void connection.send(heavy);
    await waitFor('the batch to be under way', () => {
      const refused = batch.filter((connection) => connection.exchange().raw.length > 0).length;
      return waiting.size + refused >= open.length || isNearlyFull() || !gateway.process.running;
    });
  }
  t.teardown(() => {
    for (const connection of open) connection.close();
  });
  t.comment(`${open.length} requests filled it in ${((performance.now() - startedMs) / 1000).toFixed(1)} s`);

  t.same(await readiness(), { http: 503, status: 'overloaded', reasons: ['memory_nearly_full'] });
  t.same([await gateway.metric('gateway_ready'), await gateway.metric('gateway_overloaded')], [0, 1]);
  const unanswered = () => open.filter((connection) => connection.exchange().raw.length === 0);
  // A process whose heap is nearly full collects garbage most of the time.
  await waitFor('every request to be under way or refused', () => unanswered().length === waiting.size, 30_000);
  const underWay = waiting.size;
  const first = await rawRequest(gateway.port, light);
  const refused = first.responses[0] as RawResponse;
  t.equal(refused.status, 503);
  t.equal(refused.header('retry-after'), '1');
  t.ok(refused.header('x-request-id'));
  const { error } = refused.json() as { error: Record<string, unknown> };
  t.match(error, { code: 'overloaded', type: 'provider_error', param: null, message: String });
  t.notOk('provider' in error);
  let slowestMs = 0;
  const slowdown = watchSlowdown(gateway.process);
  for (let knock = 1; knock <= extent(10, 4); knock += 1) {
    const askedMs = performance.now();
    const alive = await gateway.fetch('/health');
    t.equal(alive.status, 200);
    await alive.text();
    slowestMs = Math.max(slowestMs, performance.now() - askedMs);
    const knocks = await Promise.all(Array.from({ length: 20 }, () => rawRequest(gateway.port, light)));
    t.same(new Set(knocks.map(({ responses }) => responses[0]?.status)), new Set([503]));
  }
  const factor = slowdown();
  t.comment(
    `/health took at most ${slowestMs.toFixed(0)} ms in between (target 100), slowed down by ${factor.toFixed(1)}`,
  );
  t.ok(slowestMs < 500 * factor);
  t.equal(waiting.size, underWay, 'what was under way goes on, nothing new came');
  t.ok(gateway.process.running);

  isHolding = false;
  const served = unanswered();
  for (const socket of waiting) socket.write(answerBytes);
  const statuses = await Promise.all(served.map(async (connection) => (await answered(connection)).status));
  t.same(new Set(statuses), new Set([200]));
  t.ok(served.length >= underWay, `${served.length} requests that were under way are answered`);
  for (const connection of open) connection.close();
  const freedMs = performance.now();
  await waitFor('it to be ready again', async () => (await readiness()).status === 'ready', 15_000);
  t.comment(`ready again ${((performance.now() - freedMs) / 1000).toFixed(1)} s after the last request`);
  const late = await openRaw(gateway.port, { t });
  await late.send(light);
  t.equal((await answered(late)).status, 200);
  t.equal(await gateway.metric('gateway_requests_in_flight'), 0);
  t.equal(await gateway.metric('gateway_rate_limit_in_flight'), 0);
  t.match(
    gateway.process.logs().filter(({ msg }) => /heap|memory/.test(String(msg))),
    [
      { level: 'error', msg: 'the heap is nearly full: new requests are refused' },
      { level: 'info', msg: 'there is room in memory again' },
    ],
  );
});

/** What fills the memory, how many pieces of it every 5 ms, and within which limits. Few large buffers: each has an object in the heap. */
const fillings = [
  { what: 'the heap', piece: 'new Array(1_000).fill(count)', pieces: 20, limits: 'memoryLimits()' },
  { what: 'the memory for buffers', piece: 'Buffer.alloc(100_000, 1)', pieces: 20, limits: 'memoryLimits()' },
  {
    what: 'the memory of the process',
    piece: 'Buffer.alloc(100_000, 1)',
    pieces: 20,
    limits: '{ ...memoryLimits(), processBytes: resident + 100 * 2 ** 20 }',
  },
];

/**
 * Fills its memory with what `piece` makes, within `limits`, lets go of everything at once, and then allocates nothing that would make V8
 * collect garbage.
 */
const idleProgram = ({ piece, pieces, limits }: (typeof fillings)[0]) => `
import { memoryLimits, watchMemory } from ${JSON.stringify(pathToFileURL(resolve(import.meta.dirname, '../../proxy/http/overload.ts')).href)};
const kept = [];
const filling = setInterval(() => {
  for (let count = 0; count < ${pieces}; count += 1) kept.push(${piece});
}, 5);
setInterval(() => {}, 1_000);
const resident = process.memoryUsage.rss();
watchMemory(${limits}, (full) => {
  console.log(full ?? 'relieved');
  if (full === undefined) process.exit();
  clearInterval(filling);
  setTimeout(() => {
    kept.length = 0;
    console.log('let go');
  }, 200);
});
`;

suite.jobs = fillings.length;
for (const filling of fillings) {
  const { what } = filling;
  void test(`${what} is free again: that is noticed, although the process allocates nothing`, async (t) => {
    const entry = join(temporaryDirectory(t), 'idle.mjs');
    writeFileSync(entry, idleProgram(filling));
    const idle = await startProcess({
      t,
      entry,
      execArgv: ['--max-old-space-size=64', '--max-semi-space-size=4'],
      env: { NODE_V8_COVERAGE: undefined },
      ready: { line: 'let go' },
    });
    const freedMs = performance.now();
    await idle.waitForLine('relieved', 10_000);
    t.comment(`noticed after ${((performance.now() - freedMs) / 1000).toFixed(1)} s`);
    t.same(idle.stdout, [what, 'let go', 'relieved']);
  });
}

await test('the limit of the old generation is found whatever limits the heap', async (t) => {
  const limit = (heapMebibytes: number, ...flags: string[]) =>
    oldGenerationLimit(flags, heapMebibytes * mebibyte) / mebibyte;
  // The heap limits are those that V8 gives with these flags.
  t.equal(limit(76, '--max-old-space-size=64', '--max-semi-space-size=4'), 64);
  t.equal(limit(160, '--max-old-space-size=64'), 64);
  t.equal(limit(160, '--max-old-space-size=32', '--inspect', '--max_old_space_size=64'), 64, 'the last one counts');
  t.equal(limit(4108, '--max-semi-space-size=4'), 4096);
  t.equal(limit(4108, '--max-semi-space-size=3'), 4096, 'V8 rounds up');
  t.equal(limit(4192), 4096);
  t.equal(limit(64, '--max-heap-size=64', '--max-old-space-size=100'), 64);
});
