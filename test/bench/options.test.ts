// What may be typed after `npm run bench --`.
import tap from 'tap';
import { readOptions } from './options.ts';

void tap.test('without a word the whole table is measured', async (t) => {
  t.match(readOptions([]), { mode: 'table', quick: false, limiter: true, parts: ['json', 'sse', 'held', 'start'] });
  t.match(readOptions(['--quick']), { quick: true, parts: ['json', 'sse', 'start'] });
  t.equal(readOptions(['--help']), undefined);
});

void tap.test('--only names parts of the table, or workloads of a comparison', async (t) => {
  t.match(readOptions(['--only', 'start,json']), { parts: ['json', 'start'], limiter: false });
  t.match(readOptions(['--only', 'limiter']), { parts: [], limiter: true });
  const comparison = { mode: 'compare', compare: ['HEAD'], workloads: ['json-8k', 'paced'] };
  t.match(readOptions(['--compare', 'HEAD', '--only', 'json-8k,paced']), comparison);
  t.match(readOptions(['--compare', 'a,b']), { compare: ['a', 'b'], workloads: ['json', 'sse', 'burst', 'paced'] });
});

void tap.test('the record store is measured with a million entries, or as many as are asked for', async (t) => {
  t.match(readOptions(['--records']), { mode: 'records', entries: 1_000_000 });
  t.match(readOptions(['--records', '--entries', '5', '--rounds', '3']), { mode: 'records', entries: 5, rounds: 3 });
});

void tap.test(
  'what records cost is measured with bodies of two sizes and with streams, or with what is asked for',
  async (t) => {
    t.match(readOptions(['--records-cost']), { mode: 'records-cost', workloads: ['json-1k', 'json-8k', 'sse'] });
    t.match(readOptions(['--records-cost', '--only', 'json,burst']), { workloads: ['json', 'burst'] });
  },
);

void tap.test('the cache is measured with JSON and two kinds of streams, in three launches', async (t) => {
  const usual = { mode: 'cache', workloads: ['json', 'sse', 'paced'], pairs: 4, launches: 3 };
  t.match(readOptions(['--cache']), usual);
  t.match(readOptions(['--cache', '--only', 'json', '--launches', '9']), { workloads: ['json'], launches: 9 });
  t.throws(() => readOptions(['--cache', '--only', 'burst']), {
    message: '--only knows no burst; it knows json, sse, paced',
  });
});

void tap.test('wrong words are refused with what would be right', async (t) => {
  t.throws(() => readOptions(['--only', 'jsn']), {
    message: '--only knows no jsn; it knows json, sse, held, start, limiter',
  });
  t.throws(() => readOptions(['--variants', 'bare,nginx']), { message: /knows no nginx/ });
  t.throws(() => readOptions(['--rounds', '0']), { message: /whole number from 1 on, not 0/ });
  t.throws(() => readOptions(['--compare', 'a,b,c']), { message: /one commit or two/ });
  t.throws(() => readOptions(['--compare', 'a', '--flags']), { message: /cannot go together/ });
  t.throws(() => readOptions(['--compare', 'a', '--only', 'held']), { message: /knows no held/ });
  t.throws(() => readOptions(['--translation', '--flags']), { message: /cannot go together/ });
  t.throws(() => readOptions(['--fast']), { message: /--fast/ });
  const dashboard = { mode: 'dashboard', entries: 1_000_000, rules: 50 } as const;
  t.match(readOptions(['--dashboard', '--rules', '50']), dashboard);
});
