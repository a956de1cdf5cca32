// How dialects speak to their providers: which bytes of a call change, which never do, and how their errors are read.
import * as fc from 'fast-check';
import { test } from 'tap';
import { readCall } from '../../proxy/call/call.ts';
import { readError } from '../../proxy/dialects/chat/read/read-error.ts';
import { nativeBody } from '../../proxy/dialects/native-body.ts';
import { requestHeaders } from '../../proxy/providers/key-headers.ts';
import { character } from '../support/character.ts';
import { runs } from '../support/extent.ts';

interface Wish {
  asksUsage?: boolean;
  model?: string;
}

/** What the provider gets for a client's body. */
function sent(body: string, { asksUsage = true, model = 'M' }: Wish = {}) {
  const request = nativeBody(readCall(Buffer.from(body)), Buffer.from(JSON.stringify(model)), asksUsage);
  return { injected: request.injectedUsage, text: request.body.toString() };
}

await test('a request carries the provider’s key, its media type and the wish for plain bytes', async (t) => {
  const framing = ['content-type', 'application/json', 'accept-encoding', 'identity'];
  t.same(requestHeaders('bearer', 'sk-1', ['x-a', 'b']), ['authorization', 'Bearer sk-1', ...framing, 'x-a', 'b']);
  t.same(requestHeaders('x-api-key', 'sk-1', []), ['x-api-key', 'sk-1', ...framing]);
  t.same(requestHeaders('bearer', undefined, []), framing);
});

await test('nothing but the model changes in a call that does not stream', async (t) => {
  const bodies: [body: string, expected: string][] = [
    ['{"model":"a"}', '{"model":"M"}'],
    [
      ' { "x" : 12345678901234567890 ,\r\n\t"model" :"a" , "y":1e999,"z":-0.0 } \n',
      ' { "x" : 12345678901234567890 ,\r\n\t"model" :"M" , "y":1e999,"z":-0.0 } \n',
    ],
    ['{"b":1,"a":{"model":"a"},"model":"a","2":0,"1":0}', '{"b":1,"a":{"model":"a"},"model":"M","2":0,"1":0}'],
    ['{"x":1,"x":2,"model":"a","é":"\\u00e9\\/"}', '{"x":1,"x":2,"model":"M","é":"\\u00e9\\/"}'],
    ['{"model":"a","stream":false}', '{"model":"M","stream":false}'],
    ['{"model":"a","stream":null,"stream_options":{}}', '{"model":"M","stream":null,"stream_options":{}}'],
    ['\ufeff{"model":"a"}', '{"model":"M"}'],
  ];
  for (const [body, expected] of bodies) t.match(sent(body), { text: expected, injected: false });
  t.equal(sent('{"model":"a"}', { model: 'q"\\é\n' }).text, '{"model":"q\\"\\\\é\\n"}');
});

await test('a stream is asked for its usage with the fewest changed bytes', async (t) => {
  const asked = '"include_usage":true';
  const whole = `"stream_options":{${asked}}`;
  const bodies: [body: string, expected: string][] = [
    ['{"model":"a","stream":true}', `{"model":"M","stream":true,${whole}}`],
    ['{"stream":true,"model":"a"}', `{"stream":true,"model":"M",${whole}}`],
    ['{"model":"a","stream":true\n}\r\n ', `{"model":"M","stream":true\n,${whole}}\r\n `],
    ['{"model":"a","stream":true,"x":{"y":{}}}', `{"model":"M","stream":true,"x":{"y":{}},${whole}}`],
    ['{"model":"a","stream":true,"x":[{}] }', `{"model":"M","stream":true,"x":[{}] ,${whole}}`],
    ['{"model":"a","stream":true,"x":"}"}', `{"model":"M","stream":true,"x":"}",${whole}}`],
    ['{"stream_options":null,"stream":true,"model":"a"}', `{"stream_options":{${asked}},"stream":true,"model":"M"}`],
    ['{"model":"a","stream":true,"stream_options":{}}', `{"model":"M","stream":true,${whole}}`],
    ['{"model":"a","stream":true,"stream_options":{ }}', `{"model":"M","stream":true,"stream_options":{${asked} }}`],
    [
      '{"model":"a","stream":true,"stream_options": { "n" : 12345678901234567890}}',
      `{"model":"M","stream":true,"stream_options": {${asked}, "n" : 12345678901234567890}}`,
    ],
    [
      '{"stream_options":{"n": 12345678901234567890,"include_usage" : false },"stream":true,"model":"a"}',
      '{"stream_options":{"n": 12345678901234567890,"include_usage" : true },"stream":true,"model":"M"}',
    ],
    [
      '{"model":"a","stream":true,"stream_options":{"include_usage":null,"x":{"include_usage":false}}}',
      '{"model":"M","stream":true,"stream_options":{"include_usage":true,"x":{"include_usage":false}}}',
    ],
    [
      '{"é":"😀","stream":true,"stream_options":{"x":"é","include_usage":false},"model":"a"}',
      '{"é":"😀","stream":true,"stream_options":{"x":"é","include_usage":true},"model":"M"}',
    ],
  ];
  for (const [body, expected] of bodies) t.match(sent(body), { text: expected, injected: true });
});

