// `npm run soak`: mixed load with an edit of the YAML every second; nothing may fail, leak or stay open.
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, type ClientRequest, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { gatewayYaml } from './gateway-yaml.ts';
import { memoryMiB, openFiles } from './measure.ts';
import { MASTER_KEY, type Running, startGateway, startUpstream } from './processes.ts';
import { median } from './statistics.ts';
import { INSTANT_EVENTS, requestBody } from './workload.ts';

type Kind = 'json' | 'sse' | 'abort' | 'refused';

interface Call {
  body: string;
  token?: string;
  status: number;
  /** What the complete answer must hold; an abort leaves after the first bytes instead. */
  accept: (body: string) => boolean;
  abort?: boolean;
}

const SETTLE_MS = 1500;
const SETTLE_DEADLINE_MS = 20_000;
const MAX_IN_FLIGHT = 400;
// 60 % JSON, 30 % streams, 5 % clients that leave, 5 % refusals, evenly mixed.
const MIX = 'jsjjsjjsjajjsjjsjjsr';
const KINDS: Record<string, Kind> = { j: 'json', s: 'sse', a: 'abort', r: 'refused' };
const REFUSALS: [Call, Call, Call] = [
  { body: requestBody('json'), token: 'sk-wrong', status: 401, accept: isError },
  { body: requestBody('json').replace('chat-model', 'no-such'), status: 404, accept: isError },
  { body: '{"model":', status: 400, accept: isError },
];
const CALLS: Record<Kind, () => Call> = {
  json: () => ({ body: requestBody('json'), status: 200, accept: (body) => body.includes('"total_tokens":46') }),
  sse: () => ({ body: requestBody('sse'), status: 200, accept: isWholeStream }),
  abort: () => ({ body: requestBody('paced'), status: 200, accept: () => true, abort: true }),
  refused: () => REFUSALS[counts.refused % REFUSALS.length] ?? REFUSALS[0],
};

const { values } = parseArgs({
  options: { minutes: { type: 'string', default: '1' }, rate: { type: 'string', default: '200' } },
});
const durationMs = Number(values.minutes) * 60_000;
const rate = Number(values.rate);
if (!(durationMs > 0) || !(rate > 0)) {
  process.stderr.write('usage: npm run soak -- [--minutes N (default 1)] [--rate REQUESTS_PER_SECOND (default 200)]\n');
  process.exit(2);
}

const folder = mkdtempSync(join(tmpdir(), 'gateway-soak-'));
const agent = new Agent({ keepAlive: true });
const counts: Record<Kind, number> = { json: 0, sse: 0, abort: 0, refused: 0 };
const unexpected = new Map<string, number>();
const jsonMs: number[] = [];
let inFlight = 0;
let skipped = 0;
let retried = 0;

const upstream = await startUpstream();
let ok = false;
try {
  const gateway = await startGateway(upstream.url, folder);
  try {
    ok = await soak(gateway);
  } finally {
    await gateway.stop();
  }
} finally {
  await upstream.stop();
  rmSync(folder, { recursive: true, force: true });
}
process.exitCode = ok ? 0 : 1;

async function soak(gateway: Running): Promise<boolean> {
  await pause(SETTLE_MS); // the config watch opens its files after the first listen
  const filesAtStart = openFiles(gateway.pid);
  const memory: { seconds: number; mib: number }[] = [];
  const beganMs = performance.now();
  const elapsedMs = (): number => performance.now() - beganMs;
  let edits = 0;
  let sent = 0;
  const everySecond = setInterval(() => {
    memory.push({ seconds: elapsedMs() / 1000, mib: memoryMiB(gateway.pid).now });
    edits += 1;
    edit(edits);
  }, 1000);
  while (elapsedMs() < durationMs) {
    for (; sent < (elapsedMs() / 1000) * rate; sent += 1) {
      if (inFlight >= MAX_IN_FLIGHT) skipped += 1;
      else begin(gateway.url, KINDS[MIX[sent % MIX.length] ?? 'j'] ?? 'json');
    }
    await pause(5);
  }
  clearInterval(everySecond);
  const drained = await until(() => inFlight === 0);
  await pause(1000);
  const reloads = await reloadCounts(gateway.url);
  agent.destroy();
  const streamsClosed = await until(async () => (await upstreamStats()).streamsOpen === 0);
  const filesClosed = await until(() => openFiles(gateway.pid) <= filesAtStart);
  const stats = await upstreamStats();

  say(`${sent - skipped} requests in ${(elapsedMs() / 1000).toFixed(0)} s: ${JSON.stringify(counts)}`);
  if (skipped > 0) say(`${skipped} requests not sent, because ${MAX_IN_FLIGHT} were in flight already`);
  if (retried > 0) say(`${retried} requests sent again: a kept-alive connection had just been closed`);
  say(`JSON latency p50 ${at(0.5)} ms, p99 ${at(0.99)} ms (load generator in this process, not pinned)`);
  say(memoryLine(memory));
  say(`streams at the provider: ${stats.streamsStarted} started, ${stats.streamsCut} cut, ${stats.streamsOpen} open`);
  const failures = [...unexpected].map(([what, count]) => `${count} × ${what}`);
  return [
    verdict('no unexpected answer', failures.length === 0, failures.join('\n    ')),
    verdict('every request came to an end', drained, `${inFlight} still open`),
    verdict(
      'every edit loaded',
      reloads.failed === 0 && reloads.loaded >= edits * 0.8,
      JSON.stringify({ edits, ...reloads }),
    ),
    verdict('no stream left open at the provider', streamsClosed, `${stats.streamsOpen} open`),
    verdict('open files back to the start', filesClosed, `${filesAtStart} then, ${openFiles(gateway.pid)} now`),
  ].every(Boolean);
}

