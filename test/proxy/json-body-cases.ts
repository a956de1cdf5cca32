// Bodies of model calls: what is refused, with which code, and what passes untouched.
import { gzipSync } from 'node:zlib';
import {
  type AcceptedCase,
  authorization,
  type Bytes,
  chat,
  chatCall,
  chatLine,
  head,
  host,
  join,
  jsonType,
  type Refusal,
  type RefusedCase,
  request,
} from './raw-cases.ts';

export const invalid: Refusal = { status: 400, code: 'invalid_json' };
export const badModel: Refusal = { status: 400, code: 'invalid_model', param: 'model' };
const badStream: Refusal = { status: 400, code: 'invalid_stream', param: 'stream' };
export const unknownModel: Refusal = { status: 404, code: 'model_not_found', param: 'model' };
const forbidden: Refusal = { status: 400, code: 'forbidden_key' };
export const tooDeep: Refusal = { status: 400, code: 'body_too_deep' };
export const tooManyKeys: Refusal = { status: 400, code: 'body_too_many_keys' };
export const tooLarge: Refusal = { status: 413, code: 'body_too_large' };
export const wrongType: Refusal = { status: 415, code: 'unsupported_media_type' };
const wrongEncoding: Refusal = { status: 415, code: 'unsupported_encoding' };

/** A call that is fine but for what follows. */
export const withMembers = (members: Bytes): Buffer => join('{"model":"fake-small","messages":[],', members, '}');
export const withText = (text: Bytes): Buffer => withMembers(join('"x":"', text, '"'));
const withModel = (model: Bytes): Buffer => join('{"messages":[],"model":', model, '}');
const bytes = (...values: number[]): Buffer => Buffer.from(values);

/** Refused, and the connection goes on. */
export const body = (name: string, refusal: Refusal, sent: Bytes): RefusedCase => ({
  ...refusal,
  name,
  send: chatCall(sent),
  keeps: true,
});
/** Handed on as it is. */
export const passes = (name: string, sent: Bytes): AcceptedCase => ({ name, send: chatCall(sent), forwarded: sent });
const twice = (name: string, key: string, members: string): RefusedCase =>
  body(name, { status: 400, code: 'duplicate_key', param: key }, `{${members},"messages":[]}`);
/** A whole call under other header lines. */
const typed = (name: string, refusal: Refusal, lines: string[], sent: Bytes = chat): RefusedCase => ({
  ...refusal,
  name,
  send: request(chatLine, [host, authorization, ...lines], sent),
  keeps: true,
});

export const grammar: RefusedCase[] = [
  body('an empty body', invalid, ''),
  { ...invalid, name: 'no body and no length', send: head(chatLine, host, authorization, jsonType), keeps: true },
  {
    ...invalid,
    name: 'an empty chunked body',
    send: join(head(chatLine, host, authorization, jsonType, 'Transfer-Encoding: chunked'), '0\r\n\r\n'),
    keeps: true,
  },
  body('blanks only', invalid, ' \r\n\t '),
  body('something behind the object', invalid, `${chat}x`),
  body('a second object', invalid, `${chat}${chat}`),
  body('a NUL behind the object', invalid, `${chat}\0`),
  body('a comma behind the object', invalid, `${chat},`),
  body('a comma behind the last member', invalid, '{"model":"fake-small",}'),
  body('a comma behind the last element', invalid, withMembers('"x":[1,]')),
  body('a comma alone', invalid, withMembers('"x":[,]')),
  body('no comma', invalid, withMembers('"x":1 "y":2')),
  body('no colon', invalid, withMembers('"x" 1')),
  body('no value', invalid, withMembers('"x":')),
  body('an object that does not end', invalid, chat.slice(0, -1)),
  body('a string that does not end', invalid, '{"model":"fake-small'),
  body('an array closed as an object', invalid, withMembers('"x":[1}')),
  body('a line comment', invalid, withMembers('"x":1 // hi\n')),
  body('a block comment', invalid, withMembers('/* hi */"x":1')),
  body('single quotes', invalid, "{'model':'fake-small'}"),
  body('a key without quotes', invalid, '{model:"fake-small"}'),
  ...['01', '-01', '0x10', '+1', '1.', '.5', '-', '1e', '1e+', '1_000', '00', '- 1', '1.e5'].map((number) =>
    body(`the number ${number}`, invalid, withMembers(`"x":${number}`)),
  ),
  ...['NaN', 'Infinity', '-Infinity', 'undefined', 'True', 'TRUE', 'nul', 'truefalse'].map((word) =>
    body(`the word ${word}`, invalid, withMembers(`"x":${word}`)),
  ),
  ...['\\x41', '\\u12g4', '\\u123', '\\', "\\'", '\\u{41}', '\\a'].map((written) =>
    body(`the escape ${written}`, invalid, withText(written)),
  ),
  ...[0x00, 0x01, 0x09, 0x0a, 0x0d, 0x1f].map((code) =>
    body(`the raw control character 0x${code.toString(16)}`, invalid, withText(bytes(code))),
  ),
  body('a raw line break in a key', invalid, withMembers('"a\nb":1')),
  body('a form feed between tokens', invalid, withMembers('\f"x":1')),
  body('a no-break space between tokens', invalid, withMembers('\u00a0"x":1')),
  ...['[]', `[${chat}]`, '"fake-small"', 'null', '7', 'true'].map((root) =>
    body(`${root} for an object`, invalid, root),
  ),
];

