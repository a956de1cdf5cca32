// The bounds of a thread of a record store.

/** More operations than this waiting at once are refused: an administrator's pages ask for a handful. */
export const mostWaiting = 64;
/** Its memory limit in MiB: for a batch, or a page with the bodies of a conversation. */
export const threadMemoryMb = 1_024;
