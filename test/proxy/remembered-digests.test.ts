// Digests of texts that come again are SHA-256 of each text, whatever came before.
import { createHash } from 'node:crypto';
import * as fc from 'fast-check';
import { test } from 'tap';
import { digestOf } from '../../proxy/records/remembered-digests.ts';

const expected = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

await test('a digest is that of its text, though thousands share the places', (t) => {
  const text = fc.oneof(fc.uint8Array({ maxLength: 3 }), fc.uint8Array({ minLength: 4_000, maxLength: 4_200 }));
  fc.assert(
    fc.property(text, (bytes) => digestOf(Buffer.from(bytes)) === expected(Buffer.from(bytes))),
    { numRuns: 3_000 },
  );
  // These differ where nothing is sampled.
  const alike = ['a', 'b', 'a'].map((letter) => Buffer.from(`${'x'.repeat(33)}${letter}${'x'.repeat(1_000)}`));
  t.same(alike.map(digestOf), alike.map(expected));
  t.end();
});

await test('a text that is written over is another one', (t) => {
  const bytes = Buffer.from('first');
  digestOf(bytes);
  bytes.write('other');
  t.equal(digestOf(bytes), expected(bytes));
  bytes.write('first');
  t.equal(digestOf(bytes), expected(bytes));
  t.end();
});
