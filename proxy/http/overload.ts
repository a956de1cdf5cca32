// Says when memory is nearly full, so that new requests are refused before the process runs out of it.
import { totalmem } from 'node:os';
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8';

const mebibyte = 2 ** 20;
/** Refusing begins when less than this is left of a limit: a share of it, or some mebibytes when those are more, but never an eighth. */
const roomShare = 1 / 20;
const roomBytes = 16 * mebibyte;
const mostRoomShare = 1 / 8;
/** It ends when so many times that room is left. */
const reliefFactor = 2;
const checkMs = 100;
/** Between two provoked collections while memory is full. One stops the process for about a millisecond per mebibyte of heap. */
const collectMs = 2_000;
const collectMsPerMebibyte = 3;
/** Once it holds 64 MiB outside its heap, V8 begins to collect garbage in small steps. */
const collectingBytes = 80 * mebibyte;
/** Buffers may take as much as the heap, and always this: V8 lets 128 MiB of buffers become garbage before it collects them. */
const leastBuffersBytes = 256 * mebibyte;
/** Part of the process's memory that nothing here accounts for (sockets, native code) before it is taken for the allocator's reserve. */
const unaccountedShare = 1 / 8;

/** The memory limits of this process, in bytes. */
export interface MemoryLimits {
  /** The old generation of the heap: past that V8 ends the process. */
  readonly heapBytes: number;
  /** The container, or the machine: past that the kernel ends the process. */
  readonly processBytes: number;
}

export interface Overload {
  /** As of the last check, a tenth of a second ago at most. */
  isOverloaded(): boolean;
}

/** The memory of the container, or of the machine. Bytes. */
export function machineMemory(): number {
  // Without a container's limit it is 0 or astronomical.
  const container = process.constrainedMemory();
  return container > 0 ? Math.min(container, totalmem()) : totalmem();
}

/**
 * The limits of this process. `flags` are those it was started with; of those that say the same, the last one counts. `processes`: how
 * many share the memory of the machine.
 */
export function memoryLimits(flags: readonly string[] = process.execArgv, processes: number = 1): MemoryLimits {
  return {
    heapBytes: oldGenerationLimit(flags, getHeapStatistics().heap_size_limit),
    processBytes: machineMemory() / processes,
  };
}

/**
 * Watches the memory of this process: its heap, its buffers, and all of it. `onChange` is told what is nearly full when refusing begins,
 * and undefined when it ends.
 */
export function watchMemory(limits: MemoryLimits, onChange: (full: string | undefined) => void): Overload {
  const { heapBytes, processBytes } = limits;
  const buffersBytes = Math.min(processBytes, Math.max(heapBytes, leastBuffersBytes));
  const checksPerCollection = Math.ceil((collectMs + (collectMsPerMebibyte * heapBytes) / mebibyte) / checkMs);
  const atStart = measure(0);
  const native = Math.max(0, (residentBytes() ?? 0) - atStart.heap - atStart.buffers);
  let full: string | undefined;
  let checks = 0;

  const findFull = (): string | undefined => {
    const factor = full === undefined ? 1 : reliefFactor;
    const isFull = (used: number, limit: number): boolean => limit - used < factor * roomOf(limit);
    if (isFull(oldGenerationBytes(), heapBytes)) return 'the heap';
    const { heap, buffers } = measure(checks >= checksPerCollection ? collectingBytes : 0);
    if (isFull(buffers, buffersBytes)) return 'the memory for buffers';
    // The allocator keeps freed memory for the next buffers: the resident size alone would never fall again.
    const accounted = heap + buffers + native + processBytes * unaccountedShare;
    // Asking the system takes 0.3 ms, so it comes last.
    const isTaken = (): boolean => isFull(residentBytes() ?? heap + buffers, processBytes);
    return isFull(accounted, processBytes) && isTaken() ? 'the memory of the process' : undefined;
  };
  const timer = setInterval(() => {
    const next = findFull();
    checks = next === undefined ? 0 : checks + 1;
    if (next !== undefined && checks % checksPerCollection === 0) collect();
    const isChange = (next === undefined) !== (full === undefined);
    full = next;
    if (isChange) onChange(next);
  }, checkMs);
  timer.unref();
  return { isOverloaded: () => full !== undefined };
}

/** A line when refusing begins, and when it ends. */
export function logOverload(log: Record<'error' | 'info', (text: string) => void>): (full: string | undefined) => void {
  return (full) => {
    if (full) log.error(`${full} is nearly full: new requests are refused`);
    else log.info('there is room in memory again');
  };
}

function roomOf(limit: number): number {
  return Math.max(limit * roomShare, Math.min(roomBytes, limit * mostRoomShare));
}

/** The memory in use now, in bytes; `ownBytes` of the buffers belong to this file. */
function measure(ownBytes: number): { heap: number; buffers: number } {
  const { total_heap_size: heap, external_memory: external } = getHeapStatistics();
  return { heap, buffers: Math.max(0, external - ownBytes) };
}

/** Asking the system takes a file descriptor, and there may be none left. */
function residentBytes(): number | undefined {
  try {
    return process.memoryUsage.rss();
  } catch {
    return undefined;
  }
}

/**
 * How large the old generation of a heap may become: past that V8 ends the process. Bytes. Its `heap_size_limit` also counts the young
 * generation, three parts of equal size, whose room is of no use when the old one is full.
 */
export function oldGenerationLimit(flags: readonly string[], heapLimit: number): number {
  const old = mebibytesOf(flags, /^--max[-_]old[-_]space[-_]size=(\d+)$/);
  if (old !== undefined) return Math.min(old * mebibyte, heapLimit);
  const part = mebibytesOf(flags, /^--max[-_]semi[-_]space[-_]size=(\d+)$/);
  // A part is rounded up to a power of two. Without flags the proportion of the generations is 128 to 3.
  if (part !== undefined) return heapLimit - 3 * 2 ** Math.ceil(Math.log2(part)) * mebibyte;
  return (heapLimit * 128) / 131;
}

function mebibytesOf(flags: readonly string[], pattern: RegExp): number | undefined {
  const said = flags.findLast((flag) => pattern.test(flag));
  return said === undefined ? undefined : Number(pattern.exec(said)?.[1]);
}

function oldGenerationBytes(): number {
  let bytes = 0;
  for (const { space_name: name, space_used_size: used } of getHeapSpaceStatistics()) {
    if (!name.startsWith('new_')) bytes += used;
  }
  return bytes;
}

/**
 * Makes V8 collect garbage. A process that refuses requests allocates so little that V8 does not begin by itself: a full heap that
 * became garbage counted as taken for 26 s instead of 2 s. Nothing is written to the memory allocated here, so none is used.
 */
function collect(): void {
  try {
    void new ArrayBuffer(collectingBytes);
  } catch {
    // No address space is left; V8 collects garbage before it says so.
  }
}
