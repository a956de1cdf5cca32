// How a provider is told who asks.
import { test } from 'tap';
import { keyHeaders } from '../../../proxy/providers/key-headers.ts';

await test('a key is sent in the style of its provider', async (t) => {
  t.same(keyHeaders('bearer', 'k'), ['authorization', 'Bearer k']);
  for (const style of ['x-api-key', 'api-key', 'x-goog-api-key'] as const) t.same(keyHeaders(style, 'k'), [style, 'k']);
  t.same(keyHeaders('none', 'k'), []);
  t.same(keyHeaders('bearer', undefined), []);
});

await test('an access key of AWS signs, and an API key of Bedrock is sent', async (t) => {
  t.same(keyHeaders('aws', 'AKIAIOSFODNN7EXAMPLE:secret'), []);
  t.same(keyHeaders('aws', 'ASIAIOSFODNN7EXAMPLE:secret:token'), []);
  t.same(keyHeaders('aws', 'ABSKexample'), ['authorization', 'Bearer ABSKexample']);
});
