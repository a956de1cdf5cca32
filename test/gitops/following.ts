// Follows a directory of a test: configurations that carry one number, edits and how long they take, stalls of the loop.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Test } from 'tap';
import type { ConfigEvent } from '../../gitops/follow/config-status.ts';
import { type Follower, followConfig } from '../../gitops/follow/follow.ts';
import type { FollowOptions } from '../../gitops/follow/follow-options.ts';
import type { Config } from '../../schemas/types.ts';

/** A configuration that carries one number, and one that is refused. */
export const limit = (cap: number | string, path = '/team'): string =>
  `rate_limits:\n  user_paths:\n    - path: ${path}\n      limits: [{ period: minute, max_requests: ${cap} }]\n`;
export const broken = 'rate_limits: [\n';

/** A short text in place of packed files that unpacks to 81 MiB: more than a directory may hold. */
export const bomb = (): string =>
  gzipSync(Buffer.concat([Buffer.from('[["a.yaml",84934656]]\n'), Buffer.alloc(81 << 20, '#')])).toString('base64');

const liveMs = 1_000;
/** How long a test waits for what is bound to happen; the machine may have other work. */
export const soonMs = 5_000;

export function folder(t: Test, files: Record<string, string> = {}): string {
  const made = mkdtempSync(join(tmpdir(), 'gateway-follow-'));
  t.teardown(() => rmSync(made, { recursive: true, force: true }));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(made, name), text);
  return made;
}

interface Following {
  follower: Follower;
  events: ConfigEvent[];
  applied: Config[];
  cap: () => number | undefined;
  kinds: () => string[];
}

export async function start(t: Test, directory: string, more: Partial<FollowOptions> = {}): Promise<Following> {
  const events: ConfigEvent[] = [];
  const applied: Config[] = [];
  const follower = await followConfig({
    directory,
    environment: { OPENAI_API_KEY: 'sk-canary-key' },
    variables: 'expand',
    entitlements: new Set(),
    nowMs: () => Date.now(),
    apply: (config) => void applied.push(config),
    report: (event) => void events.push(event),
    ...more,
  });
  t.teardown(() => follower.close());
  return {
    follower,
    events,
    applied,
    cap: () => applied.at(-1)?.rate_limits.user_paths[0]?.limits[0]?.max_requests,
    kinds: () => events.map(({ kind }) => kind),
  };
}

/** What a promise is rejected with; undefined when it is not. */
export function refusal(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
}

export async function until(claim: () => boolean, deadlineMs: number): Promise<boolean> {
  const end = performance.now() + deadlineMs;
  while (!claim()) {
    if (performance.now() > end) return false;
    await pause(10);
  }
  return true;
}

/** Makes the edit and waits for its effect; the time between. Infinite when it never comes. */
export async function timed(edit: () => void | Promise<void>, claim: () => boolean): Promise<number> {
  const began = performance.now();
  await edit();
  return (await until(claim, soonMs)) ? performance.now() - began : Number.POSITIVE_INFINITY;
}

/** Other work on the machine may make one edit late, but cannot make another one early. */
export function isLive(t: Test, times: readonly number[], name: string): void {
  const shown = times.map((ms) => `${Math.round(ms)} ms`).join(', ');
  t.ok(times.every(Number.isFinite) && Math.min(...times) < liveMs, `${name}: ${shown}`);
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => void setTimeout(resolve, ms));

/** Lets a full round of events, recheck and patience go by, when the claim is that nothing happens. */
export const settle = (): Promise<void> => pause(1_500);

/** The most processor time this thread spends between two turns of its loop, in ms: unlike wall time, no other process adds to it. */
export function watchStalls(): () => number {
  const spent = (): number => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1_000;
  };
  let longest = 0;
  let last = spent();
  const timer = setInterval(() => {
    const now = spent();
    longest = Math.max(longest, now - last);
    last = now;
  }, 1);
  return () => {
    clearInterval(timer);
    return longest;
  };
}
