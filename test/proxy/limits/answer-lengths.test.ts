// What is learned of answers: a quantile by model and consumer, that of the model until there are enough, and a bound on the memory.
import { test } from 'tap';
import { AnswerLengths } from '../../../proxy/limits/answer-lengths.ts';

/** Notes an answer of each length. */
function note(lengths: AnswerLengths, model: string, consumer: string, answers: readonly number[]): void {
  for (const tokens of answers) lengths.note(model, consumer, tokens);
}

const times = (count: number, tokens: number): number[] => Array.from({ length: count }, () => tokens);
const oneTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

await test('a quantile is at most a class above the true one, and never below', async (t) => {
  const lengths = new AnswerLengths();
  note(lengths, 'p/m', '/a', oneTo(1_000));
  for (const share of [0.01, 0.5, 0.9, 0.99, 1]) {
    const told = lengths.quantile('p/m', '/a', share) ?? 0;
    t.ok(told >= 1_000 * share && told <= 1_000 * share * 2 ** 0.25, `${share}: ${told}`);
  }
  const exact = new AnswerLengths();
  for (const [index, tokens] of [0, 1, 2, 3, 4, 7, 8].entries()) note(exact, 'p/m', `/${index}`, times(30, tokens));
  t.same(
    oneTo(7).map((index) => exact.quantile('p/m', `/${index - 1}`, 0.9)),
    [1, 1, 2, 3, 4, 7, 9],
  );
  note(exact, 'p/m', '/long', times(30, 5_000_000));
  t.equal(exact.quantile('p/m', '/long', 0.5), 65_535, 'the last class');
});

await test('below 30 answers the model speaks, and below 30 of that nobody', async (t) => {
  const lengths = new AnswerLengths();
  note(lengths, 'p/m', '/a', times(29, 100));
  t.equal(lengths.quantile('p/m', '/a', 0.9), undefined);
  note(lengths, 'p/m', '/b', times(29, 1_000));
  t.equal(lengths.quantile('p/m', '/a', 0.5), 107, 'half of all 58');
  t.equal(lengths.quantile('p/m', '/nobody', 0.9), 1_023);
  note(lengths, 'p/m', '/a', times(1, 100));
  t.equal(lengths.quantile('p/m', '/a', 0.9), 107);
  t.equal(lengths.quantile('p/other', '/a', 0.9), undefined);
});

await test('what was learned follows what changes: counts are halved every 2,000 answers', async (t) => {
  const lengths = new AnswerLengths();
  note(lengths, 'p/m', '/a', times(2_000, 10));
  note(lengths, 'p/m', '/a', times(1_001, 1_000));
  t.equal(lengths.quantile('p/m', '/a', 0.5), 1_023, '1,001 new ones and 1,000 of the old');
});

await test('4,096 histograms are kept, those noted last', async (t) => {
  const lengths = new AnswerLengths();
  note(lengths, 'p/first', '/a', times(30, 10));
  for (let consumer = 0; consumer < 5_000; consumer += 1) {
    lengths.note('p/m', `/${consumer}`, 10);
    if (consumer % 1_000 === 0) lengths.note('p/kept', '/a', 10);
  }
  t.equal(lengths.size, 4_096);
  t.equal(lengths.quantile('p/first', '/a', 0.5), undefined, 'forgotten');
  note(lengths, 'p/kept', '/a', times(25, 10));
  t.equal(lengths.quantile('p/kept', '/a', 0.5), 11, 'five of before and 25');
});
