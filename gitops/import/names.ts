// Which texts can be names of models in the configuration.

/** The longest name of an alias, and the longest id of a model. Characters. */
export const longestName = 320;
export const longestId = 256;

/** Whether a text has no blanks around it and no control characters, and is no longer than that. */
export function isModelName(text: string, longest: number): boolean {
  return text !== '' && text.length <= longest && text.trim() === text && !/\p{Cc}/u.test(text);
}

/** Whether a text is the name of one model, without a pattern. */
export function isOneModel(text: string, longest: number): boolean {
  return isModelName(text, longest) && !text.includes('*');
}
