// What a parent and its workers decide: readiness, restarts, questions, whole lines, and the memory of each worker.

import type { ChildProcess } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { test } from 'tap';
import type { Readiness } from '../../../proxy/readiness.ts';
import { CrewMember } from '../../../proxy/workers/crew.ts';
import { followHandOvers } from '../../../proxy/workers/hand-overs.ts';
import type { FromParent, FromWorker } from '../../../proxy/workers/messages.ts';
import { Questions } from '../../../proxy/workers/questions.ts';
import { readinessOfAll } from '../../../proxy/workers/readiness-of-all.ts';
import { joinSiblings } from '../../../proxy/workers/siblings.ts';
import { passLinesOn } from '../../../proxy/workers/whole-lines.ts';
import { heapFlags } from '../../../proxy/workers/worker-heap.ts';
import { waitFor } from '../../support/wait-for.ts';

const ready: Readiness = { status: 'ready', reasons: [] };
const overloaded: Readiness = { status: 'overloaded', reasons: ['memory_nearly_full'] };
const rejected: Readiness = { status: 'degraded', reasons: ['config_rejected'] };

await test('one door speaks for all workers: it is ready while one of them serves', async (t) => {
  const all = (own: Readiness, ...others: (Readiness | undefined)[]): Readiness =>
    readinessOfAll(
      own,
      others.map((readiness) => ({ readiness })),
    );
  t.same(all(ready, ready), ready);
  t.same(all(overloaded), overloaded, 'alone');
  t.same(all(ready, undefined), { status: 'degraded', reasons: ['worker_missing'] });
  t.same(all(ready, rejected, rejected), rejected);
  t.same(all(overloaded, ready), { status: 'degraded', reasons: ['worker_overloaded'] });
  t.same(all(overloaded, overloaded), overloaded);
  t.same(all(overloaded, undefined), overloaded, 'none serves');
  const draining: Readiness = { status: 'draining', reasons: [] };
  t.same(all(draining, ready), draining, 'all of them drain');
});

