// Headers of every answer that the gateway sends.

/** Browsers take the content type as it is said, and never guess one. */
const noSniffing = ['x-content-type-options', 'nosniff'] as const;

/** Name and value, one after the other. */
export const fixedHeaderList: readonly string[] = noSniffing;
/** The fixed headers by name. */
export const fixedHeaders: Readonly<Record<string, string>> = Object.freeze({ [noSniffing[0]]: noSniffing[1] });
