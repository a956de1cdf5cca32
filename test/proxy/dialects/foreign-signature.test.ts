// A signature of any family passes through a client of another one.
import { test } from 'tap';
import { packSignature, unpackSignature } from '../../../proxy/dialects/foreign-signature.ts';

const families = ['anthropic', 'openai', 'google'] as const;

await test('every signature comes back from every client', async (t) => {
  for (const family of families) {
    for (const own of families) {
      const signature = { family, value: 'EqQB+/=漢' };
      const kept = packSignature(signature, own);
      t.equal(kept === signature.value, family === own, 'its own is kept as it is');
      t.strictSame(unpackSignature(kept, own), signature);
    }
  }
});

await test('what only looks packed is the signature of the client', async (t) => {
  const packed = (value: string): string => `gw1.${Buffer.from(value).toString('base64url')}`;
  for (const text of [
    '',
    'gw1.',
    'gw1.%%%',
    packed('[]'),
    packed('{"family":"meta","value":"a"}'),
    packed('{"family":"google"}'),
  ]) {
    t.strictSame(unpackSignature(text, 'anthropic'), { family: 'anthropic', value: text });
  }
});
