// Finding in texts: the same in pieces as at once, in linear time whatever the pattern and the text, and in slices where the text is long.
import * as fc from 'fast-check';
import { test } from 'tap';
import { readManualGuardrail } from '../../../domain/guardrails/manual-guardrail.ts';
import { mergeGuardrails } from '../../../domain/guardrails/merge-guardrails.ts';
import { guardrailMistakes } from '../../../domain/guardrails/mistakes.ts';
import { compileGuardrails } from '../../../proxy/guardrails/compile-guardrails.ts';
import type { Finder } from '../../../proxy/guardrails/find/finder.ts';
import { JsonScanner } from '../../../proxy/guardrails/find/json-scanner.ts';
import { PatternFinder } from '../../../proxy/guardrails/find/patterns.ts';
import { PersonalFinder, personalKinds } from '../../../proxy/guardrails/find/personal-data.ts';
import { TextScanner } from '../../../proxy/guardrails/find/text-scanner.ts';
import { WordFinder } from '../../../proxy/guardrails/find/words.ts';
import { run } from '../../../proxy/guardrails/flow.ts';
import { Guarding } from '../../../proxy/guardrails/guarding.ts';
import { foundChecks } from '../../../proxy/guardrails/kinds/found-checks.ts';
import { Masks } from '../../../proxy/guardrails/masks.ts';
import type { Guardrail } from '../../../schemas/types.ts';
import { extent } from '../../support/extent.ts';
import { longestBlock } from '../../support/longest-block.ts';
import { railsOf } from './rails.ts';

const replaced = (reason: string): string => `<${reason}>`;
const scanner = (finder: Finder): TextScanner => new TextScanner(finder, ({ reason }) => replaced(reason));

function inPieces(finder: Finder, pieces: readonly string[]): string {
  const reading = scanner(finder);
  return pieces.map((piece) => reading.push(piece)).join('') + reading.end();
}

/** What it comes to where all of the text is there. */
function atOnce(finder: Finder, text: string): string {
  let told = '';
  let from = 0;
  for (let found = finder.find(text, 0); found !== undefined; found = finder.find(text, from)) {
    told += text.slice(from, found.start) + replaced(found.reason);
    from = found.end;
  }
  return told + text.slice(from);
}

const patterns = [
  'ab+',
  'a(b|bc|bcd)',
  '(?:ab)*\\b',
  'a*\\b',
  'foo|foobar',
  '\\bab\\b',
  'b$',
  '^a',
  '(?m)^b',
  '(?i)AB?c',
  'a.c',
  '(a|b)*c',
  'a{2,3}?',
  '(?:a|ab)(?:c|bcd)',
  'é.',
  '😀+a?',
  '\\Ba',
  '[^a]b',
  '(?s)a.*?b',
];
const context = { requestId: 'r', userPath: '/', model: 'm', phase: 'input', masks: new Masks() } as const;
const words = ['ab', 'abc', 'b c', 'cab', 'É', 'a😀', 'bca'];
const finders: readonly Finder[] = [
  ...patterns.map((pattern) => new PatternFinder([pattern], 64, 'p')),
  new PatternFinder(['abc', 'ab', 'b+c$'], 64, 'p'),
  new WordFinder({ words, areWhole: true, reason: 'w' }),
  new WordFinder({ words, areWhole: false, reason: 'w' }),
];
const letters = fc.constantFrom('a', 'b', 'c', ' ', 'A', 'é', '😀', '\n', 'foo', 'bar', 'd');

await test('half a character at the end of a text that was cut from another waits for the other half', (t) => {
  const finder = new WordFinder({ words: ['a😀'], areWhole: false, reason: 'w' });
  const text = 'a text of some length a😀';
  const first = text.slice(0, -1);
  // So often that it was compiled: V8 reads behind the end of what was cut (finder.ts).
  const told = Array.from({ length: 2000 }, () => inPieces(finder, [first, text.slice(-1)]));
  t.same(new Set(told), new Set(['a text of some length <w>']));
  t.end();
});

