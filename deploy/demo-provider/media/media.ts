// Counts and measures images, documents and sounds: the demo model sees no more of them. Nothing is fetched.
export type Noun = 'image' | 'document' | 'sound';

type MediaSource =
  | { readonly kind: 'data'; readonly bytes: number; readonly mediaType: string; readonly size?: Size | undefined }
  | { readonly kind: 'url'; readonly url: string }
  | { readonly kind: 'id'; readonly id: string };

type Size = { readonly width: number; readonly height: number };

export type Media = {
  readonly kind: 'media';
  readonly noun: Noun;
  readonly place: MediaSource;
  readonly name?: string | undefined;
};

/** Media whose content is in the request, as base64; undefined when it is not base64. */
export function mediaFromBase64(noun: Noun, mediaType: string, data: string, name?: string): Media | undefined {
  if (data === '' || !/^[A-Za-z0-9+/_-]+={0,2}$/.test(data)) return undefined;
  const bytes = Buffer.from(data, 'base64');
  const size = noun === 'image' ? measure(bytes) : undefined;
  return { kind: 'media', noun, place: { kind: 'data', bytes: bytes.length, mediaType, size }, name };
}

/** Media behind a `data:` URL, which is read, or behind an `http(s):` URL, which is not; undefined for anything else. */
export function mediaFromUrl(noun: Noun, url: string, name?: string): Media | undefined {
  const comma = url.indexOf(',');
  const head = /^data:([^;,]+)(?:;[^;,]+)*;base64$/i.exec(url.slice(0, Math.max(comma, 0)));
  if (head) return mediaFromBase64(noun, head[1] ?? '', url.slice(comma + 1), name);
  if (!/^https?:\/\/[^/\s]/i.test(url)) return undefined;
  return { kind: 'media', noun, place: { kind: 'url', url }, name };
}

/** A file that a provider would keep under this id. */
export function mediaFromId(noun: Noun, id: string): Media {
  return { kind: 'media', noun, place: { kind: 'id', id } };
}

/** A document that is plain text. */
export function mediaFromText(text: string, name?: string): Media {
  const place = { kind: 'data', bytes: Buffer.byteLength(text), mediaType: 'text/plain' } as const;
  return { kind: 'media', noun: 'document', place, name };
}

/** One sentence for each kind of media: `I see one image of 68 bytes (image/png), 1 × 1 pixels.` */
export function describeMedia(media: readonly Media[]): string[] {
  return (['image', 'document', 'sound'] as const).flatMap((noun) => {
    const found = media.filter((item) => item.noun === noun).map(describePlace);
    if (found.length === 0) return [];
    const verb = noun === 'sound' ? 'hear' : 'see';
    return found.length === 1
      ? [`I ${verb} one ${noun} ${found[0]}.`]
      : [`I ${verb} ${found.length} ${noun}s: ${found.map((words) => `one ${words}`).join('; ')}.`];
  });
}

function describePlace({ place, name }: Media): string {
  const named = name === undefined ? '' : `, named “${name}”`;
  if (place.kind === 'url') return `at ${place.url}${named}`;
  if (place.kind === 'id') return `with the id ${place.id}${named}`;
  const { bytes, mediaType, size } = place;
  const pixels = size ? `, ${size.width} × ${size.height} pixels` : '';
  return `of ${bytes} byte${bytes === 1 ? '' : 's'} (${mediaType})${pixels}${named}`;
}

/** Width and height from the head of a PNG, a GIF or a JPEG. */
export function measure(bytes: Buffer): Size | undefined {
  if (bytes.length >= 24 && bytes.toString('latin1', 1, 4) === 'PNG') {
    return { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) };
  }
  if (bytes.length >= 10 && bytes.toString('latin1', 0, 4) === 'GIF8') {
    return { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) };
  }
  return bytes.length >= 4 && bytes.readUInt16BE(0) === 0xffd8 ? measureJpeg(bytes) : undefined;
}

/** Walks the segments of a JPEG to the one that starts the frame. */
function measureJpeg(bytes: Buffer): Size | undefined {
  let at = 2;
  while (at + 9 <= bytes.length && bytes[at] === 0xff) {
    const marker = bytes[at + 1] ?? 0;
    // C4, C8 and CC are tables among the markers of frames.
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) {
      return { width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) };
    }
    at += 2 + bytes.readUInt16BE(at + 2);
  }
  return undefined;
}
