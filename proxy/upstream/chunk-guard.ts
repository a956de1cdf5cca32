// Notices answers that crumble: a provider that sends a byte at a time costs a core to read.

/**
 * A provider sends an event, or at least a line of one, at a time: a hundred bytes and more. Fewer than this many bytes a chunk, over as
 * many chunks as are looked at together, is no such thing.
 */
const leastChunkBytes = 16;
const chunksPerLook = 4096;

export interface ChunkGuard {
  /** Sees the length of a chunk; true when the last few thousand chunks were tiny. */
  isCrumbling(chunkBytes: number): boolean;
}

/** A guard that has seen nothing. */
export function createChunkGuard(): ChunkGuard {
  let chunks = 0;
  let bytes = 0;
  return {
    isCrumbling(chunkBytes) {
      chunks += 1;
      bytes += chunkBytes;
      if (chunks < chunksPerLook) return false;
      const isTiny = bytes < chunksPerLook * leastChunkBytes;
      chunks = 0;
      bytes = 0;
      return isTiny;
    },
  };
}