await test('a text in pieces gives what it gives at once, wherever it is cut', (t) => {
  const texts = fc.array(letters, { maxLength: 14 }).map((parts) => parts.join(''));
  fc.assert(
    fc.property(fc.constantFrom(...finders), texts, fc.nat(), (finder, text, place) => {
      const cut = place % (text.length + 1);
      const wanted = atOnce(finder, text);
      const told = [[text], [text.slice(0, cut), text.slice(cut)], text.split('')].map((each) =>
        inPieces(finder, each),
      );
      // Where there may be nothing, nothing is searched.
      return told.every((each) => each === wanted) && (wanted === text || finder.mayFind(text));
    }),
    { numRuns: 5000 },
  );
  t.end();
});

await test('JSON in pieces stays the JSON that it is, but for what was found in its strings and numbers', (t) => {
  const finder = new PatternFinder(['ab+', '"'], 64, 'p');
  const strings = fc.array(fc.constantFrom('a', 'b', '"', '\\', '\n', 'é', '\u{1f600}', '\u0001'), { maxLength: 8 });
  const values = fc.string();
  fc.assert(
    fc.property(strings, values, fc.nat(), fc.boolean(), (parts, other, place, isEscaped) => {
      const text = parts.join('');
      const written = JSON.stringify({ [text]: [1, text, true], other });
      const json = isEscaped ? written.replaceAll('a', '\\u0061') : written;
      const cut = place % (json.length + 1);
      const reading = new JsonScanner(() => scanner(finder));
      const told = reading.push(json.slice(0, cut)) + reading.push(json.slice(cut)) + reading.end();
      const clean = atOnce(finder, text);
      const wanted = { [clean]: [1, clean, true], other: atOnce(finder, other) };
      return JSON.stringify(JSON.parse(told)) === JSON.stringify(wanted);
    }),
    { numRuns: 2000 },
  );
  t.end();
});

await test('JSON with escapes is looked at like its strings, however long they are', async (t) => {
  const parts = fc.oneof(letters, fc.constantFrom('"', '\\', '\n', ' '.repeat(70), 'd'.repeat(70)));
  const strings = fc.array(parts, { maxLength: 12 }).map((each) => each.join(''));
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...finders), strings, strings, fc.nat(400), async (found, one, other, cut) => {
      const { window } = found;
      const finder: Finder = {
        window,
        slice: 50,
        isAnchored: found.isAnchored,
        mayFind: (text) => found.mayFind(text),
        find: (text, from) => found.find(text, from),
        follow: () => found.follow(),
      };
      const whole = JSON.stringify(['a', one, other]).replaceAll('a', '\\u0061');
      const json = cut > 300 ? whole.slice(0, -cut % 7) : whole;
      const { texts } = foundChecks({ finder, action: 'redact', replacementOf: ({ reason }) => replaced(reason) });
      const verdict = await texts?.([{ role: 'user', form: 'json', text: json }], context);
      const reading = new JsonScanner(() => scanner(finder));
      const told = reading.push(json) + reading.end();
      const isFound = told.includes('<');
      if (!isFound) return verdict?.outcome === 'pass';
      return verdict?.outcome === 'revise' && verdict.texts?.[0] === told;
    }),
    { numRuns: 3000 },
  );
  t.pass();
});

await test('a string of two million escapes is read in one piece', (t) => {
  const json = `{"a":"${'\\u00e4'.repeat(2_000_000)}secret"}`;
  const reading = new JsonScanner(() => scanner(new PatternFinder(['secret'], 64, 'p')));
  const told = reading.push(json) + reading.end();
  t.ok(told.endsWith('<p>"}'));
  t.equal(told.length, '{"a":"'.length + 2_000_000 + '<p>"}'.length);
  t.end();
});

await test('a pattern finds the beginning and the end of each string in JSON', async (t) => {
  for (const pattern of ['^b', 'b$', '\\Ab', 'b\\z']) {
    const finder = new PatternFinder([pattern], 64, 'p');
    const { texts } = foundChecks({ finder, action: 'block', replacementOf: () => '' });
    const verdict = await texts?.([{ role: 'user', form: 'json', text: '{"a":"b"}' }], context);
    t.equal(verdict?.outcome, 'block', pattern);
  }
  // In `[^b]` the mark excludes characters; behind an escaped bracket it is an anchor.
  t.equal(new PatternFinder(['[^b]c'], 64, 'p').isAnchored, false);
  t.equal(new PatternFinder(['\\[?^b'], 64, 'p').isAnchored, true);
  t.equal(new PatternFinder(['\\[^b'], 64, 'p').isAnchored, true);
});

