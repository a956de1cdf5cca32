// An answer with status 200 that holds an error beside its choices: the error tells no secret, everything else keeps its bytes.
import { test } from 'tap';
import { SecretsTap } from '../../../proxy/providers/secrets-tap.ts';
import { startFakeUpstream } from '../../support/fake-upstream.ts';
import { providerKey, startGateway } from '../../support/gateway.ts';

const secret = 'canary+key/1234';
const passed = (text: string): string => new SecretsTap([secret], false).whole(Buffer.from(text)).toString();

await test('a JSON error beside an answer tells no secret, however it is written', async (t) => {
  const told = /canary|1234/;
  for (const word of [secret, 'canary+key\\/1234', 'canary\\u002bkey/1234', encodeURIComponent(secret)]) {
    for (const body of [
      `{"choices":[],"error":{"message":"the key ${word} is wrong \\u6f22"}}`,
      `{"data":[],"error":"${word}"}`,
      `{"choices":[{"finish_reason":"error","error":{"metadata":{"raw":"${word}"}}}]}`,
      `{"choices":[],"errors":["${word}"]}`,
    ]) {
      const text = passed(body);
      t.notMatch(text, told, body);
      t.equal(text.includes('\\u6f22') || text.includes('漢'), body.includes('6f22'), 'and is whole otherwise');
      t.ok(JSON.parse(text));
    }
  }
});

await test('what is no error keeps every byte', async (t) => {
  for (const body of [
    `{"choices":[{"message":{"content":"an error of ${secret}"}}],"error":null}`,
    `{"choices":[{"message":{"content":"{\\"error\\":\\"${secret}\\"}"}}]}`,
    '{"choices": [ ], "error" : {"message":"é😀 \\u6f22"}}',
  ]) {
    const bytes = Buffer.from(body);
    t.equal(new SecretsTap([secret], false).whole(bytes), bytes, body);
  }
});

await test('an answer too long to be held keeps its length, and masks secrets behind the name of an error', (t) => {
  const long = `{"choices":["${secret} ${'x'.repeat(70_000)}"],"error":{"a":"${secret}","b":"${secret}`;
  const expected = long.replaceAll(secret, (word, at: number) => (at < 1_000 ? word : '*'.repeat(word.length)));
  for (const size of [1, 2, 5, 999, 65_536]) {
    const chunks: Buffer[] = [];
    let ends = 0;
    const sink = new SecretsTap([secret], false).open({
      write: (chunk) => chunks.push(chunk) > 0,
      end: () => {
        ends += 1;
      },
    });
    const bytes = Buffer.from(long);
    for (let at = 0; at < bytes.length; at += size) sink.write(bytes.subarray(at, at + size));
    sink.end(undefined);
    t.ok(Buffer.concat(chunks).toString() === expected && ends === 1, `in chunks of ${size}`);
  }
  t.end();
});

await test('the client of a gateway gets such an answer without the key', async (t) => {
  const upstream = await startFakeUpstream({ t });
  const gateway = await startGateway(t, { upstream });
  for (const [length, mark] of [
    [0, '[redacted]'],
    [300_000, '*'.repeat(providerKey.length)],
  ] as const) {
    const said = { choices: ['x'.repeat(length)], error: { message: `the key ${providerKey} is wrong` } };
    await upstream.behave({ kind: 'json', body: said });
    const body = { model: 'fake/fake-small', messages: [] };
    const response = await gateway.fetch('/v1/chat/completions', { method: 'POST', body });
    t.equal(response.status, 200);
    t.equal(await response.text(), JSON.stringify(said).replace(providerKey, mark));
  }
  const error = `data: {"error":"the key ${providerKey} is wrong"}\n\n`;
  const headers: [string, string][] = [['content-encoding', 'utf-8']];
  const words = 'data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n';
  await upstream.behave([{ kind: 'sse', chunks: [words, error], headers }]);
  const body = { model: 'fake/fake-small', stream: true, stream_options: { include_usage: true }, messages: [] };
  const stream = await gateway.fetch('/v1/chat/completions', { method: 'POST', body });
  const text = await stream.text();
  t.ok(text.startsWith(`${words}data: {"error"`), 'in a stream that says it is encoded');
  t.notMatch(text, providerKey);
});
