// The guard before the client of Redis: every answer a real server gives passes, and what could fill a plane's memory does not.
import { test } from 'tap';
import { mostReplyBytes, mostReplyValues, ReplyGuard } from '../../../../store/state/redis/guard.ts';
import { createRandom } from '../../../support/random.ts';

const good = [
  '+OK\r\n',
  '-ERR no\r\n',
  ':-12\r\n',
  ',0.99\r\n',
  '#t\r\n',
  '_\r\n',
  '$-1\r\n',
  '*-1\r\n',
  '$0\r\n\r\n',
  '$5\r\na\r\nb\n\r\n',
  '=9\r\ntxt:redis\r\n',
  '*0\r\n',
  '*3\r\n$1\r\n0\r\n_\r\n*2\r\n:1\r\n+a\r\n',
  '%2\r\n+a\r\n:1\r\n+b\r\n*1\r\n%0\r\n',
  '>3\r\n+message\r\n$1\r\nc\r\n$1\r\n7\r\n',
  `$300000\r\n${'x'.repeat(300_000)}\r\n`,
];

await test('what Redis answers passes, however it is cut into pieces', async (t) => {
  const random = createRandom(8);
  const below = (limit: number): number => Math.floor(random() * limit);
  let problems = 0;
  for (let round = 0; round < 200; round += 1) {
    const guard = new ReplyGuard();
    const bytes = Buffer.from(Array.from({ length: 20 }, () => good[below(good.length)]).join(''));
    for (let at = 0; at < bytes.length; ) {
      const step = 1 + below(below(2) === 0 ? 5 : 65_536);
      if (guard.take(bytes.subarray(at, at + step)) !== undefined) problems += 1;
      at += step;
    }
  }
  t.equal(problems, 0);
});

await test('many answers, each of them small enough, pass on one connection', async (t) => {
  const guard = new ReplyGuard();
  const answer = Buffer.from(`$1000000\r\n${'x'.repeat(1_000_000)}\r\n`);
  for (let sent = 0; sent < 3 * mostReplyBytes; sent += answer.length) t.equal(guard.take(answer), undefined);
});

const refused: Readonly<Record<string, [head: string, tail?: string]>> = {
  'a text that is announced too large': [`$${mostReplyBytes}\r\n`],
  'a list that is announced too long': [`*${mostReplyValues + 1}\r\n`],
  'a map counts twice': [`%${mostReplyValues / 2 + 1}\r\n`],
  'lists in lists': ['', '*1000\r\n'],
  'texts that are too large together': ['*1000\r\n', `$100000\r\n${'x'.repeat(100_000)}\r\n`],
  'a line without end': ['+', 'x'.repeat(10_000)],
  'a length without end': ['$', '0'],
  'another protocol': ['HTTP/1.1 400 Bad Request\r\n'],
  'types that nothing we ask for has': ['(12\r\n'],
  // The client skips the bytes behind these without looking, and would read something else than was checked.
  'a carriage return inside a line': ['+a\rX*9\r\n'],
  'a nothing with something in it': ['_*9\r\n'],
  'a truth without a letter': ['#\r\n'],
  'a truth with more than one': ['#t*9\r\n'],
  'another negative length than -1': ['$-12\r\n'],
  'a length of no digits': ['*\r\n'],
  'a verbatim text without a head': ['=3\r\nabc\r\n'],
};

for (const [what, [head, tail = '']] of Object.entries(refused)) {
  await test(`refused: ${what}`, async (t) => {
    const guard = new ReplyGuard();
    let problem = guard.take(Buffer.from(head));
    const most = tail === '' ? 0 : 2 * mostReplyBytes;
    for (let sent = 0; problem === undefined && sent < most; sent += tail.length) {
      problem = guard.take(Buffer.from(tail));
    }
    t.match(problem, /^its answer|^it answered/);
  });
}
