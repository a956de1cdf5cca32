// The id of a session that a client names: what the client calls it, and behind that a digest that keeps user paths apart.

/** Between the two. */
const separator = '~';
/** Of the digest, in hexadecimal digits: no caller can find a path of its own with the digest of another one. */
export const scopeDigits = 16;
/** Printable ASCII without blanks at its ends. A longer name, or another one, is not shown. */
const name = /^[!-~](?:[ -~]{0,126}[!-~])?$/;
const wholeId = /~[0-9a-f]{16}$/;

/** Whether a session can be shown by this name: one that looks like the id of a session would be taken for that. */
export function isSessionName(text: string): boolean {
  return name.test(text) && !wholeId.test(text);
}

/** `case-4711~0123456789abcdef`. */
export function namedSession(named: string, scope: string): string {
  return `${named}${separator}${scope}`;
}

/** The sessions of this name, of all user paths: those between the two texts, in the order of bytes, with this length. */
export function sessionsOfName(named: string): {
  readonly from: string;
  readonly to: string;
  readonly length: number;
} {
  const from = named + separator;
  // The next character.
  const to = named + String.fromCharCode(separator.charCodeAt(0) + 1);
  return { from, to, length: from.length + scopeDigits };
}
