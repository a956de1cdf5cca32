// How long an overloaded provider, or one of its keys, is not asked. Milliseconds.

/** When it does not say for how long. */
export const unsaidRestMs = 1_000;

/** However long it asks for. */
export const longestRestMs = 60_000;