function begin(url: string, kind: Kind): void {
  const call = CALLS[kind]();
  const startMs = performance.now();
  counts[kind] += 1;
  inFlight += 1;
  send(url, call, (problem) => {
    inFlight -= 1;
    if (kind === 'json') jsonMs.push(performance.now() - startMs);
    if (problem === undefined) return;
    const what = `${kind}: ${problem}`;
    unexpected.set(what, (unexpected.get(what) ?? 0) + 1);
  });
}

function send(url: string, call: Call, ended: (problem?: string) => void): void {
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${call.token ?? MASTER_KEY}` };
  const outgoing: ClientRequest = request(`${url}/v1/chat/completions`, { method: 'POST', agent, headers });
  let done = false;
  const end = (problem?: string): void => {
    if (done) return;
    done = true;
    ended(problem);
  };
  outgoing.on('response', (response) => {
    let body = '';
    response.setEncoding('latin1');
    response.on('data', (text: string) => {
      body += text;
      if (call.abort !== true || done) return;
      end(response.statusCode === call.status ? undefined : `status ${response.statusCode}`);
      outgoing.destroy();
    });
    response.on('error', (error) => end(`answer broke off: ${error.message}`));
    response.on('end', () => {
      const right = response.statusCode === call.status && call.accept(body);
      end(right ? undefined : `status ${response.statusCode} ${body.slice(0, 120)}`);
    });
  });
  outgoing.on('error', (error: NodeJS.ErrnoException) => {
    if (done) return;
    if (outgoing.reusedSocket && error.code === 'ECONNRESET') {
      retried += 1;
      done = true;
      send(url, call, ended);
    } else end(error.message);
  });
  outgoing.end(call.body);
}

// Half of the edits as an editor saves (a new file renamed over), half in place.
function edit(generation: number): void {
  const file = join(folder, 'config', 'gateway.yaml');
  const text = gatewayYaml(upstream.url, { generation });
  if (generation % 2 === 0) {
    writeFileSync(file, text);
    return;
  }
  writeFileSync(join(folder, 'next'), text);
  renameSync(join(folder, 'next'), file);
}

async function reloadCounts(url: string): Promise<{ loaded: number; failed: number }> {
  const response = await fetch(`${url}/metrics`, {
    headers: { authorization: `Bearer ${MASTER_KEY}`, connection: 'close' },
  });
  const text = await response.text();
  const read = (result: string): number =>
    Number(new RegExp(`^gateway_config_reload_total\\{result="${result}"\\} (\\d+)`, 'm').exec(text)?.[1] ?? 0);
  return { loaded: read('success'), failed: read('failure') };
}

async function upstreamStats(): Promise<{ streamsStarted: number; streamsCut: number; streamsOpen: number }> {
  const stats: { streamsStarted: number; streamsCut: number; streamsOpen: number } = JSON.parse(
    await (await fetch(`${upstream.url}/stats`)).text(),
  );
  return stats;
}

// Least squares over the second half: the first half is warm-up.
function memoryLine(samples: { seconds: number; mib: number }[]): string {
  const half = samples.slice(samples.length >> 1);
  const mean = (numbers: number[]): number => numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
  const x = mean(half.map((sample) => sample.seconds));
  const y = mean(half.map((sample) => sample.mib));
  const across = half.reduce((sum, sample) => sum + (sample.seconds - x) * (sample.mib - y), 0);
  const along = half.reduce((sum, sample) => sum + (sample.seconds - x) ** 2, 0);
  const first = samples[0]?.mib ?? Number.NaN;
  const middle = median(half.map((sample) => sample.mib));
  const slope = ((across / along) * 60).toFixed(2);
  return `memory ${first.toFixed(0)} MiB at first, ${middle.toFixed(0)} MiB in the second half, slope there ${slope} MiB/min`;
}

function at(share: number): string {
  const sorted = jsonMs.toSorted((a, b) => a - b);
  return (sorted[Math.floor((sorted.length - 1) * share)] ?? 0).toFixed(1);
}

async function until(condition: () => boolean | Promise<boolean>): Promise<boolean> {
  const deadlineMs = performance.now() + SETTLE_DEADLINE_MS;
  while (!(await condition())) {
    if (performance.now() > deadlineMs) return false;
    await pause(50);
  }
  return true;
}

function isError(body: string): boolean {
  return body.startsWith('{"error":{');
}

function isWholeStream(body: string): boolean {
  return body.split('data: ').length - 1 === INSTANT_EVENTS && body.endsWith('data: [DONE]\n\n');
}

function verdict(what: string, passed: boolean, detail: string): boolean {
  say(`${passed ? 'ok    ' : 'FAILED'}  ${what}${passed ? '' : `: ${detail}`}`);
  return passed;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
