// Compares bytes with a name without making text of them: requests and answers have dozens of keys and headers, of which few matter.

/** Whether the bytes from `from` on spell a name of ASCII. */
export function spells(bytes: Buffer, from: number, name: string): boolean {
  for (let index = 0; index < name.length; index += 1) if (bytes[from + index] !== name.charCodeAt(index)) return false;
  return true;
}

/** `spells` in any letter case; `name` in lower case. */
export function spellsFolded(bytes: Buffer, from: number, name: string): boolean {
  for (let index = 0; index < name.length; index += 1) {
    const byte = bytes[from + index] as number;
    const folded = byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte;
    if (folded !== name.charCodeAt(index)) return false;
  }
  return true;
}
