// A signed client address: accepted only with the right signature.
import { test } from 'tap';
import { readClientAddress, signClientAddress } from '../../../domain/keys/client-address.ts';

await test('what was signed is read back', async (t) => {
  for (const address of ['192.0.2.7', '2001:db8::1', '::ffff:192.0.2.7', 'fe80::1%eth0'])
    t.equal(readClientAddress(signClientAddress(address, 'key'), 'key'), address);
});

await test('nothing else is believed', async (t) => {
  const value = signClientAddress('192.0.2.7', 'key');
  const [, signature = ''] = value.split(' ');
  for (const forged of [
    undefined,
    '',
    '192.0.2.7',
    '192.0.2.7 ',
    signature,
    ` ${signature}`,
    `192.0.2.8 ${signature}`,
    `${value}0`,
    value.slice(0, -1),
    `${value}, ${value}`,
    value.replace(' ', '  '),
    value.toUpperCase(),
    `192.0.2.7 ${'\xe9'.repeat(64)}`,
  ])
    t.equal(readClientAddress(forged, 'key'), undefined, String(forged));
  t.equal(readClientAddress(value, 'other'), undefined);
  t.equal(readClientAddress(value, undefined), undefined, 'without a key nothing can be proven');
  t.equal(readClientAddress(signClientAddress('192.0.2.7', ''), undefined), undefined);
});
