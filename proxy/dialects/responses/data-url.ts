// Addresses that hold their data (RFC 2397), in base64.
import type { Source } from '../conversation/parts.ts';

const base64Mark = ';base64';

/** What an address leads to: the data itself where it holds them. */
export function sourceOf(url: string): Source {
  const comma = url.startsWith('data:') ? url.indexOf(',') : -1;
  const head = url.slice('data:'.length, comma);
  if (comma === -1 || !head.endsWith(base64Mark)) return { kind: 'url', url };
  return { kind: 'base64', mediaType: head.slice(0, -base64Mark.length), data: url.slice(comma + 1) };
}

export function dataUrl(mediaType: string, data: string): string {
  return `data:${mediaType}${base64Mark},${data}`;
}