await test('a worker that ends again and again waits longer each time, up to ten seconds, and a good run forgets that', async (t) => {
  const member = new CrewMember(2);
  const pauses = Array.from({ length: 9 }, () => member.ended());
  t.same(pauses, [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
  const status = { readiness: ready, graceMs: 1 };
  for (let beat = 0; beat < 130; beat += 1) {
    member.heard(status);
    t.equal(member.beat(), false);
  }
  t.equal(member.ended(), 100);
});

await test('a silent worker is missing after three seconds, stuck after thirty, and one that starts is never stuck', async (t) => {
  const member = new CrewMember(1);
  for (let beat = 0; beat < 100; beat += 1) t.equal(member.beat(), false);
  t.equal(member.readiness, undefined);
  member.heard({ readiness: ready, graceMs: 1 });
  const beats = Array.from({ length: 70 }, (_, index) => (member.beat() ? index + 1 : []));
  t.same(beats.flat(), [60]);
  t.equal(member.readiness, undefined, 'missing');
  member.heard({ readiness: ready, graceMs: 1 });
  t.equal(member.readiness, ready);
});

await test('a question is answered by all in time, and is not held up by a worker that ends', async (t) => {
  const questions = new Questions();
  const asked: [number, number][] = [];
  const worker = (number: number) => ({ number, send: ({ id }: { id: number }) => void asked.push([number, id]) });
  const answers = questions.ask({ about: 'explanation', id: 'x' }, [worker(1), worker(2), worker(3)]);
  const id = asked[0]?.[1] ?? 0;
  t.same(
    asked.map(([number]) => number),
    [1, 2, 3],
  );
  questions.take(1, id, null);
  questions.take(2, id, 'text');
  questions.take(2, id, 'again');
  questions.gone(3);
  t.same(await answers, new Map([[2, 'text']]));
  t.equal((await questions.ask({ about: 'explanation', id: 'x' }, [])).size, 0, 'nobody to ask');
  t.equal((await questions.ask({ about: 'kept', id: 'x', owner: '/' }, [worker(1)])).size, 0, 'nobody answers');
});

await test('a worker answers the others, asks them, and takes signals and the end of its parent from the channel', async (t) => {
  const channel = new EventEmitter();
  const sent: FromWorker[] = [];
  const told: string[] = [];
  const siblings = joinSiblings(
    {
      on: (event, listener) => channel.on(event, listener),
      once: (event, listener) => channel.once(event, listener),
      send: (message) => void sent.push(message),
    },
    { lost: (end) => end(), leave: () => told.push('left') },
  );
  const say = (message: FromParent): boolean => channel.emit('message', message);
  say({ kind: 'signal', name: 'SIGTERM' });
  t.same(told, ['left'], 'nothing handles it yet');
  siblings.signals.on('SIGTERM', (name) => told.push(name));
  say({ kind: 'signal', name: 'SIGTERM' });
  siblings.work({
    status: () => ({ readiness: ready, graceMs: 7 }),
    answer: (question) => (question.about === 'explanation' ? question.id : Promise.reject(new Error('no'))),
    failedLogin: ({ address }) => told.push(`${address}`),
  });
  say({ kind: 'failed_login', failed: { address: '10.0.0.1', atMs: 1 } });
  say({ kind: 'asked', id: 4, question: { about: 'explanation', id: 'e' } });
  say({ kind: 'asked', id: 5, question: { about: 'metrics' } });
  const replies = siblings.ask({ about: 'metrics' });
  say({ kind: 'replies', id: 1, replies: ['a', 'b'] });
  t.same(await replies, ['a', 'b']);
  say({ kind: 'others', others: [{ number: 2, readiness: undefined }] });
  t.equal(siblings.readinessOf(ready).status, 'degraded');
  await pause(1);
  channel.emit('disconnect');
  t.same(told, ['left', 'SIGTERM', '10.0.0.1', 'SIGTERM', 'SIGTERM'], 'two signals cut what is open');
  t.match(sent, [
    { kind: 'status', status: { readiness: ready, graceMs: 7 } },
    { kind: 'ask', id: 1, question: { about: 'metrics' } },
    { kind: 'reply', id: 4, reply: 'e' },
    { kind: 'reply', id: 5, reply: null },
  ]);
});

await test('the lines of a worker are passed on whole, and a reader that is behind holds it up', async (t) => {
  const from = new PassThrough();
  const passed: string[] = [];
  const to = {
    isBehind: false,
    pass(lines: Buffer) {
      passed.push(lines.toString());
      return !to.isBehind;
    },
  };
  const done = passLinesOn(from, to);
  from.write('one\ntw');
  from.write('o\n');
  await pause(1);
  t.same(passed, ['one\n', 'two\n']);
  to.isBehind = true;
  from.write('three\n');
  await pause(1);
  from.write('four\n');
  await pause(1);
  t.equal(from.isPaused(), true);
  t.equal(passed.length, 3);
  to.isBehind = false;
  from.end('cut of');
  await done;
  t.same(passed.slice(3), ['four\n', 'cut of\n']);
});

await test('a connection that a worker had not taken when it ended is offered to the others', async (t) => {
  const child = Object.assign(new EventEmitter(), { send: () => true }) as unknown as ChildProcess;
  followHandOvers(child);
  const told: unknown[] = [];
  child.on('disconnect', () => told.push('disconnect'));
  child.on('internalMessage', (message: { accepted?: boolean; ack: number }) => {
    if (message.accepted === false) told.push(message.ack);
  });
  for (const seq of [1, 2, 3]) child.send({ cmd: 'NODE_CLUSTER', act: 'newconn', seq }, {} as never);
  child.send({ cmd: 'NODE_CLUSTER', act: 'other', seq: 4 });
  child.emit('exit', null, 'SIGKILL');
  child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack: 2, accepted: true });
  t.same(told, [], 'what it has said is read first');
  t.same(await waitFor('the rest', () => (told.length === 3 ? told : undefined)), ['disconnect', 1, 3]);
});

await test('the heaps of all workers have room in the memory of the machine', async (t) => {
  const gibibyte = 2 ** 30;
  const of = (workers: number, flags: readonly string[] = []): readonly string[] =>
    heapFlags({ workers, memoryBytes: 8 * gibibyte, heapBytes: 2 * gibibyte, flags });
  t.same(of(2), [], 'there is room for both');
  t.same(of(4), ['--max-old-space-size=1536']);
  t.same(of(4, ['--max-old-space-size=700']), [], 'somebody has decided');
});