export const encodings: RefusedCase[] = [
  ...(['utf16le', 'latin1'] as const).map((encoding) =>
    body(`${encoding} without a mark`, invalid, Buffer.from(withText('é').toString(), encoding)),
  ),
  body('UTF-16 with a mark', invalid, join(bytes(0xff, 0xfe), Buffer.from(chat, 'utf16le'))),
  body('UTF-16 of the other byte order', invalid, Buffer.from(chat, 'utf16le').swap16()),
  body(
    'UTF-16 of the other byte order with a mark',
    invalid,
    join(bytes(0xfe, 0xff), Buffer.from(chat, 'utf16le').swap16()),
  ),
  body('a byte order mark alone', invalid, bytes(0xef, 0xbb, 0xbf)),
  body('two byte order marks', invalid, join(bytes(0xef, 0xbb, 0xbf, 0xef, 0xbb, 0xbf), chat)),
  body('a byte order mark inside', invalid, join('{', bytes(0xef, 0xbb, 0xbf), chat.slice(1))),
  body('a continuation byte alone', invalid, withText(bytes(0x80))),
  body('a character cut short', invalid, withText(bytes(0xe2, 0x82))),
  body('an overlong slash', invalid, withText(bytes(0xc0, 0xaf))),
  body('an overlong NUL', invalid, withText(bytes(0xc0, 0x80))),
  body('a surrogate in UTF-8', invalid, withText(bytes(0xed, 0xa0, 0x80))),
  body('a character beyond the last', invalid, withText(bytes(0xf4, 0x90, 0x80, 0x80))),
  body('the byte 0xFF', invalid, withText(bytes(0xff))),
  body('a broken character in a key', invalid, withMembers(join('"', bytes(0xc3, 0x28), '":1'))),
  body('a broken character in the model', invalid, withModel(join('"fake-small', bytes(0xff), '"'))),
];

