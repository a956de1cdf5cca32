// What a request sets aside: its prompt, and for its answer what was learned, at most what it asks for.
import { test } from 'tap';
import { scanObject } from '../../../proxy/bytes/scan.ts';
import { readCall } from '../../../proxy/call/call.ts';
import type { ReserveTokens } from '../../../proxy/limits/enforcement.ts';
import { createLimiter, type Limiter } from '../../../proxy/limits/limiter.ts';
import { type Expected, type ExpectedOf, expectedOf, wantedAt } from '../../../proxy/stages/expect.ts';
import { estimateInput } from '../../../proxy/tokens/estimate.ts';
import { askedOutput } from '../../../proxy/tokens/output-bound.ts';
import { ruleOf } from '../limits/rule-of.ts';

const target = { upstream: { name: 'p' }, model: 'm' };
const other = { upstream: { name: 'p' }, model: 'long' };

function limiterWith(reserveTokens: ReserveTokens): Limiter {
  const limiter = createLimiter();
  limiter.reconcile([ruleOf('user_path', '/', 60, { maxTokens: 1_000 })], { reserveTokens });
  return limiter;
}

/** A chat with these members beside its model. */
const chat = (more: object = {}): Buffer => Buffer.from(JSON.stringify({ model: 'm', messages: [], ...more }));

function expect(limiter: Limiter, more: object = {}, asked: Partial<ExpectedOf> = {}): Expected {
  const body = readCall(chat(more));
  const expected = expectedOf({ operation: 'chat', body, consumer: '/a', ...asked }, limiter);
  if (expected === undefined) throw new Error('nothing is set aside');
  return expected;
}

/** An answer of so many tokens comes of a request. */
function learn(limiter: Limiter, tokens: number): void {
  const expected = expect(limiter);
  expected.at(target);
  expected.end(target, tokens);
}

await test('the longest answer is read in every dialect: the largest where two are said, and for each answer side by side', async (t) => {
  const bodies: [object, number | undefined, number?][] = [
    [{}, undefined],
    [{ max_tokens: 7 }, 7],
    [{ max_completion_tokens: 50, max_tokens: 7 }, 50],
    [{ max_completion_tokens: 5, max_tokens: 70 }, 70],
    [{ max_output_tokens: 9, n: 3 }, 9, 3],
    [{ generationConfig: { maxOutputTokens: 11, candidateCount: 2 } }, 11, 2],
    [{ inferenceConfig: { maxTokens: 12 } }, 12],
    [{ max_tokens: null, n: 100_000 }, undefined, 128],
    [{ max_tokens: -5, n: 'many' }, undefined],
    [{ max_tokens: 1.5, generationConfig: [] }, undefined],
    [{ metadata: { max_tokens: 3 } }, undefined],
  ];
  for (const [members, mostTokens, choices = 1] of bodies) {
    const body = Buffer.from(JSON.stringify(members));
    t.same(askedOutput(body, scanObject(body)), { mostTokens, choices }, body.toString());
  }
});

await test('what was learned bounds the answer, at most what is asked for; without it 1,024', async (t) => {
  const limiter = limiterWith('p90');
  const output = (more: object = {}, asked: Partial<ExpectedOf> = {}) => {
    const expected = expect(limiter, more, asked);
    const { tokens, basis } = expected.outputAt(target);
    expected.end();
    return { tokens, basis };
  };
  t.same(output(), { tokens: 1_024, basis: 'usual' });
  t.same(output({ n: 2 }), { tokens: 2_048, basis: 'usual' });
  t.same(output({ max_tokens: 300 }), { tokens: 300, basis: 'asked' });
  t.same(output({ max_tokens: 5_000 }), { tokens: 1_024, basis: 'usual' });
  for (let answer = 1; answer <= 30; answer += 1) learn(limiter, answer <= 15 ? 100 : 500);
  t.same(output(), { tokens: 511, basis: 'learned' });
  t.same(output({ max_tokens: 300 }), { tokens: 300, basis: 'asked' });
  t.same(output({ max_tokens: 5_000 }), { tokens: 511, basis: 'learned' });
  t.same(output({}, { consumer: '/b' }), { tokens: 511, basis: 'learned' }, 'of the model');
  t.equal(expect(limiter).outputAt(other).basis, 'usual');

  const median = limiterWith('p50');
  for (let answer = 1; answer <= 30; answer += 1) learn(median, answer <= 15 ? 100 : 500);
  t.match(expect(median).outputAt(target), { tokens: 107, basis: 'learned' });
});

await test('max is what the request asks for; what asks for nothing, the longest answer so far', async (t) => {
  const limiter = limiterWith('max');
  t.match(expect(limiter, { max_tokens: 5_000, n: 2 }).outputAt(target), { tokens: 10_000, basis: 'asked' });
  t.match(expect(limiter).outputAt(target), { tokens: 1_024, basis: 'usual' });
  for (let answer = 1; answer <= 30; answer += 1) learn(limiter, answer * 10);
  t.match(expect(limiter).outputAt(target), { tokens: 304, basis: 'learned' });
});

await test('a figure stays until the end, whatever is learned meanwhile', async (t) => {
  const limiter = limiterWith('p90');
  const expected = expect(limiter);
  const before = expected.at(target);
  for (let answer = 1; answer <= 200; answer += 1) learn(limiter, 10);
  t.equal(expected.at(target), before);
  t.ok(expect(limiter).at(target) < before);
});

await test('the prompt counts beside the answer; what answers in numbers has none', async (t) => {
  const limiter = limiterWith('p90');
  const long = { messages: [{ role: 'user', content: 'word '.repeat(400) }], max_tokens: 10 };
  t.equal(expect(limiter, long).at(target), estimateInput(chat(long)) + 10);
  t.equal(expect(limiter, long, { operation: 'embeddings' }).at(target), estimateInput(chat(long)));
  t.equal(expect(limiter, long).most([target, other]), expect(limiter, long).at(other));
  t.equal(expect(limiter).most([]), 0);
});

await test('of a body that is still coming its length is known, and what it is', async (t) => {
  const limiter = limiterWith('p90');
  const at = (asked: Partial<ExpectedOf>) => expect(limiter, {}, { body: undefined, ...asked }).at(target);
  t.equal(at({ length: 40_000, isText: true }), 10_000 + 1_024);
  t.equal(at({ length: 1_000_000, isText: false }), 2_000 + 1_024, 'media');
  t.equal(at({}), 1_024);
});

await test('nothing is estimated where nothing is set aside, or no rule counts tokens', async (t) => {
  const limiter = limiterWith('none');
  t.equal(expectedOf({ operation: 'chat', body: readCall(chat()), consumer: '/a' }, limiter), undefined);
  const counting = limiterWith('p90');
  const untouched = expectedOf(
    {
      operation: 'chat',
      get body(): never {
        throw new Error('it was read');
      },
      consumer: '/a',
    },
    counting,
  );
  t.equal(wantedAt(target, counting.forTarget('p', 'm'), untouched, counting), 0);
  t.equal(wantedAt(target, counting.forUserPath('/'), undefined, counting), 0);
  t.ok(wantedAt(target, counting.forUserPath('/'), expect(counting), counting) > 1_024);
});
