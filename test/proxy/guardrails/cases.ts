// The table of guardrails: what is asked and said, and what the provider hears and the client is told.
import type { Kind } from './spoken.ts';

/** A guardrail as it is written in YAML; it gets a name. */
export type Written = Readonly<Record<string, unknown>>;

export interface GuardrailCase {
  readonly name: string;
  readonly guardrails: readonly Written[];
  /** The words of the user; default: `hello`. */
  readonly asked?: string;
  /** What the provider hears of them; default: the same. */
  readonly heard?: string;
  /** What the model says. */
  readonly said?: string;
  readonly kind?: Kind;
  /** What the client is told of it; default: the same. */
  readonly told?: string;
  /** The guardrail that refuses and why, such as `g1 (card)`. */
  readonly blocked?: string;
}

const output = { on: ['output'] };
const redact = (...patterns: string[]): Written => ({ ...output, regex: { patterns, action: 'redact' } });
const hide = (words: string[], more: object = {}): Written => ({
  ...output,
  keywords: { words, action: 'redact', ...more },
});
const mask = (...kinds: string[]): Written => ({ pii: kinds.length === 0 ? {} : { kinds } });
const city = { type: 'object', required: ['city'], properties: { city: { type: 'string', pattern: '^[A-Z]' } } };
const form = { schema: { schema: city } };
const mail = 'bob@example.com';
const card = '4111 1111 1111 1111';
const key = 'sk-abcdefgh12345678';

