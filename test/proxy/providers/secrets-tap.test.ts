// An answer with status 200 that holds an error beside its choices: the error tells no secret, everything else keeps its bytes.
import { test } from 'tap';
import { SecretsTap } from '../../../proxy/providers/secrets-tap.ts';
import { startFakeUpstream } from '../../support/fake-upstream.ts';
import { providerKey, startGateway } from '../../support/gateway.ts';

const secret = 'canary+key/1234';
const passed = (text: string): string => new SecretsTap([secret]).whole(Buffer.from(text)).toString();

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
    t.equal(new SecretsTap([secret]).whole(bytes), bytes, body);
  }
});

await test('the client of a gateway gets such an answer without the key', async (t) => {
  const upstream = await startFakeUpstream({ t });
  const gateway = await startGateway(t, { upstream });
  const body = JSON.stringify({ choices: [], error: { message: `the key ${providerKey} is wrong` } });
  await upstream.behave({ kind: 'json', body });
  const response = await gateway.fetch('/v1/chat/completions', {
    method: 'POST',
    body: { model: 'fake/fake-small', messages: [] },
  });
  t.equal(response.status, 200);
  t.equal(await response.text(), body.replace(providerKey, '[redacted]'));
});
