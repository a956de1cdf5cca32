// Reads the usage of a JSON answer that is too long to be held: providers put it at the beginning or at the end.
import { isAscii } from 'node:buffer';
import { findLastUsage, findUsage } from './find-usage.ts';
import type { TokenUsage } from './token-usage.ts';

/** How much of either end is searched. Bytes. */
const headBytes = 64 * 1024;
const tailBytes = 16 * 1024;
/** Chunks kept as they came. Beyond that they are small, and each would cost more than its bytes. */
const mostPieces = 64;

export interface UsageReader {
  /** Sees a chunk pass. Keeps references; copies only chunks that are small. */
  push(chunk: Buffer): void;
  /** The reported usage in the bytes so far; undefined when there is none. */
  usage(): TokenUsage | undefined;
  /** How much has passed. */
  bytes(): number;
  /** How much of it in chunks that are not all ASCII. */
  wideBytes(): number;
}

/** A reader that has seen nothing. */
export function createUsageReader(): UsageReader {
  let length = 0;
  let wideBytes = 0;
  let head: Buffer[] = [];
  let headUsage: TokenUsage | undefined;
  let tail: Buffer[] = [];
  let tailLength = 0;

  const pushHead = (chunk: Buffer): void => {
    head.push(chunk);
    if (length > headBytes) {
      headUsage = findLastUsage(Buffer.concat(head));
      head = [];
    } else if (head.length > mostPieces) head = [Buffer.concat(head)];
  };
  const pushTail = (chunk: Buffer): void => {
    tail.push(chunk);
    tailLength += chunk.length;
    if (chunk.length >= tailBytes) tail = [chunk];
    else if (tailLength > 2 * tailBytes || tail.length > mostPieces) tail = [Buffer.concat(tail).subarray(-tailBytes)];
    else return;
    tailLength = tail[0]?.length ?? 0;
  };
  return {
    push(chunk) {
      const isHead = length <= headBytes;
      length += chunk.length;
      if (!isAscii(chunk)) wideBytes += chunk.length;
      if (isHead) pushHead(chunk);
      pushTail(chunk);
    },
    usage() {
      if (length <= headBytes) return findUsage(Buffer.concat(head));
      return findLastUsage(Buffer.concat(tail)) ?? headUsage;
    },
    bytes: () => length,
    wideBytes: () => wideBytes,
  };
}
