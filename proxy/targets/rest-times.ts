// How long a provider, or one of its keys, is left alone that has too much to do. Milliseconds.

/** When it does not say for how long. */
export const unsaidRestMs = 1_000;

/** However long it asks for. */
export const longestRestMs = 60_000;
