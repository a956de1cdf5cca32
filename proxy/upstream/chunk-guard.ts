// Detects answers in very small chunks: a provider that sends a byte at a time costs a whole core to read.

/**
 * A provider sends an event, or at least a line of one, at a time: a hundred bytes and more. Fewer than this many bytes a chunk, over as
 * many chunks as are looked at together, is no such thing.
 */
const leastChunkBytes = 16;
const chunksPerLook = 4096;

/** Sees the lengths of the chunks of one answer. */
export class ChunkGuard {
  #chunks = 0;
  #bytes = 0;

  /** True when the last few thousand chunks, this one included, were tiny. */
  isCrumbling(chunkBytes: number): boolean {
    this.#chunks += 1;
    this.#bytes += chunkBytes;
    if (this.#chunks < chunksPerLook) return false;
    const isTiny = this.#bytes < chunksPerLook * leastChunkBytes;
    this.#chunks = 0;
    this.#bytes = 0;
    return isTiny;
  }
}
