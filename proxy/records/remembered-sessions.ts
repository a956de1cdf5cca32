// The ids of sessions, worked out from what conversations begin with. Each call of a conversation begins alike, and to compare takes a fifth of the time of a digest.
import { hash } from 'node:crypto';

/** So many are remembered. */
const slots = 1024;
/** Longer beginnings are digested each time: those that are remembered take 4 MiB at most. Bytes. */
const longest = 4096;
/** Bytes that a place among the slots is worked out from. */
const samples = 16;
/** Hexadecimal digits of an id: of the beginning, and of who has the conversation with which model. */
const contentDigits = 24;
const scopeDigits = 8;

interface Remembered {
  readonly bytes: Buffer;
  readonly scope: Scope;
  readonly id: string;
}

/** Two conversations that begin alike stay apart. */
export interface Scope {
  readonly userPath: string;
  readonly model: string;
}

const remembered: (Remembered | undefined)[] = Array.from({ length: slots });

/** `auto-` and 32 hexadecimal digits; `beginning` is read before it returns. */
export function sessionOfBeginning(beginning: Buffer, scope: Scope): string {
  if (beginning.length > longest) return idOf(beginning, scope);
  const slot = slotOf(beginning, scope);
  const known = remembered[slot];
  if (known !== undefined && isSame(known.scope, scope) && known.bytes.equals(beginning)) return known.id;
  const id = idOf(beginning, scope);
  remembered[slot] = { bytes: Buffer.from(beginning), scope, id };
  return id;
}

function isSame(one: Scope, other: Scope): boolean {
  return one.userPath === other.userPath && one.model === other.model;
}

function idOf(beginning: Buffer, { userPath, model }: Scope): string {
  const content = hash('sha256', beginning).slice(0, contentDigits);
  return `auto-${content}${hash('sha256', `${userPath}\0${model}`).slice(0, scopeDigits)}`;
}

/** Two beginnings with one slot are digested in turns. */
function slotOf(bytes: Buffer, { userPath, model }: Scope): number {
  const { length } = bytes;
  let sum = (length * 31 + endOf(userPath)) * 31 + endOf(model);
  for (let index = 0; index < samples; index += 1) {
    sum = (sum * 31 + (bytes[Math.floor((index * length) / samples)] ?? 0)) | 0;
  }
  return sum & (slots - 1);
}

/** The length and the last character: user paths of one team often differ in nothing else. */
function endOf(text: string): number {
  const { length } = text;
  return length === 0 ? 0 : length * 31 + text.charCodeAt(length - 1);
}
