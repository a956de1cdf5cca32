// A guardrail whose verdict is waited for, as that of a webhook: events keep their order, the provider pauses, and the end waits, too.
import { setImmediate } from 'node:timers/promises';
import { test } from 'tap';
import type { Failure } from '../../../proxy/answer.ts';
import { Guarding } from '../../../proxy/guardrails/guarding.ts';
import type { Guardrail, Released } from '../../../proxy/guardrails/guardrail.ts';
import { waitFor } from '../../support/wait-for.ts';
import { openGuarded, railsOf } from './rails.ts';

const caller = { requestId: 'r', userPath: '/', model: 'm' };

/** A guardrail that gives its verdicts when it is told to: a piece in capitals, or what it is told. */
function slow(): { guardrail: Guardrail; open: ((given?: Released | Error) => void)[] } {
  const [flag] = railsOf([{ name: 'slow', on: ['output'], regex: { patterns: ['never'], action: 'flag' } }]);
  if (flag === undefined) throw new Error('there is no guardrail');
  const open: ((given?: Released | Error) => void)[] = [];
  const push = (text: string): Promise<Released> =>
    new Promise((resolve, reject) => {
      open.push((given = { text: text.toUpperCase() }) => (given instanceof Error ? reject(given) : resolve(given)));
    });
  return { guardrail: { ...flag, output: { stream: () => ({ push, end: () => ({ text: '' }) }) } }, open };
}

function guarded(guardrails: readonly Guardrail[]) {
  const seen = { told: '', isFull: false, resumed: 0, ended: 0, reported: [] as unknown[] };
  const outcome: { failure?: Failure | undefined; cancelled?: Failure | undefined } = {};
  const answer = {
    cancel(failure?: Failure): void {
      outcome.cancelled = failure;
      sink.end(failure);
    },
    resume(): void {
      seen.resumed += 1;
    },
  };
  const guarding = new Guarding(guardrails, caller, 'chat');
  const guard = { answer, report: (error: unknown) => seen.reported.push(error) };
  const sink = openGuarded(guarding, guard, {
    write(chunk) {
      for (const [, data = ''] of chunk.toString().matchAll(/^data: (\{.*)$/gm)) {
        const { choices } = JSON.parse(data) as { choices: { delta: { content: string } }[] };
        seen.told += choices[0]?.delta.content ?? '';
      }
      return !seen.isFull;
    },
    end(failure) {
      seen.ended += 1;
      outcome.failure = failure;
    },
  });
  const say = (content: string): boolean =>
    sink.write(Buffer.from(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`));
  return { sink, say, seen, outcome };
}

await test('events keep their order, and the provider pauses while a verdict is waited for', async (t) => {
  const { guardrail, open } = slow();
  const { sink, say, seen, outcome } = guarded([guardrail]);
  t.equal(say('a'), false);
  t.equal(say('b'), false);
  sink.end(undefined);
  t.same([open.length, seen.told, seen.ended], [1, '', 0], 'one is asked about at a time, and the end waits');
  open[0]?.();
  await setImmediate();
  t.same([open.length, seen.told, seen.ended], [2, 'A', 0]);
  open[1]?.();
  await setImmediate();
  t.same([seen.told, seen.ended, outcome.failure], ['AB', 1, undefined]);
  t.equal(seen.resumed, 0, 'nothing waits after the end');
});

await test('the provider goes on when all verdicts are there', async (t) => {
  const { guardrail, open } = slow();
  const { say, seen } = guarded([guardrail]);
  say('a');
  open[0]?.();
  await setImmediate();
  t.same([seen.told, seen.resumed], ['A', 1]);
});

await test('a client that was slow once gets the rest: what is held back does not stop the provider', async (t) => {
  const { guardrail, open } = slow();
  const words = railsOf([{ name: 'words', on: ['output'], keywords: { words: ['bluebird'], action: 'block' } }]);
  const { say, seen } = guarded(words);
  seen.isFull = true;
  t.equal(say('hello '), false);
  seen.isFull = false;
  t.equal(say('blue'), true, 'it may be the beginning of a word');
  t.equal(seen.told, 'hello ');
  const asked = guarded([guardrail]);
  asked.seen.isFull = true;
  asked.say('a');
  open[0]?.();
  await setImmediate();
  t.equal(asked.say('b'), false, 'it is asked about');
  open[1]?.({ text: '' });
  await setImmediate();
  t.same([asked.seen.told, asked.seen.resumed], ['A', 1]);
});

await test('a block that comes late ends the stream once, and what is queued is not told', async (t) => {
  const { guardrail, open } = slow();
  const { say, seen, outcome } = guarded([guardrail]);
  say('a');
  say('b');
  open[0]?.({ text: '', verdict: { outcome: 'block', reason: 'late' } });
  await setImmediate();
  const failure = { code: 'guardrail_blocked', reason: 'slow (late)' };
  t.match(outcome, { cancelled: failure, failure });
  t.same([seen.told, seen.ended, open.length], ['', 1, 1]);
  t.equal(say('c'), true);
});

await test('what fails unexpectedly is reported, and ends the stream without a word of the provider', async (t) => {
  const { guardrail, open } = slow();
  const { say, seen, outcome } = guarded([guardrail]);
  say('a');
  const unexpected = new Error('unexpected');
  open[0]?.(unexpected);
  await setImmediate();
  t.same(seen.reported, [unexpected]);
  t.match(outcome.failure, { code: 'internal_error' });
  t.same([seen.told, seen.ended], ['', 1]);
});

await test('an answer of more texts than can be open at once breaks off', async (t) => {
  const { sink, outcome } = guarded(
    railsOf([{ name: 'a', on: ['output'], keywords: { words: ['b'], action: 'flag' } }]),
  );
  const choices = Array.from({ length: 1_100 }, (_, index) => ({ index, delta: { content: 'x' } }));
  sink.write(Buffer.from(`data: ${JSON.stringify({ choices })}\n\n`));
  await waitFor('the end', () => outcome.failure !== undefined);
  t.match(outcome.failure, { code: 'upstream_invalid_response' });
});

await test('an answer that is too long to be checked breaks off', async (t) => {
  const { say, outcome } = guarded(railsOf([{ schema: { schema: {} } }]));
  for (let piece = 0; piece < 20; piece += 1) say('x'.repeat(1024 * 1024));
  await waitFor('the end', () => outcome.failure !== undefined);
  t.match(outcome.failure, { code: 'upstream_invalid_response' });
});
