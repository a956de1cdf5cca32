// The bounds of a thread of a record store.

/** More operations than this waiting at once are refused: an administrator's pages ask for a handful. */
export const mostWaiting = 64;
/** Its memory limit in MiB: for a batch, or a page with the bodies of a conversation. */
export const threadMemoryMb = 1_024;

/** Of a thread that writes: a batch is a few MiB of objects. With 4 MiB, to collect them took a third of its time. */
export const writerYoungMb = 32;
