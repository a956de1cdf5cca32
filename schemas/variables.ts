// The type of the environment variables, and the readers of switches and lists.

/** Values by name; an unset variable is undefined, and an empty one counts as unset. */
export type Variables = Readonly<Record<string, string | undefined>>;

/** `true`, `false`, `1` or `0`, letter case aside; undefined for anything else. */
export function parseFlag(text: string): boolean | undefined {
  const folded = text.toLowerCase();
  if (folded === 'true' || folded === '1') return true;
  return folded === 'false' || folded === '0' ? false : undefined;
}

/** The entries of a comma list, without the blanks around them; empty entries are left out. */
export function parseList(text: string): string[] {
  const entries = text.split(',').map((entry) => entry.trim());
  return entries.filter((entry) => entry !== '');
}
