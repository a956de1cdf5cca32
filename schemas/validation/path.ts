// Formats paths and texts of a document for sentences.

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

/** A text of a document for a sentence: quoted, on one line, of bounded length. */
export function quote(text: string): string {
  return escaped(JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}...` : text));
}

/** A text on one line without invisible characters: control and format characters become `\u0000`. */
export function escaped(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
}
