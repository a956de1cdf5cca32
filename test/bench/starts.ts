// How long a start takes: from spawn until the process listens, and until it has proxied its first request.
import { request } from 'node:http';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { MASTER_KEY, type Running, startBare, startGateway } from './processes.ts';
import { progress, type Session } from './session.ts';
import { requestBody } from './workload.ts';

/** The starts of one variant. Milliseconds from the spawn. */
export interface Starts {
  readonly variant: 'bare' | 'gateway';
  readonly listeningMs: number[];
  readonly firstAnswerMs: number[];
}

/** Starts bare pass-through and gateway in turn, once each before the first that counts: then the compile cache is warm. */
export async function measureStarts({ upstream, folder }: Session, count: number): Promise<Starts[]> {
  const launches = {
    bare: () => startBare(upstream.url, undefined),
    gateway: () => startGateway(upstream.url, join(folder, 'start')),
  };
  const all = (['bare', 'gateway'] as const).map(
    (variant): Starts => ({ variant, listeningMs: [], firstAnswerMs: [] }),
  );
  for (let index = 0; index <= count; index += 1) {
    for (const { variant, listeningMs, firstAnswerMs } of all) {
      progress(`start ${index} ${variant}`);
      const start = await timeStart(launches[variant]);
      if (index === 0) continue;
      listeningMs.push(start.listeningMs);
      firstAnswerMs.push(start.firstAnswerMs);
    }
  }
  return all;
}

/** One start, not pinned: a start uses more than one core, and nothing else runs meanwhile. */
export async function timeStart(
  launch: () => Promise<Running>,
): Promise<{ listeningMs: number; firstAnswerMs: number }> {
  const spawnMs = performance.now();
  const running = await launch();
  const listeningMs = performance.now() - spawnMs;
  await firstAnswer(running.url);
  const firstAnswerMs = performance.now() - spawnMs;
  await running.stop();
  return { listeningMs, firstAnswerMs };
}

async function firstAnswer(url: string): Promise<void> {
  for (let attempt = 0; attempt < 1000; attempt += 1) {
    const status = await new Promise<number>((resolve) => {
      const headers = { 'content-type': 'application/json', authorization: `Bearer ${MASTER_KEY}` };
      const call = request(`${url}/v1/chat/completions`, { method: 'POST', headers, agent: false }, (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode ?? 0));
      });
      call.on('error', () => resolve(0));
      call.end(requestBody('json'));
    });
    if (status === 200) return;
    await pause(1);
  }
  throw new Error(`${url} gave no 200`);
}
