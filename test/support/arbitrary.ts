// Arbitraries of fast-check that cost little: its own for all characters, and for addresses, begin with a table of all of Unicode, which takes seconds.
import { constantFrom, integer, string, tuple } from 'fast-check';

const halves = { first: 0xd800, count: 0x800 };

/** Any character of Unicode, as a unit of `string`; no half of one. */
export const anyCharacter = integer({ min: 0, max: 0x10ffff - halves.count }).map((number) =>
  String.fromCodePoint(number < halves.first ? number : number + halves.count),
);

const pathUnit = constantFrom(...'az09-._~!$&*+,;=:@/'.split(''), '%20', '%C3%A9', '%F0%9F%98%80');

/** An address: with a host, and a path that may have escaped characters, a query or a fragment. */
export const anyUrl = tuple(
  constantFrom('http://', 'https://'),
  constantFrom('a.example', 'xn--4ca.example', 'a-b.c.example:8443', '127.0.0.1', '[::1]:80'),
  string({ unit: pathUnit, maxLength: 12 }),
  constantFrom('', '?', '?q=1&r=%2F', '#part'),
).map(([scheme, host, path, rest]) => `${scheme}${host}/${path}${rest}`);