await test('further changes are made wherever they stand beside the others', async (t) => {
  const body = Buffer.from('{"a":"x","model":"a","stream":true,"b":"y"}');
  const change = (text: string) => {
    const start = body.indexOf(text);
    return { start, end: start + text.length, bytes: Buffer.from('"z"') };
  };
  const edits = [change('"x"'), change('"y"')];
  const { body: sentBody } = nativeBody(readCall(body), Buffer.from('"M"'), true, edits);
  t.equal(sentBody.toString(), '{"a":"z","model":"M","stream":true,"b":"z","stream_options":{"include_usage":true}}');
});

await test('however the client wrote include_usage, the provider reads that it is wanted', async (t) => {
  for (const options of [
    '{"include_usage":true,"include_usage":false}',
    '{"include\\u005fusage":false}',
    '{"x":1,"\\u0069nclude_usage":null}',
  ]) {
    const { text, injected } = sent(`{"model":"a","stream":true,"stream_options":${options}}`);
    t.equal(injected, true);
    t.match(JSON.parse(text), { stream_options: { include_usage: true } }, options);
  }
});

await test('a client that asks for usage itself sends its own words', async (t) => {
  for (const options of [
    '{"include_usage":true}',
    '{ "x":1, "include_usage" : true }',
    '{"include\\u005fusage":true}',
  ]) {
    const body = `{"model":"a","stream":true,"stream_options":${options}}`;
    t.match(sent(body), { text: body.replace('"a"', '"M"'), injected: false }, options);
  }
});

await test('options that are no object are the provider’s to refuse', async (t) => {
  for (const options of ['[]', '"x"', '1', 'true', 'false']) {
    const body = `{"model":"a","stream":true,"stream_options":${options}}`;
    t.match(sent(body), { text: body.replace('"a"', '"M"'), injected: false }, options);
  }
});

await test('usage is asked for only where it is needed and supported', async (t) => {
  const body = '{"model":"a","stream":true}';
  t.match(sent(body, { asksUsage: false }), { text: '{"model":"M","stream":true}', injected: false });
});

await test('a body of 1 MiB with everything JSON can hold changes in its model alone', async (t) => {
  const deep = `${'{"a":['.repeat(60)}1${']}'.repeat(60)}`;
  const rest = `"big":98765432109876543210,"text":"${'é😀\\n"'.replace('"', '\\"').repeat(110_000)}","deep":${deep},"t":true }\n`;
  const { text } = sent(`{ "seed":12345678901234567890,"model" : "a" ,${rest}`);
  t.ok(Buffer.byteLength(text) > 1 << 20);
  t.equal(text === `{ "seed":12345678901234567890,"model" : "M" ,${rest}`, true);
});