await test('a number in JSON is looked at as a whole, wherever it is cut, and one that is taken out becomes a string', (t) => {
  const finder = new PersonalFinder(['card']);
  const json = '{"card":4111111111111111,"at":1764160000008,"list":[-1.5e+3,4111111111111111],"word":true}';
  const wanted = '{"card":"<card>","at":1764160000008,"list":[-1.5e+3,"<card>"],"word":true}';
  for (let cut = 0; cut <= json.length; cut += 1) {
    const reading = new JsonScanner(() => scanner(finder));
    t.equal(reading.push(json.slice(0, cut)) + reading.push(json.slice(cut)) + reading.end(), wanted);
  }
  const literal = new JsonScanner(() => scanner(new PatternFinder(['\\w+'], 64, 'p')));
  t.equal(literal.push('[tru') + literal.push('e]') + literal.end(), '[true]');
  const bare = new JsonScanner(() => scanner(finder));
  t.equal(bare.push('4111111111111111') + bare.end(), '"<card>"');
  for (const written of ['4.111111111111111e15', '4111111111111111.0', '41111111111111110E-1']) {
    const reading = new JsonScanner(() => scanner(finder));
    t.equal(`${reading.push(`[${written}`)}${reading.push('] ')}${reading.end()}`, '["<card>"] ', written);
  }
  const decimals = new JsonScanner(() => scanner(new PatternFinder(['\\.0$'], 64, 'p')));
  t.equal(decimals.push('[41.0,410]') + decimals.end(), '["41<p>",410]', 'as it is written, too');
  const long = new JsonScanner(() => scanner(new PatternFinder(['7+'], 64, 'p')));
  const digits = '7'.repeat(10) + '1'.repeat(1500) + '7'.repeat(10);
  const told = [...digits.split(''), ',', '1', ']'].reduce((sum, piece) => sum + long.push(piece), long.push('['));
  t.equal(told + long.end(), `["<p>${'1'.repeat(1500)}<p>",1]`, 'one that no program can hold becomes a string');
  t.equal(atOnce(new PersonalFinder(['card']), '1764160000008'), '1764160000008', 'a time');
  t.end();
});

await test('where a text is no JSON, all of it is looked at as it stands, wherever it is cut', (t) => {
  for (const [text, wanted] of Object.entries({
    "{'card': '4111 1111 1111 1111'}": "{'card': '<card>'}",
    'pay with 4111 1111 1111 1111': 'pay with <card>',
    '4111 1111 1111 1111': '<card>',
    'true 4111 1111 1111 1111': 'true <card>',
    '{"a":"x" 4111 1111 1111 1111}': '{"a":"x" <card>}',
    '{a: 4111 1111 1111 1111}': '{a: <card>}',
    '["4111 1111 1111 1111", 4111 1111 1111 1111, "x"': '["<card>", <card>, "x"',
    '[1 , 2\n] {"a": -0.5}': '[1 , 2\n] {"a": -0.5}',
    '"4111 1111 1111 1111': '"<card>',
    '{"a":tru3, "b":"4111\\u00201111 1111 1111"}': '{"a":tru3, "b":"<card>"}',
  })) {
    for (let cut = 0; cut <= text.length; cut += 1) {
      const reading = new JsonScanner(() => scanner(new PersonalFinder(['card'])));
      const told = reading.push(text.slice(0, cut)) + reading.push(text.slice(cut)) + reading.end();
      if (told !== wanted) t.fail(`${text} cut at ${cut} gives ${told}`);
    }
  }
  t.pass();
  t.end();
});

await test('no more than the window is held back, and nothing where nothing begins', (t) => {
  const reading = scanner(new PatternFinder(['x\\d+y'], 16, 'p'));
  t.equal(reading.push('plain words'), 'plain words');
  t.equal(reading.push('x12'), '');
  t.equal(reading.push(' and on'), 'x12 and on', 'what was nothing is told at once');
  let held = '';
  for (const piece of `x${'1'.repeat(100)}`.split('')) held = (held + piece).slice(reading.push(piece).length);
  t.ok(held.length <= 17, `${held.length} characters are held`);
  t.end();
});

/** Patterns that take other engines years, each with a text for it. */
const catastrophic: readonly (readonly [pattern: string, text: string])[] = [
  ['(a+)+$', `${'a'.repeat(50_000)}!`],
  ['([a-zA-Z]+)*$', `${'a'.repeat(50_000)}!`],
  ['(a|aa)+$', `${'a'.repeat(50_000)}!`],
  ['(a|a?)+$', `${'a'.repeat(50_000)}!`],
  ['(.*a){12}$', `${'a'.repeat(50_000)}!`],
  ['^(\\w+\\s?)*$', `${'a '.repeat(25_000)}!`],
  ['(x+x+)+y', 'x'.repeat(50_000)],
  ['^(([a-z])+.)+[A-Z]([a-z])+$', 'a'.repeat(50_000)],
  ['(\\d+)*\\d!', '1'.repeat(50_000)],
  [
    '^([a-zA-Z0-9])(([.-]|_+)?([a-zA-Z0-9]+))*(@)[a-z0-9]+[.](([a-z]{2,3})|([a-z]{2,3}[.][a-z]{2,3}))$',
    `${'a'.repeat(50_000)}!`,
  ],
];

await test('ten catastrophic patterns hold up nothing, on input and on output', async (t) => {
  t.equal(catastrophic.length, 10);
  for (const [pattern, text] of catastrophic) {
    const rails = railsOf([{ on: ['input', 'output'], regex: { patterns: [pattern], action: 'redact' } }]);
    const guarding = new Guarding(rails, { requestId: 'r', userPath: '/', model: 'm' }, 'chat');
    const message = { role: 'user', content: text };
    const longest = await longestBlock(async () => {
      await run(guarding.onRequest(Buffer.from(JSON.stringify({ model: 'm', messages: [message] }))));
      await run(guarding.onAnswer({ choices: [{ message: { role: 'assistant', content: text } }] }));
    });
    t.ok(longest < 300, `${pattern}: ${Math.round(longest)} ms`);
  }
});

await test('patterns that take much time for each character are read in short slices; larger ones are refused', async (t) => {
  const rails = railsOf([{ on: ['input'], regex: { patterns: ['a[ab]{900}c'], action: 'redact' } }]);
  const guarding = new Guarding(rails, { requestId: 'r', userPath: '/', model: 'm' }, 'chat');
  const content = `${'aababbabaab'.repeat(600)}c`;
  const message = { role: 'user', content };
  // Another process can take the caches of the processor away: the quickest of three tries counts.
  let longest = Number.POSITIVE_INFINITY;
  for (let count = 0; count < 3 && longest >= 250; count += 1) {
    const tried = await longestBlock(async () => {
      await run(guarding.onRequest(Buffer.from(JSON.stringify({ model: 'm', messages: [message] }))));
    });
    longest = Math.min(longest, tried);
  }
  t.ok(longest < 250, `the longest slice took ${Math.round(longest)} ms`);
  const mistakesOf = (all: string[]): unknown => {
    const regex = { patterns: all, action: 'flag', window: 256 };
    return guardrailMistakes({ name: 'large', order: 0, on: ['input'], regex } as unknown as Guardrail);
  };
  const large = Array.from({ length: 1000 }, () => 'b?'.repeat(1024));
  const began = process.threadCpuUsage().user;
  t.match(mistakesOf(['a', '\\pL{999}'.repeat(40)]), [
    { place: ['regex', 'patterns', 1], message: /^is too large: \d+ instructions of RE2, of at most 20000$/ },
  ]);
  t.match(mistakesOf(large), [{ message: /^together are too long: more than 65536 characters$/ }]);
  const classes = Array.from({ length: 51 }, () => '(?i)\\p{Lu}');
  t.match(mistakesOf(classes), [{ message: /^together have more than 50 classes of Unicode such as \\pL$/ }]);
  const many = Array.from({ length: 900 }, () => 'b{200}');
  t.match(mistakesOf(many), [{ message: /^together are too large: more than 25000 instructions of RE2$/ }]);
  const several = Array.from({ length: 22 }, (_, index) => `${index}${'c'.repeat(1000)}`);
  t.match(mistakesOf(several), [{ message: /^together is too large: \d+ instructions of RE2, of at most 20000$/ }]);
  t.ok(process.threadCpuUsage().user - began < 3_000_000, 'the refusal takes no longer than some patterns do');
});

await test('a prompt of megabytes passes twenty guardrails in slices', async (t) => {
  const kinds = [
    { regex: { patterns: ['(?i)project\\s+bluebird', 'EMP-[0-9]{6}'], action: 'redact' } },
    { keywords: { words: Array.from({ length: 5000 }, (_, index) => `word${index * 7919}`), action: 'flag' } },
    { pii: { action: 'block' } },
    { regex: { patterns: ['[\\w.]+@[\\w.]+\\.invalid'], action: 'block' } },
  ];
  const rails = railsOf(Array.from({ length: 20 }, (_, index) => kinds[index % kinds.length] ?? {}));
  const guarding = new Guarding(rails, { requestId: 'r', userPath: '/', model: 'm' }, 'chat');
  const content = 'The quick brown fox jumps over the lazy dog, 12345 times, and mails nobody. '.repeat(
    extent(140_000, 12_000),
  );
  const bytes = Buffer.from(JSON.stringify({ model: 'm', messages: [{ role: 'user', content }] }));
  let passed: Buffer | undefined;
  const longest = await longestBlock(async () => {
    passed = await run(guarding.onRequest(bytes));
  });
  t.equal(passed, bytes);
  t.ok(longest < 250, `the longest slice took ${Math.round(longest)} ms`);
});

await test('what keeps beginning like something takes time in proportion to its length', (t) => {
  const finder = new PersonalFinder(personalKinds);
  const spent = (length: number): number => {
    const text = 'eyJaaaaaaaa-'.repeat(length / 12);
    const before = process.threadCpuUsage().user;
    inPieces(finder, [text]);
    return process.threadCpuUsage().user - before;
  };
  spent(60_000);
  const [short, long] = [spent(60_000), spent(480_000)];
  t.ok(long < 24 * short, `8 times the length took ${Math.round(long / short)} times as long`);
  t.end();
});

await test('patterns that cannot stand together are refused; where they are stored, they refuse what they are for', (t) => {
  const regex = { patterns: ['(?<id>A[0-9]+)', '(?<id>B[0-9]+)'], action: 'flag', window: 256 } as const;
  const guardrail = { name: 'ids', order: 0, mode: 'enforce', on: ['input', 'output'], regex } as unknown as Guardrail;
  const [mistake] = guardrailMistakes(guardrail);
  t.same(mistake?.place, ['regex', 'patterns']);
  t.match(mistake?.message, /^together is no regular expression of RE2: duplicate capture group name/);
  t.throws(() => compileGuardrails([{ value: guardrail, overridesConfig: false }], { places: new Map() }), RangeError);
  const moment = '2026-01-01T00:00:00Z';
  const manual = readManualGuardrail('ids', { guardrail, created_at: moment, updated_at: moment, updated_by: 'k' });
  const [stored] = compileGuardrails(mergeGuardrails([], manual === undefined ? [] : [manual]), { places: new Map() });
  if (stored === undefined) throw new Error('it is left out');
  const guarding = new Guarding([stored], { requestId: 'r', userPath: '/', model: 'm' }, 'chat');
  const body = Buffer.from('{"model":"m","messages":[{"role":"user","content":"hi"}]}');
  t.throws(() => run(guarding.onRequest(body)), { code: 'guardrail_unavailable' });
  t.end();
});

await test('what a guardrail in shadow would mask is put back in no answer', (t) => {
  const rails = railsOf([{ mode: 'shadow', pii: { kinds: ['email'], action: 'mask' } }]);
  const guarding = new Guarding(rails, { requestId: 'r', userPath: '/', model: 'm' }, 'chat');
  const message = { role: 'user', content: 'My mail is bob@example.com.' };
  const body = Buffer.from(JSON.stringify({ model: 'm', messages: [message] }));
  t.equal(run(guarding.onRequest(body)), body);
  t.equal(guarding.readsAnswer, false);
  t.match(guarding.findings, [{ mode: 'shadow', outcome: 'revise' }]);
  t.end();
});
