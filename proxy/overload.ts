// Says when the heap is nearly full, so that new work is refused instead of everything ending.
import { getHeapSpaceStatistics, getHeapStatistics } from 'node:v8';

const mebibyte = 2 ** 20;
/** Refusing begins when less of the heap than this is left: a share of it, or some mebibytes when those are more, but never an eighth. */
const roomShare = 1 / 20;
const roomBytes = 16 * mebibyte;
const mostRoomShare = 1 / 8;
/** It ends when so many times that room is left. */
const reliefFactor = 2;
const checkMs = 100;
/** How often garbage is looked for in a full heap. Looking takes the process about a millisecond for each mebibyte. */
const collectMs = 2_000;
const collectMsPerMebibyte = 3;
/** Once it holds 64 MiB outside its heap, V8 begins to collect garbage in small steps. */
const collectingBytes = 80 * mebibyte;

export interface Overload {
  /** As of the last check, a tenth of a second ago at most. */
  isOverloaded(): boolean;
}

/**
 * Watches the heap of this process. `onChange` is told when refusing begins and ends. `flags` are those the process was started with;
 * of those that say the same, the last one counts.
 */
export function watchHeap(
  onChange: (isOverloaded: boolean) => void,
  flags: readonly string[] = process.execArgv,
): Overload {
  const limit = oldGenerationLimit(flags, getHeapStatistics().heap_size_limit);
  const room = Math.max(limit * roomShare, Math.min(roomBytes, limit * mostRoomShare));
  const checksPerCollection = Math.ceil((collectMs + (collectMsPerMebibyte * limit) / mebibyte) / checkMs);
  let isOverloaded = false;
  let checks = 0;
  const timer = setInterval(() => {
    const next = limit - oldGenerationBytes() < (isOverloaded ? reliefFactor : 1) * room;
    checks = next ? checks + 1 : 0;
    if (next && checks % checksPerCollection === 0) collect();
    if (next === isOverloaded) return;
    isOverloaded = next;
    onChange(next);
  }, checkMs);
  timer.unref();
  return { isOverloaded: () => isOverloaded };
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
 * Has V8 look for garbage. A process that refuses work allocates so little that V8 sees no reason to, and a heap that has become free
 * would count as full for half a minute more. Nothing is written to what is allocated here, so it takes no memory.
 */
function collect(): void {
  try {
    void new ArrayBuffer(collectingBytes);
  } catch {
    // Not even addresses are left; V8 has noticed that, too.
  }
}