await test('whatever surrounds the model and the stream flag survives', async () => {
  const members = fc.dictionary(
    fc
      .string({ unit: character, maxLength: 6 })
      .filter((key) => !/^(model|stream|stream_options|n|user|max_\w+|__proto__|constructor)$/i.test(key)),
    fc.jsonValue({ maxDepth: 2 }),
    { maxKeys: 4 },
  );
  const shape = fc.record({
    before: members,
    after: members,
    indent: fc.constantFrom(undefined, 2),
    stream: fc.boolean(),
  });
  fc.assert(
    fc.property(shape, ({ before, after, indent, stream }) => {
      const body = JSON.stringify({ ...before, model: 'client/model', stream, ...after }, null, indent);
      fc.pre(!/__proto__|constructor/.test(body));
      const { text, injected } = sent(body);
      const own = injected ? text.replace(/,"stream_options":\{"include_usage":true\}(?=\s*\}$)/, '') : text;
      return (
        injected === stream &&
        own ===
          Buffer.from(body)
            .toString()
            .replace(/(?<="model": ?)"client\/model"/, '"M"')
      );
    }),
    runs(1_000),
  );
});

await test('a provider’s error is read in every shape it comes in', async (t) => {
  const none = { code: null, param: null, type: null, further: {} };
  const shapes: [body: string, said: object][] = [
    [
      '{"error":{"message":"no","code":"c","param":"p","type":"t","innererror":{"code":"x"},"metadata":{"a":[1]}}}',
      { message: 'no', code: 'c', param: 'p', type: 't', further: { innererror: { code: 'x' }, metadata: { a: [1] } } },
    ],
    ['{"error":{"message":"no","code":429,"param":null}}', { message: 'no', code: '429' }],
    ['{"error":{"message":"no","code":{},"param":[]}}', { message: 'no' }],
    ['{"error":"no"}', { message: 'no' }],
    ['{"code":"Invalid argument","error":"no"}', { message: 'no', code: 'Invalid argument' }],
    ['{"error":["no","never"]}', { message: 'no' }],
    ['{"status":404,"error":"Not Found","message":"no such path"}', { message: 'no such path' }],
    ['{"error":{"message":""}}', { message: '' }],
    ...['Provider returned error', ''].map((message): [string, object] => {
      const metadata = { raw: '{"error":{"message":"no","code":7}}', provider_name: 'Someone' };
      return [JSON.stringify({ error: { message, metadata } }), { message: 'no', further: { metadata } }];
    }),
    [
      '{"type":"error","error":{"type":"overloaded_error","message":"no"}}',
      { message: 'no', type: 'overloaded_error' },
    ],
    [
      '[{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT","details":[{"reason":"r"}]}}]',
      { message: 'no', code: '400', further: { status: 'INVALID_ARGUMENT', details: [{ reason: 'r' }] } },
    ],
    [
      '{"object":"error","message":"no","type":"BadRequestError","param":null,"code":400}',
      { message: 'no', code: '400', type: 'BadRequestError' },
    ],
    [
      '{"object":"error","message":{"detail":[{"loc":["body","messages"],"msg":"Field required","type":"missing"}]},"type":"t"}',
      { message: 'messages: Field required', code: 'missing', param: 'messages' },
    ],
    ['{"message":{"detail":"no"}}', { message: 'no' }],
    ['{"detail":"Not authenticated"}', { message: 'Not authenticated' }],
    [
      '{"detail":[{"loc":["body","messages",0,"role"],"msg":"field required","type":"missing"},{"loc":["query","x"],"msg":"bad"}]}',
      { message: 'messages.0.role: field required; query.x: bad', code: 'missing', param: 'messages.0.role' },
    ],
    ['{"detail":[{"msg":"bad"}]}', { message: 'bad' }],
    ['{"detail":{"message":"no","code":"c"}}', { message: 'no', code: 'c' }],
    ['{"message":"no","code":"c","trace":"…"}', { message: 'no', code: 'c' }],
    ['{"errors":[{"message":"no","code":7000}]}', { message: 'no', code: '7000' }],
    ['{"errors":["no"]}', { message: 'no' }],
    ...[
      '{"error":{"detail":"x"}}',
      '{"error":null}',
      '{"error":7}',
      '{"detail":[]}',
      '{"detail":[7]}',
      '{"detail":7}',
      '{"message":7}',
      '{"a":1}',
      '<p>no</p>',
      'null',
      '"no"',
      '[]',
      '[[]]',
      '{',
      '',
    ].map((text): [string, object] => [text, { message: text, further: text.includes('"x"') ? { detail: 'x' } : {} }]),
  ];
  for (const [body, said] of shapes) t.strictSame(readError(body), { ...none, ...said }, body);
});
