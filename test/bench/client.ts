// The load client: a process that lives as long as the bench, takes commands as JSON lines and answers each with one line.
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { runClosedLoop } from './closed-loop.ts';
import { HeldSet } from './held-streams.ts';
import { runOpenLoop } from './open-loop.ts';
import type { Command, Reply } from './slice.ts';
import { Target } from './target.ts';

const { values } = parseArgs({
  options: {
    token: { type: 'string', default: '' },
    peer: { type: 'string' },
    header: { type: 'string', multiple: true, default: [] },
  },
});
const targets = new Map<string, Target>();
const held = new Map<string, HeldSet>();

// The bench ends this process by closing its stdin.
for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await reply(line))}\n`);
}
process.exit(0);

async function reply(line: string): Promise<Reply> {
  try {
    return { done: await obey(JSON.parse(line)) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

async function obey(command: Command): Promise<Extract<Reply, { done: unknown }>['done']> {
  if (command.do === 'slice') {
    const { slice } = command;
    const { rate } = slice;
    const target = targetAt(slice.url);
    return await (rate === undefined ? runClosedLoop(target, slice) : runOpenLoop(target, { ...slice, rate }));
  }
  const { url } = command;
  if (command.do === 'open') {
    await targetAt(url).take(command.connections);
    return null;
  }
  if (command.do === 'hold') return await heldAt(url).open(command.streams);
  if (command.do === 'watch') return await heldAt(url).watch(command.seconds);
  targets.get(url)?.close();
  held.get(url)?.close();
  targets.delete(url);
  held.delete(url);
  return null;
}

function targetAt(url: string): Target {
  const target = targets.get(url) ?? new Target(url, values.token, url === values.peer ? values.header : []);
  targets.set(url, target);
  return target;
}

function heldAt(url: string): HeldSet {
  const set = held.get(url) ?? new HeldSet(url, values.token);
  held.set(url, set);
  return set;
}
