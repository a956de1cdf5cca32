// What is made of findings: tables, verdict and the line of the history, from slices with known figures.
import tap from 'tap';
import type { Cell, Findings, Sample, Variant } from './findings.ts';
import { figuresOf } from './history.ts';
import { renderReport } from './report.ts';
import { renderTable } from './table.ts';
import { judge } from './verdict.ts';

const ROUNDS = 8;
// CPU µs per request; the gateway costs 1.3 × bare, and 4 % more than without limits.
const CPU: Partial<Record<Variant, number>> = {
  direct: 1,
  bare: 40,
  unlimited: 50,
  unmetered: 40,
  gateway: 52,
  logged: 53.04,
};
const samples = [
  ...cell({ workload: 'json', connections: 50 }, CPU),
  ...cell({ workload: 'json', connections: 10 }, { bare: 40, gateway: 60 }),
  ...cell({ workload: 'sse', connections: 50 }, { bare: 100, gateway: 170 }),
];
const footprint = { idleMiB: 80, jsonMiB: 120, loadedMiB: 170.4, peakMiB: 190, idleCores: 0.004 };
const stream = { beforeMiB: 120, openMiB: 266.5, cpuUsPerEvent: 40, variant: 'gateway' } as const;
const findings: Findings = {
  samples,
  footprints: { gateway: footprint },
  streams: [
    { ...stream, wanted: 5000, kibPerStream: 30 },
    { ...stream, wanted: 9000, openMiB: Number.NaN, kibPerStream: Number.NaN, problem: 'raise ulimit -n' },
  ],
  starts: [{ variant: 'gateway', listeningMs: [240, 250, 300], firstAnswerMs: [300, 310, 500] }],
  instructionsMissing: 'perf counts no instructions here: <not supported>',
};

void tap.test('the tables show medians, ratios to bare with their interval, and why to trust them', async (t) => {
  const report = renderReport(findings);
  t.match(report, /50 +gateway +\d+ .* 52\.0 +\(52\.0\) +1\.30 +1\.30 – 1\.30/);
  t.match(report, /50 +unlimited .* 1\.25 +1\.25 – 1\.25/);
  t.match(report, /50 +gateway +\d+ .* 170\.0 +\(170\.0\) +5\.00 +1\.70/, 'µs per event');
  t.match(report, /gateway +80 +120 +170 +190 +0\.4/);
  t.match(report, /gateway +5000 +120 +267 +30 +40\.0/);
  t.match(report, /gateway +9000 +120 +- +- +40\.0\n +9000 through gateway: raise ulimit -n/);
  t.match(report, /gateway +250 +310 +300 310 500/);
  t.match(report, /direct does 52\.0 × the gateway's req\/s, tools at 0\.60 of 1\.00: tools are not the limit/);
  t.match(report, /foreign CPU stayed below 0\.15 cores in every slice/);
  t.match(report, /<not supported>; CPU µs stand for them/);
  t.match(report, /no request failed/);
});

void tap.test('noise, busy tools and failures are said', async (t) => {
  const noisy = samples.map((one) => ({ ...one, foreignCores: 0.5, clientCores: 0.7, failures: 1 }));
  const report = renderReport({ ...findings, samples: noisy });
  t.match(report, new RegExp(`WARNING: ${noisy.length} of ${noisy.length} slices had more than 0\\.15 cores`));
  t.match(report, /the tools are the limit/);
  t.match(report, /WARNING: 8 requests failed: json c=50 gateway, in 8 slices/);
});

void tap.test('the verdict holds each figure against its target', async (t) => {
  const words = Object.fromEntries(judge(findings).map(({ what, word, measured }) => [what, `${word} ${measured}`]));
  t.same(words, {
    'CPU × bare, json c=50': 'ok 1.30',
    'CPU with limits × without, json c=50': 'ok 1.04',
    'CPU with usage × without, json c=50': 'MISSED 1.30',
    'CPU with access log × without, json c=50': 'ok 1.02',
    'CPU × bare, json c=10': 'MISSED 1.50',
    'p99 × bare, json c=10': 'ok 1.00',
    'CPU × bare, sse c=50': 'MISSED 1.70',
    'memory loaded': 'ok 170',
    'memory per open stream, 5000 open': 'MISSED 30',
    'start to first 200': 'ok 310',
    'start until it listens': 'info 250',
  });
});

void tap.test('a target within the interval is neither reached nor missed for certain', async (t) => {
  const shaky = samples.map((one) =>
    one.variant === 'gateway' ? { ...one, cpuUs: one.cpuUs * (0.7 + (one.round % 5) * 0.15) } : one,
  );
  const [first] = judge({ ...findings, samples: shaky });
  t.match(first, { what: 'CPU × bare, json c=50', word: /\?$/ });
});

void tap.test('the history keeps the ratios, latencies and memory of the gateway', async (t) => {
  t.same(figuresOf(findings), {
    ratios: { 'json c=50': 1.3, limits: 1.04, usage: 1.3, 'access log': 1.02, 'json c=10': 1.5, 'sse c=50': 1.7 },
    p99: { 'json c=50': { bare: 3, gateway: 3 }, 'json c=10': { bare: 3, gateway: 3 } },
    memory: { idle: 80, loaded: 170, stream: { 5000: 30 } },
    start: 310,
  });
});

void tap.test('columns are as wide as their widest cell', async (t) => {
  const rows = [
    ['a', '', 'bb'],
    ['ccc', 'd', '1'],
  ];
  t.equal(renderTable(rows), '  a       bb\n  ccc  d   1');
});

function cell(where: Cell, costs: Partial<Record<Variant, number>>): Sample[] {
  return Object.entries(costs).flatMap(([variant, cpuUs]) =>
    Array.from({ length: ROUNDS }, (_, round) => ({
      ...where,
      variant: variant as Variant,
      round,
      requests: 1000,
      requestsPerSecond: 1e6 / cpuUs,
      p50Ms: 1,
      p99Ms: 3,
      p999Ms: 4,
      failures: 0,
      cpuUs,
      clientCores: 0.3,
      upstreamCores: 0.3,
      foreignCores: 0.05,
    })),
  );
}
