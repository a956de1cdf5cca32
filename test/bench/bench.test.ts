// Proves that the benchmark itself works: its provider, its yardstick, its client, its readings, a comparison. No timing is asserted.
import { existsSync } from 'node:fs';
import tap from 'tap';
import { compareTrees, renderComparison } from './compare.ts';
import { measureSlice } from './contest.ts';
import { memoryMiB, openFiles } from './measure.ts';
import { startBare } from './processes.ts';
import { openSession } from './session.ts';
import { ownTree } from './tree.ts';
import {
  expectedEvents,
  INSTANT_EVENTS,
  jsonAnswer,
  PACED_EVENTS,
  requestBody,
  streamWrites,
  type Workload,
} from './workload.ts';

const skip = existsSync('/proc/self/stat') ? false : 'the bench needs /proc';

/** For all tests, which run one after the other: client, provider, and a bare pass-through to it. */
const { session, close } = await openSession(false);
tap.teardown(close);
const { client, upstream } = session;
const bare = await startBare(upstream.url, undefined);
tap.teardown(bare.stop);

void tap.test('the bytes have the sizes they are said to have', async (t) => {
  const sizes = ['json', 'json-1k', 'json-8k', 'json-64k', 'sse', 'held'] as const;
  t.same(
    sizes.map((workload) => requestBody(workload).length),
    [112, 1024, 8192, 65_536, 112, 112],
  );
  t.match(jsonAnswer().toString('latin1'), /\r\n\r\n\{.{437}\}$/);
  t.equal(streamWrites(INSTANT_EVENTS, false).length, INSTANT_EVENTS);
  t.equal(streamWrites(INSTANT_EVENTS, true).length, INSTANT_EVENTS + 1, 'usage is one event more');
});

void tap.test('200 requests through the bare pass-through are all answered and all counted', { skip }, async (t) => {
  const chat = async (url: string, workload: Workload): Promise<string> => {
    const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: requestBody(workload) });
    return await response.text();
  };
  for (const workload of ['json', 'json-64k', 'sse', 'burst', 'quarters'] as const) {
    const direct = await chat(upstream.url, workload);
    t.equal(await chat(bare.url, workload), direct, `the bare pass-through changes no byte of ${workload}`);
    t.equal(direct.split('data: ').length - 1, expectedEvents(workload));
  }
  const before = await stats(upstream.url);

  const json = await measureSlice(client, bare, { workload: 'json', connections: 10, seconds: 20, requests: 190 });
  const paced = await measureSlice(client, bare, { workload: 'paced', connections: 10, seconds: 20, requests: 10 });

  t.match(json.load, { requests: 190, failures: 0 });
  t.match(paced.load, { requests: 10, failures: 0, events: 10 * PACED_EVENTS });
  t.match(await stats(upstream.url), { requests: before.requests + 200, streamsOpen: 0, streamsCut: 0 });
  t.ok(json.cpuUs > 1 && json.clientCores > 0, 'the CPU time of server and client is seen');
  t.ok(memoryMiB(bare.pid).now > 10 && openFiles(bare.pid) > 3);
});

void tap.test(
  'a client that leaves a paced stream is noticed by the provider through the bare pass-through',
  { skip },
  async (t) => {
    const before = await stats(upstream.url);
    const leave = new AbortController();
    const url = `${bare.url}/v1/chat/completions`;
    const response = await fetch(url, { method: 'POST', body: requestBody('paced'), signal: leave.signal });
    await response.body?.getReader().read();
    leave.abort();
    await until(async () => (await stats(upstream.url)).streamsCut > before.streamsCut);
    const { streamsCut, streamsOpen, streamsFinished } = await stats(upstream.url);
    t.match(
      { streamsCut, streamsOpen, streamsFinished },
      { streamsCut: before.streamsCut + 1, streamsOpen: 0, streamsFinished: before.streamsFinished },
    );
  },
);

void tap.test('a process that ends before it listens is reported with its last words', { skip }, async (t) => {
  await t.rejects(startBare('not a url', undefined), /bare ended before it listened[\s\S]*Invalid URL/);
});

void tap.test('streams that never end are opened, counted, measured and ended', { skip }, async (t) => {
  const before = await stats(upstream.url);
  const opened = await client.hold(bare.url, 20);
  t.match(opened, { open: 20, problem: undefined });
  const watched = await client.watch(bare.url, 1.5);
  t.ok(watched.events > 0 && watched.events <= 60, `${watched.events} events of 20 streams in 1.5 s`);
  await client.close(bare.url);
  const isCut = async (): Promise<boolean> => (await stats(upstream.url)).streamsCut === before.streamsCut + 20;
  t.ok(await until(isCut), 'the provider is told that the clients left');
});

void tap.test('a comparison of this tree with itself finds pairs and no failure', { skip }, async (t) => {
  const trees = { before: ownTree(), after: ownTree() };
  const extent = { workloads: ['quarters'], pairs: 1, launches: 1, warmShare: 0.01 } as const;
  const compared = await compareTrees(session, trees, extent);
  t.match(compared, [{ workload: 'quarters', failures: 0 }]);
  t.ok(compared.every(({ launches }) => launches.flat().every(({ before, after }) => before > 0 && after > 0)));
  t.match(renderComparison(trees, compared), /quarters +cannot tell/);
});

async function until(condition: () => Promise<boolean>): Promise<boolean> {
  const deadlineMs = performance.now() + 3000;
  while (!(await condition())) {
    if (performance.now() > deadlineMs) return false;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return true;
}

async function stats(
  url: string,
): Promise<Record<'requests' | 'streamsOpen' | 'streamsCut' | 'streamsFinished', number>> {
  const counts: Record<'requests' | 'streamsOpen' | 'streamsCut' | 'streamsFinished', number> = JSON.parse(
    await (await fetch(`${url}/stats`)).text(),
  );
  return counts;
}