export const keys: RefusedCase[] = [
  twice('model twice', 'model', '"model":"fake-small","model":"fake-large"'),
  twice('model twice, alike', 'model', '"model":"fake-small","model":"fake-small"'),
  twice('model twice, once escaped', 'model', '"model":"fake-small","mode\\u006c":"fake-large"'),
  twice('model twice, escaped first', 'model', '"\\u006dodel":"fake-large","model":"fake-small"'),
  twice(
    'model twice, both escaped',
    'model',
    '"\\u006D\\u006F\\u0064\\u0065\\u006C":"fake-large","\\u006dodel":"fake-small"',
  ),
  twice('Model beside model', 'model', '"Model":"fake-large","model":"fake-small"'),
  twice('MODEL behind model', 'model', '"model":"fake-small","MODEL":"fake-large"'),
  twice('an escaped Model beside model', 'model', '"model":"fake-small","\\u004dodel":"fake-large"'),
  twice('model first and last of many', 'model', `"model":"fake-small",${manyMembers(400)},"model":"fake-large"`),
  twice('stream twice', 'stream', '"model":"fake-small","stream":false,"stream":true'),
  twice('Stream beside stream', 'stream', '"model":"fake-small","Stream":true,"stream":false'),
  twice('a stream with the long s beside stream', 'stream', '"model":"fake-small","stream":false,"\u017ftream":true'),
  twice(
    'a stream with the escaped long s beside stream',
    'stream',
    '"model":"fake-small","stream":false,"\\u017ftream":true',
  ),
  twice('max_tokens twice', 'max_tokens', '"model":"fake-small","max_tokens":1,"max_tokens":100000'),
  twice(
    'max_tokens with the Kelvin sign beside max_tokens',
    'max_tokens',
    '"model":"fake-small","max_tokens":1,"max_to\u212aens":100000',
  ),
  twice(
    'max_completion_tokens twice',
    'max_completion_tokens',
    '"model":"fake-small","max_completion_tokens":1,"max_completion_tokens":2',
  ),
  twice(
    'stream_options twice',
    'stream_options',
    '"model":"fake-small","stream_options":{"include_usage":true},"stream_options":null',
  ),
  twice('n twice', 'n', '"model":"fake-small","n":1,"N":99'),
  body('__proto__', forbidden, withMembers('"__proto__":{"x":1}')),
  body('__proto__, escaped', forbidden, withMembers('"\\u005f_proto_\\u005f":{"x":1}')),
  body('__proto__ deep inside', forbidden, withMembers('"x":[{"y":{"__proto__":1}}]')),
  body('__proto__, escaped, deep inside', forbidden, withMembers('"x":[{"y":{"__pr\\u006fto__":1}}]')),
  body('__proto__ as the first key', forbidden, '{"__proto__":null,"model":"fake-small"}'),
  body('constructor.prototype', forbidden, withMembers('"constructor":{"prototype":{"x":1}}')),
  body('constructor.prototype, escaped', forbidden, withMembers('"c\\u006fnstructor":{"protot\\u0079pe":1}')),
  body('constructor.prototype deep inside', forbidden, withMembers('"x":[{"constructor":{"y":1,"prototype":{}}}]')),
];

export const models: RefusedCase[] = [
  body('no model', badModel, '{"messages":[]}'),
  body('an object without members', badModel, '{}'),
  body('a model deeper inside only', badModel, '{"x":{"model":"fake-small"}}'),
  body('Model instead of model', badModel, '{"Model":"fake-small"}'),
  ...['null', '7', '["fake-small"]', '{"id":"fake-small"}', 'true', '""', '" "', '"\\t\\n"', '"\u00a0"'].map((model) =>
    body(`the model ${model}`, badModel, withModel(model)),
  ),
  body('a model with a NUL', badModel, withModel('"fake-small\\u0000"')),
  body('a model of a NUL', badModel, withModel('"\\u0000"')),
  body('a model of 10 KB', badModel, withModel(`"${'m'.repeat(10_000)}"`)),
  body('a model of 10 KB in escapes', badModel, withModel(`"${'\\u006d'.repeat(10_000)}"`)),
  body('a model with half a surrogate pair', unknownModel, withModel('"fake-small\\ud800"')),
  body('a model of half a surrogate pair', unknownModel, withModel('"\\udc00"')),
  body('a model named like a member of objects', unknownModel, withModel('"constructor"')),
  body('the model __proto__', unknownModel, withModel('"__proto__"')),
  body('a model with a blank behind', unknownModel, withModel('"fake-small "')),
  ...['"true"', '"false"', '1', '0', '[]', '{}', '""'].map((stream) =>
    body(`the stream ${stream}`, badStream, withMembers(`"stream":${stream}`)),
  ),
];

