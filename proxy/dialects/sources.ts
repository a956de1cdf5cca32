// Where bytes are, in the words of OpenAI's dialects: `data:` URLs (RFC 2397) and the names of sound formats.
import type { Source } from './conversation/parts.ts';

const dataHead = /^data:([^;,]*)((?:;[^;,]*)*),/i;
const base64End = /;base64$/i;

/** A URL as a source: base64 where it is a `data:` URL of that kind. */
export function sourceOfUrl(url: string): Source {
  const head = url.length > 5 && url.slice(0, 5).toLowerCase() === 'data:' ? dataHead.exec(url.slice(0, 512)) : null;
  const further = head?.[2] ?? '';
  if (head === null || !base64End.test(further)) return { kind: 'url', url };
  const mediaType = head[1] || 'text/plain';
  return { kind: 'base64', mediaType: mediaType + further.replace(base64End, ''), data: url.slice(head[0].length) };
}

/** The URL of a source; undefined where it has none. */
export function urlOfSource(source: Source): string | undefined {
  if (source.kind === 'url') return source.url;
  return source.kind === 'base64' ? dataUrl(source.mediaType, source.data) : undefined;
}

/** `data`: in base64. */
export function dataUrl(mediaType: string, data: string): string {
  return `data:${mediaType};base64,${data}`;
}

/** The media type of a format of sound: `mp3` is `audio/mpeg`. */
export function mediaTypeOfSound(format: string): string {
  return format === 'mp3' ? 'audio/mpeg' : `audio/${format}`;
}

/** The format of a sound by its media type: `audio/mpeg` is `mp3`. */
export function soundFormat(mediaType: string): string {
  const name = mediaType.slice(mediaType.indexOf('/') + 1).replace(/;.*$/, '');
  if (name === 'mpeg') return 'mp3';
  return name.replace(/^x-/, '');
}