export const guardrailCases: readonly GuardrailCase[] = [
  // Regular expressions.
  {
    name: 'a pattern within words',
    guardrails: [redact('EMP-\\d{4}')],
    said: 'ask EMP-1234 now',
    told: 'ask [redacted] now',
  },
  { name: 'a pattern at both ends', guardrails: [redact('^a|z$')], said: 'a to z', told: '[redacted] to [redacted]' },
  {
    name: 'a match that may go on',
    guardrails: [redact('foo|foobar\\d')],
    said: 'foobar foobar1',
    told: '[redacted]bar [redacted]bar1',
  },
  {
    name: 'the longer one where it is written first',
    guardrails: [redact('foobar|foo')],
    said: 'foobar foo',
    told: '[redacted] [redacted]',
  },
  { name: 'as much as there is', guardrails: [redact('a+')], said: 'baaac a', told: 'b[redacted]c [redacted]' },
  { name: 'as little as may be', guardrails: [redact('a+?b??')], said: 'xaab', told: 'x[redacted][redacted]b' },
  {
    name: 'whole words alone',
    guardrails: [redact('\\bcat\\b')],
    said: 'cat concat cats cat',
    told: '[redacted] concat cats [redacted]',
  },
  { name: 'any case', guardrails: [redact('(?i)bluebird')], said: 'BlueBIRD', told: '[redacted]' },
  { name: 'lines', guardrails: [redact('(?m)^#.*$')], said: 'a\n# b\nc', told: 'a\n[redacted]\nc' },
  { name: 'over a line break', guardrails: [redact('(?s)<a>.*?</a>')], said: 'x<a>1\n2</a>y', told: 'x[redacted]y' },
  { name: 'characters of two units', guardrails: [redact('😀+')], said: 'a😀😀b', told: 'a[redacted]b' },
  { name: 'the first of several', guardrails: [redact('ab', 'bc')], said: 'abc', told: '[redacted]c' },
  { name: 'no empty match', guardrails: [redact('x*')], said: 'axxb', told: 'a[redacted]b' },
  {
    name: 'what only begins like a match',
    guardrails: [redact('abcd')],
    said: 'abc abcabcd',
    told: 'abc abc[redacted]',
  },
  {
    name: 'a match longer than the window',
    guardrails: [{ ...output, regex: { patterns: ['\\d+'], action: 'redact', replacement: '#', window: 16 } }],
    said: `a${'1'.repeat(20)}b`,
    told: 'a##b',
  },
  {
    name: 'an own replacement',
    guardrails: [{ ...output, regex: { patterns: ['b'], action: 'redact', replacement: '"\\' } }],
    said: 'abc',
    told: 'a"\\c',
  },
  {
    name: 'a pattern that blocks an answer',
    guardrails: [{ ...output, regex: { patterns: ['secret'], action: 'block' } }],
    said: 'no secret here',
    blocked: 'g1 (pattern)',
  },
  {
    name: 'a pattern that only flags',
    guardrails: [{ ...output, regex: { patterns: ['secret'], action: 'flag' } }],
    said: 'no secret here',
  },
  {
    name: 'a pattern that blocks a request',
    guardrails: [{ regex: { patterns: ['secret'], action: 'block' } }],
    asked: 'the secret',
    blocked: 'g1 (pattern)',
  },
  {
    name: 'a pattern redacted from a request',
    guardrails: [{ regex: { patterns: ['s\\w+t'], action: 'redact' } }],
    asked: 'the secret',
    heard: 'the [redacted]',
  },
  // Keywords.
  { name: 'a word', guardrails: [hide(['bluebird'])], said: 'the Bluebird flies', told: 'the [redacted] flies' },
  {
    name: 'no part of a word',
    guardrails: [hide(['blue'])],
    said: 'bluebird _blue blue_ blue2 blue',
    told: 'bluebird _blue blue_ blue2 [redacted]',
  },
  {
    name: 'a part of a word where that counts',
    guardrails: [hide(['blue'], { whole_words: false })],
    said: 'Bluebird',
    told: '[redacted]bird',
  },
  {
    name: 'the longest word',
    guardrails: [hide(['red', 'red wood'])],
    said: 'red wood red',
    told: '[redacted] [redacted]',
  },
  { name: 'words that overlap', guardrails: [hide(['ab ba', 'ba ab'])], said: 'ab ba ab', told: '[redacted] ab' },
  {
    name: 'words of other scripts',
    guardrails: [hide(['ÄRGER', 'мир'])],
    said: 'ärger und МИР мира',
    told: '[redacted] und [redacted] мира',
  },
  {
    name: 'a word that ends with a sign',
    guardrails: [hide(['c++'])],
    said: 'c++ c+++ c++x',
    told: '[redacted] [redacted]+ c++x',
  },
  {
    name: 'words that begin alike',
    guardrails: [hide(['abcab', 'cabx'], { whole_words: false })],
    said: 'abcabx abcax',
    told: '[redacted]x abcax',
  },
  {
    name: 'a word that blocks a request',
    guardrails: [{ keywords: { words: ['Bluebird'], action: 'block' } }],
    asked: 'about bluebird?',
    blocked: 'g1 (keyword)',
  },
  {
    name: 'a word that blocks an answer',
    guardrails: [{ ...output, keywords: { words: ['Bluebird'], action: 'block' } }],
    said: 'bluebird!',
    blocked: 'g1 (keyword)',
  },
  // Personal data.
  {
    name: 'an address masked and put back',
    guardrails: [mask('email')],
    asked: `I am ${mail}.`,
    heard: 'I am [EMAIL_1].',
    said: 'Hi [EMAIL_1]!',
    told: `Hi ${mail}!`,
  },
  {
    name: 'the same value, the same placeholder',
    guardrails: [mask()],
    asked: `${mail} ${mail} a@b.org`,
    heard: '[EMAIL_1] [EMAIL_1] [EMAIL_2]',
    said: '[EMAIL_2][EMAIL_1]',
    told: `a@b.org${mail}`,
  },
  {
    name: 'every kind',
    guardrails: [mask()],
    asked: `${mail}, +49 170 1234567, ${card}, DE89 3704 0044 0532 0130 00, ${key}`,
    heard: '[EMAIL_1], [PHONE_1], [CARD_1], [IBAN_1], [KEY_1]',
    said: '[CARD_1] [PHONE_1]',
    told: `${card} +49 170 1234567`,
  },
  {
    name: 'a placeholder that the client says itself',
    guardrails: [mask()],
    asked: `[EMAIL_1] is ${mail}`,
    heard: '[EMAIL_1] is [EMAIL_2]',
    said: '[EMAIL_1] [EMAIL_2]',
    told: `[EMAIL_1] ${mail}`,
  },
  {
    name: 'a placeholder without a value',
    guardrails: [mask()],
    asked: mail,
    heard: '[EMAIL_1]',
    said: '[EMAIL_7] [EMAIL_1] [EMAIL_',
    told: `[EMAIL_7] ${mail} [EMAIL_`,
  },
  {
    name: 'put back into arguments',
    guardrails: [mask()],
    asked: mail,
    heard: '[EMAIL_1]',
    kind: 'arguments',
    said: '{"to":"[EMAIL_1]","n":1}',
    told: `{"to":"${mail}","n":1}`,
  },
  {
    name: 'put back into arguments with escapes',
    guardrails: [{ regex: { patterns: ['never'], action: 'flag' } }, mask()],
    asked: `write ${mail}`,
    heard: 'write [EMAIL_1]',
    kind: 'arguments',
    said: '{"t":"a\\n[EMAIL_1]\\"\\u00fc"}',
    told: `{"t":"a\\n${mail}\\"ü"}`,
  },
  { name: 'no card without its checksum', guardrails: [mask('card')], asked: '4111 1111 1111 1112' },
  { name: 'a card before other digits', guardrails: [mask('card')], asked: `${card} 12`, heard: '[CARD_1] 12' },
  { name: 'no account without its checksum', guardrails: [mask('iban')], asked: 'DE88 3704 0044 0532 0130 00' },
  {
    name: 'only the kinds that are asked for',
    guardrails: [mask('card')],
    asked: `${mail} ${card}`,
    heard: `${mail} [CARD_1]`,
  },
  {
    name: 'redacted without a way back',
    guardrails: [{ pii: { action: 'redact' } }],
    asked: mail,
    heard: '[redacted]',
    said: '[redacted]',
  },
  {
    name: 'redacted from an answer',
    guardrails: [{ ...output, pii: { action: 'redact' } }],
    said: `write to ${mail}, or call +1 212 555 1234.`,
    told: 'write to [redacted], or call [redacted].',
  },
  {
    name: 'masked in an answer',
    guardrails: [{ ...output, pii: { kinds: ['email'] } }],
    said: `it is ${mail}`,
    told: 'it is [EMAIL]',
  },
  {
    name: 'masked both ways',
    guardrails: [{ on: ['input', 'output'], pii: { kinds: ['email'] } }],
    asked: mail,
    heard: '[EMAIL_1]',
    said: '[EMAIL_1] or eve@example.org',
    told: `${mail} or [EMAIL]`,
  },
  {
    name: 'a key in an answer',
    guardrails: [{ ...output, pii: { kinds: ['key'], action: 'block' } }],
    said: `use ${key}`,
    blocked: 'g1 (key)',
  },
  { name: 'a card in a request', guardrails: [{ pii: { action: 'block' } }], asked: card, blocked: 'g1 (card)' },
  {
    name: 'redacted from arguments, which stay JSON',
    guardrails: [{ ...output, regex: { patterns: ['x@y'], action: 'redact', replacement: '"' } }],
    kind: 'arguments',
    said: '{"a":"1\\tx@y","b":[true]}',
    told: '{"a":"1\\t\\"","b":[true]}',
  },
  {
    name: 'hidden by an escape in arguments',
    guardrails: [{ ...output, pii: { action: 'block' } }],
    kind: 'arguments',
    said: `{"a":"bob\\u0040example.com"}`,
    blocked: 'g1 (email)',
  },
  // The form of answers.
  { name: 'an answer in form', guardrails: [form], said: '{"city":"Oslo"}' },
  { name: 'an answer that is no JSON', guardrails: [form], said: 'Oslo', blocked: 'g1 (schema)' },
  { name: 'an answer in another form', guardrails: [form], said: '{"city":"oslo"}', blocked: 'g1 (schema)' },
  {
    name: 'an answer in another form, flagged',
    guardrails: [{ schema: { schema: city, action: 'flag' } }],
    said: '{"city":1}',
  },
  { name: 'calls of tools have no form', guardrails: [form], kind: 'arguments', said: '{"x":1}' },
  // Several guardrails, and what they do together.
  {
    name: 'each sees what the one before made of it',
    guardrails: [
      redact('a'),
      { ...output, regex: { patterns: ['\\[redacted\\]b'], action: 'redact', replacement: 'c' } },
    ],
    said: 'abab',
    told: 'cc',
  },
  {
    name: 'in the order of their numbers',
    guardrails: [
      { ...redact('x'), order: 2 },
      { ...output, order: 1, regex: { patterns: ['y'], action: 'redact', replacement: 'x' } },
    ],
    said: 'xy',
    told: '[redacted][redacted]',
  },
  {
    name: 'a block behind a redaction',
    guardrails: [redact('secret'), { ...output, keywords: { words: ['redacted'], action: 'block' } }],
    said: 'a secret',
    blocked: 'g2 (keyword)',
  },
  {
    name: 'shadow blocks nothing',
    guardrails: [{ on: ['input', 'output'], mode: 'shadow', pii: { action: 'block' } }],
    asked: mail,
    said: mail,
  },
  {
    name: 'shadow changes nothing',
    guardrails: [
      { on: ['input', 'output'], mode: 'shadow', pii: {} },
      { ...redact('e'), mode: 'shadow' },
    ],
    asked: mail,
    said: mail,
  },
  {
    name: 'shadow in front of one that is enforced',
    guardrails: [{ ...redact('b'), mode: 'shadow' }, redact('bo')],
    said: 'bob',
    told: '[redacted]b',
  },
  {
    name: 'what was put back is not looked at',
    guardrails: [mask(), { ...output, pii: { action: 'block' } }],
    asked: mail,
    heard: '[EMAIL_1]',
    said: 'Hi [EMAIL_1]',
    told: `Hi ${mail}`,
  },
  { name: 'nothing to do', guardrails: [mask(), redact('x'), hide(['y'])], asked: 'hi', said: 'hello' },
];
