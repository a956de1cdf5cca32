// Any character of Unicode, for property tests: fast-check's own (`unit: 'binary'`) first builds a table of a million entries, which takes two seconds.
import * as fc from 'fast-check';

/** One character; for example the `unit` of `fc.string`. No half of a surrogate pair. */
export const anyCharacter: fc.Arbitrary<string> = fc
  .oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }))
  .map((codePoint) => String.fromCodePoint(codePoint));