export const types: RefusedCase[] = [
  typed('no Content-Type', wrongType, []),
  ...[
    '',
    'text/plain',
    'application/x-www-form-urlencoded',
    'application/json\ta',
    'application/json a',
    'application/json, text/plain',
    'application/jsonx',
    'application/vnd.x+json',
    'application/json+x',
    'text/json',
    'json',
    '*/*',
    'application/json;charset=utf-16',
    'application/json; charset="UTF-16LE"',
    'application/json; charset=iso-8859-1',
  ].map((type) => typed(`the Content-Type "${type}"`, wrongType, [`Content-Type: ${type}`])),
  typed(
    'multipart',
    wrongType,
    ['Content-Type: multipart/form-data; boundary=x'],
    `--x\r\nContent-Disposition: form-data; name="model"\r\n\r\nfake-small\r\n--x--\r\n`,
  ),
  ...[
    'gzip',
    'GZIP',
    'x-gzip',
    'br',
    'deflate',
    'zstd',
    'gzip, gzip, gzip',
    'identity, gzip',
    'gzip, identity',
  ].flatMap((encoding) => [
    typed(`${encoding} around plain JSON`, wrongEncoding, [jsonType, `Content-Encoding: ${encoding}`]),
    typed(`${encoding}, compressed`, wrongEncoding, [jsonType, `Content-Encoding: ${encoding}`], gzipSync(chat)),
  ]),
  typed('two Content-Encodings', wrongEncoding, [jsonType, 'Content-Encoding: identity', 'Content-Encoding: gzip']),
  {
    status: 400,
    code: 'invalid_header',
    name: 'two Content-Types',
    send: chatCall(chat, 'Content-Type: text/plain'),
  },
];

export const untouched: AcceptedCase[] = [
  passes('the smallest call', '{"model":"fake-small"}'),
  passes('blanks of every kind everywhere', ' \t\r\n{ \n"model" :\t"fake-small"\r\n, "messages" : [ ] } \n\n'),
  { name: 'a byte order mark, which is dropped', send: chatCall(join('\ufeff', chat)), forwarded: chat },
  passes('half a surrogate pair in a text', withText('\\ud800 and \\udc00 and \\ud83d\\ude00')),
  passes('every escape', withText('\\"\\\\\\/\\b\\f\\n\\r\\t\\u0000\\u001f\\uFFFF')),
  passes('characters of every length', withText('a é € 😀 \u2028 \u007f \ufeff')),
  ...[
    '-1',
    '0',
    '1.5',
    '1e999',
    '-1e-999',
    '9007199254740993',
    '12345678901234567890',
    '1E+2',
    '-0',
    '"7"',
    'null',
  ].map((number) => passes(`max_tokens ${number}`, withMembers(`"max_tokens":${number}, "seed":${number}`))),
  passes('stream false', withMembers('"stream":false')),
  passes('stream null', withMembers('"stream":null')),
  passes('duplicate keys where they cannot mislead', withMembers('"x":1,"x":2,"y":{"model":"a","model":"b"}')),
  passes(
    'constructor and prototype each for itself',
    withMembers('"constructor":{"x":1},"prototype":{"constructor":2}'),
  ),
  passes('__proto__ as a value', withMembers('"x":"__proto__","y":["constructor","prototype"]')),
  passes('keys of no letters', withMembers('"":1," ":2,"\\u0000":3,"😀":4')),
  passes('depth 128', withMembers(`"x":${'['.repeat(127)}${']'.repeat(127)}`)),
  passes('500 members', withMembers(manyMembers(498))),
  ...[
    ' application/json',
    'application/json;charset=utf-8',
    'Application/JSON; Charset="UTF-8"',
    'application/json ; x=y',
  ].map((type) => ({
    name: `the Content-Type "${type}"`,
    send: request(chatLine, [host, authorization, `Content-Type: ${type}`], chat),
    forwarded: chat,
  })),
  {
    name: 'Content-Encoding identity',
    send: chatCall(chat, 'Content-Encoding: identity'),
    forwarded: chat,
  },
];

/** What a lenient type may not do: let an unchecked body through. */
export const unchecked: RefusedCase[] = [
  ' application/json',
  'application/json ; x=y',
  'application/json;charset=utf-8',
].map((type) => typed(`broken JSON as "${type}"`, invalid, [`Content-Type: ${type}`], '{"model":"fake-small",}'));

/** Members named k0, k1 … */
export function manyMembers(count: number, name = (index: number) => `k${index}`): string {
  return Array.from({ length: count }, (_, index) => `"${name(index)}":${index}`).join(',');
}
