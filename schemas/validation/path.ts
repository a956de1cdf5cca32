// Places in a document, and text of it within a sentence.

export type Path = readonly (string | number)[];

/** `["providers", "my.name", "models", 0]` → `providers["my.name"].models[0]`. */
export function formatPath(path: Path): string {
  let text = '';
  for (const part of path) {
    if (typeof part === 'number') text += `[${part}]`;
    else if (/^[\w-]+$/.test(part)) text += text === '' ? part : `.${part}`;
    else text += `[${quote(part)}]`;
  }
  return text;
}

/** Text of a document within a sentence: quoted, on one line, of bounded length. */
export function quote(text: string): string {
  return escaped(JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}...` : text));
}

/** On one line and visible: control and format characters as `\u0000`. */
export function escaped(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
