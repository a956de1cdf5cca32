// What is learned of answers: a quantile by model and consumer, that of the model until there are enough, and a bound on the memory.
import { test } from 'tap';
import { AnswerLengths } from '../../../proxy/limits/answer-lengths.ts';

/** Answers of these lengths, one after the other. */
function note(lengths: AnswerLengths, model: string, consumer: string, answers: readonly number[]): void {
  for (const tokens of answers) lengths.begin(model, consumer, 1).end(tokens);
}

/** What a request would be told. */
function quantile(lengths: AnswerLengths, model: string, consumer: string, share: number): number | undefined {
  const awaited = lengths.begin(model, consumer, share);
  awaited.end(undefined);
  return awaited.quantile;
}

const times = (count: number, tokens: number): number[] => Array.from({ length: count }, () => tokens);
const oneTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

await test('a quantile is at most a class above the true one, and never below', async (t) => {
  const lengths = new AnswerLengths();
  note(lengths, 'p/m', '/a', oneTo(1_000));
  for (const share of [0.01, 0.5, 0.9, 0.99, 1]) {
    const told = quantile(lengths, 'p/m', '/a', share) ?? 0;
    t.ok(told >= 1_000 * share && told <= 1_000 * share * 2 ** 0.25, `${share}: ${told}`);
  }
  const exact = new AnswerLengths();
  for (const [index, tokens] of [0, 1, 2, 3, 4, 7, 8].entries()) note(exact, 'p/m', `/${index}`, times(30, tokens));
  t.same(
    oneTo(7).map((index) => quantile(exact, 'p/m', `/${index - 1}`, 0.9)),
    [1, 1, 2, 3, 4, 7, 9],
  );
  note(exact, 'p/m', '/long', times(30, 5_000_000));
  t.equal(quantile(exact, 'p/m', '/long', 0.5), 65_535, 'the last class');
});

await test('below 30 answers the model speaks, and below 30 of that nobody', async (t) => {
  const lengths = new AnswerLengths();
  note(lengths, 'p/m', '/a', times(29, 100));
  t.equal(quantile(lengths, 'p/m', '/a', 0.9), undefined);
  note(lengths, 'p/m', '/b', times(29, 1_000));
  t.equal(quantile(lengths, 'p/m', '/a', 0.5), 107, 'half of all 58');
  t.equal(quantile(lengths, 'p/m', '/nobody', 0.9), 1_023);
  note(lengths, 'p/m', '/a', times(1, 100));
  t.equal(quantile(lengths, 'p/m', '/a', 0.9), 107);
  t.equal(quantile(lengths, 'p/other', '/a', 0.9), undefined);
});

await test('the short answers of a burst end first, so that a few are not believed while others are open', async (t) => {
  const lengths = new AnswerLengths();
  note(lengths, 'p/m', '/others', [...times(90, 500), ...times(10, 4_000)]);
  const burst = times(50, 0).map(() => lengths.begin('p/m', '/a', 0.9));
  t.same(
    new Set(burst.slice(0, 11).map((awaited) => awaited.quantile)),
    new Set([511, 4_095]),
    'up to ten open, then the longest',
  );
  for (const awaited of burst.slice(0, 40)) awaited.end(10);
  t.equal(quantile(lengths, 'p/m', '/a', 0.8), 511, 'of the model: 40 of these answers, and 10 are open');
  for (const awaited of burst.slice(40)) awaited.end(4_000);
  t.equal(quantile(lengths, 'p/m', '/a', 0.9), 4_095, 'of its own');
  note(lengths, 'p/m', '/a', times(950, 10));
  for (let open = 0; open < 900; open += 1) lengths.begin('p/m', '/a', 0.9);
  t.equal(quantile(lengths, 'p/m', '/a', 0.5), 11, '1,000 answers are believed');
});

await test('what was learned follows what changes: counts are halved every 2,000 answers', async (t) => {
  const lengths = new AnswerLengths();
  note(lengths, 'p/m', '/a', times(2_000, 10));
  note(lengths, 'p/m', '/a', times(1_001, 1_000));
  t.equal(quantile(lengths, 'p/m', '/a', 0.5), 1_023, '1,001 new ones and 1,000 of the old');
});

await test('at most 4,096 histograms are kept, those used last', async (t) => {
  const lengths = new AnswerLengths();
  note(lengths, 'p/first', '/a', times(30, 10));
  for (let consumer = 0; consumer < 5_000; consumer += 1) {
    note(lengths, 'p/m', `/${consumer}`, [10]);
    if (consumer % 1_000 === 0) note(lengths, 'p/kept', '/a', [10]);
  }
  t.equal(quantile(lengths, 'p/first', '/a', 0.5), undefined, 'forgotten');
  note(lengths, 'p/kept', '/a', times(25, 10));
  t.equal(quantile(lengths, 'p/kept', '/a', 0.5), 11, 'five of before and 25');
});
