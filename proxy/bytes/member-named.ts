// Finds a member of an object among those that a scan found.
import type { Member } from './scan.ts';
import { spells } from './spells.ts';

/** The first one with this key of ASCII, written without escapes. `body`: what the members' offsets count. */
export function memberNamed(body: Buffer, members: readonly Member[], name: string): Member | undefined {
  for (const member of members) {
    if (member.keyEnd - member.keyStart === name.length && spells(body, member.keyStart, name)) return member;
  }
  return undefined;
}
