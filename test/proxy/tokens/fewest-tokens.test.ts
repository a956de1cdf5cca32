// A lower bound of tokens is never above what tokenizers count, and not far below it in prose.
import { test } from 'tap';
import { fewestTokens, leastTokenBytes } from '../../../proxy/tokens/fewest-tokens.ts';

const bodyOf = (content: string) => Buffer.from(JSON.stringify({ messages: [{ role: 'user', content }] }));

/** A text, how often it is repeated, and the tokens of all of it by o200k_base, which counts the fewest of the common ones. */
const texts: readonly (readonly [string, string, number, number])[] = [
  ['short words', 'the of and ', 5_000, 15_001],
  ['single letters', ' a', 20_000, 20_000],
  ['padding', `word${' '.repeat(60)}`, 2_000, 4_000],
  [
    'Chinese',
    '机器学习是人工智能的一个分支，它使计算机能够从数据中学习，而无需明确编程。近年来，大型语言模型取得了显著进展。',
    200,
    7_200,
  ],
  [
    'Korean',
    '기계 학습은 인공지능의 한 분야로, 컴퓨터가 명시적으로 프로그래밍하지 않고도 데이터에서 학습할 수 있게 합니다. ',
    200,
    6_801,
  ],
  [
    'Russian',
    'Машинное обучение является разделом искусственного интеллекта, который позволяет компьютерам обучаться на данных. ',
    200,
    4_402,
  ],
];

for (const [name, text, times, tokens] of texts) {
  await test(`${name}: no more than a tokenizer counts, and no more than the length allows`, (t) => {
    const body = bodyOf(text.repeat(times));
    const fewest = fewestTokens(body);
    t.ok(fewest <= tokens, `${fewest} of ${tokens}`);
    t.ok(fewest >= tokens / 2.3, `${fewest} of ${tokens}`);
    t.ok(fewest <= body.length / leastTokenBytes);
    t.end();
  });
}

await test('pictures and links count nothing; a long text is sampled, and not overrated', (t) => {
  t.equal(fewestTokens(bodyOf(`data:image/png;base64,${'iVBORw0KGgo+/'.repeat(20_000)}`)), 0);
  const sampled = fewestTokens(bodyOf('the of and '.repeat(200_000)));
  t.ok(sampled <= 600_001 && sampled > 570_000, String(sampled));
  t.end();
});
