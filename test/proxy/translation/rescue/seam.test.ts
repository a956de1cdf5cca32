// Where the words of two targets meet: what the second one repeats is cut, and nothing else.
import { test } from 'tap';
import { ContinuedSeam, RepeatedSeam, type Seam } from '../../../../proxy/translation/rescue/seam.ts';
import { createRandom } from '../../../support/random.ts';

const words = (said: string): Seam => new ContinuedSeam(said, { prefix: said, isExact: false, repeats: false });
const exact = (said: string, repeats = false): Seam =>
  new ContinuedSeam(said, { prefix: said.trimEnd(), isExact: true, repeats });

/** What passes of a text that comes in pieces of one character; undefined: it says something else. */
function passed(seam: Seam, come: string): string | undefined {
  let text = '';
  for (const piece of [...Array.from({ length: come.length }, (_, index) => come.charAt(index)), undefined]) {
    const fresh = piece === undefined ? seam.end() : seam.push(piece);
    if (fresh === undefined) return undefined;
    text += fresh;
  }
  return text;
}

await test('behind an instruction, repeated words are cut', async (t) => {
  for (const [said, come, fresh] of [
    ['The quick brown', ' fox', ' fox'],
    ['The quick brown', 'brown fox', ' fox'],
    ['The quick brown', ' brown fox', ' fox'],
    ['The quick brown', 'quick brown fox', ' fox'],
    ['The quick brown', 'The quick brown fox', ' fox'],
    ['The qui', 'quick', 'ck'],
    ['The quick', 'The quiet', 'The quiet'],
    ['hel', 'lo', 'lo'],
    ['ban', 'ana', 'ana'],
    ['A line.\n', '\n- a', '\n- a'],
    ['a sentence that is rather lo', 'that is rather long', 'ng'],
    ['it overlaps within a wo', 'rlaps within a word', 'rd'],
    ['你好，世', '世界', '界'],
    ['x = 1', '1', '1'],
    ['', 'x', 'x'],
  ] as const)
    t.equal(passed(words(said), come), fresh, `${said} | ${come}`);
});

await test('behind a prefill nothing is cut but blanks that were left out, and the whole prefix', async (t) => {
  for (const [said, come, fresh] of [
    ['1, 1', ', 1', ', 1'],
    ['ha ha', ' ha', ' ha'],
    ['a line:\n\n', '\n\nb', 'b'],
    ['a line:\n\n', '\nb', 'b'],
    ['a line:\n', '\n    b', '    b'],
    ['a line:\n', 'b', 'b'],
    ['a line that is long\n', 'a line that is long\nb', 'b'],
    ['short', 'short', 'short'],
  ] as const)
    t.equal(passed(exact(said), come), fresh, `${said} | ${come}`);
  t.equal(passed(exact('short', true), 'short one'), ' one', 'of a provider that begins with its prefix');
});

await test('an answer that begins again must say the same', async (t) => {
  t.equal(passed(new RepeatedSeam('The fox'), 'The fox runs'), ' runs');
  t.equal(new RepeatedSeam('The fox').push('The fox runs'), ' runs');
  t.equal(passed(new RepeatedSeam('The fox'), 'The cat'), undefined);
  t.equal(passed(new RepeatedSeam('The fox'), 'The'), undefined, 'all of it');
});

await test('whatever was said, a repetition of its last words or all of it leaves the rest', async (t) => {
  const random = createRandom(7);
  const pick = (list: readonly string[]): string => list[Math.floor(random() * list.length)] ?? '';
  for (let round = 0; round < 300; round += 1) {
    const text = Array.from({ length: 30 }, (_, index) => `${pick(['uno', 'dos', '三', 'a🦊', 'x'])}${index}`).join(
      ' ',
    );
    const at = 1 + Math.floor(random() * (text.length - 1));
    const said = text.slice(0, at);
    const from = random() < 0.3 ? 0 : said.lastIndexOf(' ', at - Math.floor(random() * 40)) + 1;
    t.equal(said + (passed(words(said), text.slice(from)) ?? ''), text, `${at} ${from}`);
    t.equal(said + (passed(words(said), text.slice(at)) ?? ''), text, `${at} exactly`);
  }
});
