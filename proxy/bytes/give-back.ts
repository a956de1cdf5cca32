// Gives memory of bytes back at once. It lies outside of V8's heap, where the collector sees little of it and frees it late: a body of 64 KiB
// that leaves two copies behind costs a full collection every 200 requests, and each new copy lies in memory that no cache holds.

/**
 * Gives back the memory of bytes that nobody reads any more, where it is all theirs. Whoever still has them finds them empty: they cannot
 * become the bytes of another request. Only for bytes that no system call is reading. Again does nothing.
 */
export function giveBack(bytes: Buffer): void {
  const { buffer } = bytes;
  // Others may use the same memory, as with buffers of Node's pool.
  const isAll = bytes.length > 0 && buffer.byteLength === bytes.length;
  if (isAll && buffer instanceof ArrayBuffer) buffer.transfer(0);
}
