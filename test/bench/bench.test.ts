// Proves that the benchmark itself works: its provider, its yardstick, its generators, its readings and its table. No timing is asserted.
import { existsSync } from 'node:fs';
import tap from 'tap';
import { measureSlice } from './contest.ts';
import { startClient } from './load.ts';
import { memoryMiB, openFiles } from './measure.ts';
import { startBare, startUpstream } from './processes.ts';
import { cpuRatios, type Findings, limitedShares, renderReport, type Sample, type Variant } from './report.ts';
import { median } from './statistics.ts';
import { renderTable } from './table.ts';
import { INSTANT_EVENTS, jsonAnswer, PACED_EVENTS, requestBody, streamWrites } from './workload.ts';

const skip = existsSync('/proc/self/stat') ? false : 'the bench needs /proc';

void tap.test('the bytes have the sizes they are said to have', async (t) => {
  t.equal(requestBody('json').length, 112);
  t.match(jsonAnswer().toString('latin1'), /\r\n\r\n\{.{437}\}$/);
  t.equal(streamWrites(INSTANT_EVENTS, false).length, INSTANT_EVENTS);
  t.equal(streamWrites(INSTANT_EVENTS, true).length, INSTANT_EVENTS + 1, 'usage is one event more');
});

void tap.test('200 requests through the bare pass-through are all answered and all counted', { skip }, async (t) => {
  const upstream = await startUpstream();
  t.teardown(upstream.stop);
  const bare = await startBare(upstream.url, undefined);
  t.teardown(bare.stop);
  const chat = async (url: string, workload: 'json' | 'sse' | 'burst'): Promise<string> => {
    const response = await fetch(`${url}/v1/chat/completions`, { method: 'POST', body: requestBody(workload) });
    return await response.text();
  };
  for (const workload of ['json', 'sse', 'burst'] as const) {
    const direct = await chat(upstream.url, workload);
    t.equal(await chat(bare.url, workload), direct, `the bare pass-through changes no byte of ${workload}`);
    const events = workload === 'json' ? 0 : INSTANT_EVENTS;
    t.equal(direct.split('data: ').length - 1, events);
  }
  const before = await stats(upstream.url);

  const client = startClient();
  t.teardown(client.stop);
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
    const upstream = await startUpstream();
    t.teardown(upstream.stop);
    const bare = await startBare(upstream.url, undefined);
    t.teardown(bare.stop);
    const leave = new AbortController();
    const url = `${bare.url}/v1/chat/completions`;
    const response = await fetch(url, { method: 'POST', body: requestBody('paced'), signal: leave.signal });
    await response.body?.getReader().read();
    leave.abort();
    const deadlineMs = performance.now() + 3000;
    while ((await stats(upstream.url)).streamsCut === 0 && performance.now() < deadlineMs) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    t.match(await stats(upstream.url), { streamsCut: 1, streamsOpen: 0, streamsFinished: 0 });
  },
);

void tap.test('a process that ends before it listens is reported with its last words', { skip }, async (t) => {
  await t.rejects(startBare('not a url', undefined), /bare ended before it listened[\s\S]*Invalid URL/);
});

void tap.test('the table takes the least CPU of the rounds and shows the ratio to the bare pass-through', async (t) => {
  const samples = [
    sample('direct', 0, 1, 90_000),
    sample('bare', 0, 44, 22_000),
    sample('bare', 1, 40, 24_000),
    sample('bare', 2, 50, 20_000),
    sample('unlimited', 0, 54.6, 17_500),
    sample('gateway', 0, 60, 16_000),
    sample('gateway', 1, 56, 17_000),
    sample('gateway', 2, 66, 15_000),
  ];
  const findings: Findings = {
    samples,
    footprints: { gateway: { idleMiB: 80, loadedMiB: 170.4, peakMiB: 180, idleCores: 0.004 } },
    startsMs: { gateway: [300, 500, 310] },
  };
  t.strictSame(cpuRatios(samples), [{ workload: 'json', connections: 50, least: 1.4, median: 60 / 44 }]);
  t.match(limitedShares(samples), [{ connections: 50, share: 54.6 / 56 }]);
  const report = renderReport(findings);
  t.match(report, /gateway +16000 .* 56\.0 +\(60\.0\) +1\.40 +\(1\.36\)/);
  t.match(
    report,
    /json c=50: direct does 5\.6 × the gateway's req\/s, tools at 0\.60 of 1\.00: tools are not the limit/,
  );
  t.match(report, /c=50 +ok +1\.40 +target ≤ 1\.45/);
  t.match(report, /limits on \/ off, JSON, c=50 +ok +0\.97 +target ≥ 0\.9/);
  t.match(report, /memory loaded +MISSED +170 +target ≤ 150 MiB/);
  t.match(report, /start to first 200 +ok +310 +target ≤ 450 ms/);
  t.match(report, /foreign CPU stayed below 0\.15 cores/);

  const noisy = samples.map((one) => ({ ...one, foreignCores: 0.5, generatorCores: 0.7, failures: 1 }));
  const doubtful = renderReport({ samples: noisy, footprints: {}, startsMs: {} });
  t.match(doubtful, /WARNING: 8 of 8 rounds had more than 0\.15 cores of foreign CPU/);
  t.match(doubtful, /the tools are the limit/);
  t.match(doubtful, /WARNING: 1 requests failed: json c=50 gateway, round 3/);
  t.equal(median([4, 1, 3, 2]), 2.5);
  t.equal(
    renderTable([
      ['a', '', 'bb'],
      ['ccc', 'd', '1'],
    ]),
    '  a       bb\n  ccc  d   1',
  );
});

function sample(variant: Variant, round: number, cpuUs: number, requestsPerSecond: number): Sample {
  return {
    workload: 'json',
    connections: 50,
    variant,
    round,
    requests: requestsPerSecond * 2,
    requestsPerSecond,
    p50Ms: 1,
    p99Ms: 3,
    failures: 0,
    cpuUs,
    generatorCores: 0.3,
    upstreamCores: 0.3,
    foreignCores: 0.05,
  };
}

async function stats(
  url: string,
): Promise<Record<'requests' | 'streamsOpen' | 'streamsCut' | 'streamsFinished', number>> {
  const counts: Record<'requests' | 'streamsOpen' | 'streamsCut' | 'streamsFinished', number> = JSON.parse(
    await (await fetch(`${url}/stats`)).text(),
  );
  return counts;
}
