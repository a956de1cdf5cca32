// Texts for the tests of loading: variables, bytes that are not text, deep nesting, values of the wrong kind.

/** What each becomes where A is `a`, EMPTY is empty and B is not set. */
export const filledTexts = {
  [`\${A}`]: 'a',
  [`x\${A}y\${A}`]: 'xaya',
  [`\${A:-b}`]: 'a',
  [`\${B:-b}`]: 'b',
  [`\${B:-}`]: '',
  [`\${EMPTY}`]: '',
  [`\${EMPTY:-b}`]: 'b',
  [`\${B:-http://x:1/v1?a-b}`]: 'http://x:1/v1?a-b',
  $$: '$',
  [`$\${A}`]: `\${A}`,
  [`$$\${A}`]: '$a',
  $5: '$5',
  a$: 'a$',
  '}': '}',
  [`\${DOLLAR}`]: `\${A} $$`,
};

export const malformedTexts = [
  `\${`,
  `\${A`,
  `\${}`,
  `\${1A}`,
  `\${A-b}`,
  `\${A:b}`,
  `\${A:+b}`,
  `\${a b}`,
  `\${A:-\${B}}`,
  `\${A:-$B}`,
];

/** Bytes that are not UTF-8 text, and what is said about them. */
export const unreadableFiles: readonly [string, Uint8Array, RegExp][] = [
  ['NUL', Buffer.from('a: 1\nb: \0\n'), /^a\.yaml:2:1 {2}holds a NUL byte/],
  [
    'invalid UTF-8',
    Buffer.from([0x61, 0x3a, 0x20, 0x31, 0x0a, 0x62, 0x3a, 0x20, 0xc3, 0x28, 0x0a]),
    /^a\.yaml:2:1 {2}holds bytes that are not UTF-8/,
  ],
  [
    'a cut character at the end',
    Buffer.from([0x61, 0x3a, 0x20, 0xc3]),
    /^a\.yaml:1:1 {2}holds bytes that are not UTF-8/,
  ],
  ['UTF-16, little endian', Buffer.from('\ufeffserver: {}', 'utf16le'), /^a\.yaml {2}is UTF-16/],
  ['UTF-16, big endian', Buffer.from('\ufeffserver: {}', 'utf16le').swap16(), /^a\.yaml {2}is UTF-16/],
  ['UTF-16 without a mark', Buffer.from('server: {}', 'utf16le'), /^a\.yaml:1:1 {2}holds a NUL byte/],
  ['only a byte order mark', Buffer.from('\ufeff'), /is empty/],
];

/** A value of the wrong kind for any field; each is tried in every place. */
export const wrongValues: readonly unknown[] = [
  undefined,
  null,
  '',
  0,
  -1,
  1.5,
  1e308,
  true,
  'x'.repeat(10_000),
  [],
  {},
  [[]],
  [null],
  { a: null },
  '__proto__',
  '\u202e',
  `\${X`,
];

/** Texts that nest so deeply. */
export const nestedTexts = (depth: number): Record<string, string> => ({
  'flow lists': '['.repeat(depth) + ']'.repeat(depth),
  'flow maps': '{a: '.repeat(depth),
  'block lists': `${'- '.repeat(depth)}x`,
  keys: '? '.repeat(depth),
});
