// Texts and numbers as they stand in a line of the access log: bounded, escaped, and quick to write.

/** The most characters of one value; the rest is left out. */
const longestValue = 256;

/** Copies a text into one piece: V8 keeps a concatenated text as a tree, and would walk it for every line. */
export function flat(text: string): string {
  return Buffer.from(text).toString();
}

/** A number with one decimal. Integers are turned into text faster than fractions. */
export function tenths(ms: number): string {
  const count = Math.max(0, Math.round(ms * 10));
  return `${Math.floor(count / 10)}.${count % 10}`;
}

/** Whether the first so many characters stand for themselves in JSON, and where they are shown: all are plain ASCII. */
export function isPlain(text: string, length: number = text.length): boolean {
  for (let index = 0; index < length; index += 1) {
    const code = text.charCodeAt(index);
    if (code < 0x20 || code > 0x7e || code === 0x22 || code === 0x5c) return false;
  }
  return true;
}

/** The text as JSON, bounded. Nearly all texts are plain ASCII, which needs no escape. */
export function quoted(text: string): string {
  const isLong = text.length > longestValue;
  if (!isPlain(text, isLong ? longestValue : text.length)) return escaped(text);
  return isLong ? `"${text.slice(0, longestValue)}…"` : `"${text}"`;
}

function escaped(text: string): string {
  const short = text.length > longestValue ? `${text.slice(0, longestValue)}…` : text;
  // Control, format and separator characters could forge lines or hide text where the line is shown.
  return JSON.stringify(short).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (found) =>
    Array.from({ length: found.length }, (_, at) => `\\u${found.charCodeAt(at).toString(16).padStart(4, '0')}`).join(
      '',
    ),
  );
}
