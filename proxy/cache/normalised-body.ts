// The part of a request that decides its answer: the members of its body in the order of their names, without those of transport.
import type { Member } from '../bytes/scan.ts';
import { spellsFolded } from '../bytes/spells.ts';
import type { Call } from '../call/call.ts';
import type { Operation } from '../dialects/dialect.ts';
import { type Bearing, bearings } from './transport-members.ts';

export interface NormalisedBody {
  /** Sorted by the bytes of their names. */
  readonly members: readonly Member[];
  /** It asks for the same answer each time. */
  readonly isDeterministic: boolean;
}

type Body = Pick<Call, 'body' | 'members' | 'stream'>;

const [backslash, letterF, letterN] = [0x5c, 0x66, 0x6e];

/**
 * Undefined: its answer must not be another's, because a provider keeps something of it, a stream has several choices, or a name is
 * written so that it cannot be told what it is.
 */
export function normalise({ body, members, stream }: Body, operation: Operation): NormalisedBody | undefined {
  const sorted: Member[] = [];
  let isDeterministic = operation === 'embeddings';
  let isStored = operation === 'responses';
  for (const member of members) {
    const bearing = bearingOf(body, member, operation);
    if (bearing === undefined) return undefined;
    if (bearing === 'stateful') {
      const first = body[member.valueStart];
      if (first !== letterF && first !== letterN) return undefined;
      // `store` is the only one whose absence says something.
      if (first === letterF && isStore(body, member)) isStored = false;
    } else if (bearing === 'n') {
      if (stream && memberText(body, member) !== '1') return undefined;
    } else if (bearing === 'temperature') isDeterministic ||= Number(memberText(body, member)) === 0;
    else if (bearing === 'seed') isDeterministic ||= body[member.valueStart] !== letterN;
    if (bearing !== 'left_out' && bearing !== 'stateful') insert(sorted, member, body);
  }
  return isStored ? undefined : { members: sorted, isDeterministic };
}

/** Undefined: the name has escapes or letters beyond ASCII. */
function bearingOf(body: Buffer, { keyStart, keyEnd }: Member, operation: Operation): Bearing | undefined {
  for (let at = keyStart; at < keyEnd; at += 1) {
    const byte = body[at] as number;
    if (byte === backslash || byte >= 0x80) return undefined;
  }
  for (const { name, bearing } of bearings.get(operation)?.[keyEnd - keyStart] ?? [])
    if (spellsFolded(body, keyStart, name)) return bearing;
  return 'content';
}

function isStore(body: Buffer, { keyStart, keyEnd }: Member): boolean {
  return keyEnd - keyStart === 5 && spellsFolded(body, keyStart, 'store');
}

function memberText(body: Buffer, { valueStart, valueEnd }: Member): string {
  return body.toString('latin1', valueStart, valueEnd);
}

/** Requests have some ten members, most of them in their order already. */
function insert(sorted: Member[], member: Member, body: Buffer): void {
  let at = sorted.length;
  while (at > 0 && isBefore(body, member, sorted[at - 1] as Member)) {
    sorted[at] = sorted[at - 1] as Member;
    at -= 1;
  }
  sorted[at] = member;
}

function isBefore(body: Buffer, one: Member, other: Member): boolean {
  const length = Math.min(one.keyEnd - one.keyStart, other.keyEnd - other.keyStart);
  for (let index = 0; index < length; index += 1) {
    const difference = (body[one.keyStart + index] as number) - (body[other.keyStart + index] as number);
    if (difference !== 0) return difference < 0;
  }
  return one.keyEnd - one.keyStart < other.keyEnd - other.keyStart;
}
