// How large the heap of a worker may become: all workers share the memory that one proxy has.
const mebibyte = 2 ** 20;
/** Part of the memory that the heaps of all workers may take together; the rest is for buffers. */
const heapsShare = 3 / 4;
const sizeFlag = /^--max[-_]old[-_]space[-_]size(?:-percentage)?=/;

export interface HeapFacts {
  readonly workers: number;
  /** Of the machine, or of the container. Bytes. */
  readonly memoryBytes: number;
  /** What Node takes by itself. Bytes. */
  readonly heapBytes: number;
  /** Those of the parent, and those of NODE_OPTIONS. */
  readonly flags: readonly string[];
}

/** The flag for Node that bounds the heap of each worker; none where one is given, or all heaps have room. */
export function heapFlags({ workers, memoryBytes, heapBytes, flags }: HeapFacts): readonly string[] {
  const own = (memoryBytes * heapsShare) / workers;
  if (own >= heapBytes || flags.some((flag) => sizeFlag.test(flag))) return [];
  return [`--max-old-space-size=${Math.max(1, Math.floor(own / mebibyte))}`];
}
