// The reason that a service or a model gives for a refusal: a category in a few words, never what was found, because clients are told and records keep it.

const category = /^[A-Za-z0-9](?:[A-Za-z0-9 _.-]{0,62}[A-Za-z0-9])?$/;

/** The category; undefined unless it is 1 to 64 letters, digits, blanks, dots, underscores and hyphens. */
export function readReason(said: unknown): string | undefined {
  return typeof said === 'string' && category.test(said) ? said : undefined;
}
