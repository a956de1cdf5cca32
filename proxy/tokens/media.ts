// Estimates tokens of pictures, sound and documents: a figure per kind, plus a share of the length where cost grows with it.

export type MediaKind = 'image' | 'audio' | 'video' | 'document' | 'text';

/**
 * Tokens of one, however it is sent. Image: 2048 by 4096 in high detail (OpenAI, "Images and vision"; 1024 by 1024 is 765, low detail
 * 85). Document: a page of a PDF as text and picture (Anthropic, "PDF support": 1,500 to 3,000). Sound and film: ten seconds and four,
 * as OpenAI (10 tokens a second of sound) and Gemini (32 a second of sound, 263 of film) count.
 */
const flatTokens: Readonly<Record<MediaKind, number>> = {
  image: 1105,
  audio: 100,
  video: 1000,
  document: 1500,
  text: 0,
};

/**
 * Bytes to a token on top of that. Compressed sound has about 8 kB a second, WAV 48 kB, film 125 kB; a PDF has 30 to 100 kB a page.
 */
const bytesPerToken: Readonly<Record<MediaKind, number>> = {
  image: Number.POSITIVE_INFINITY,
  audio: 500,
  video: 500,
  document: 32,
  text: 4,
};
const wavBytesPerToken = 3000;

/** Tokens of something that is named, such as by an address. */
export function namedMediaTokens(kind: MediaKind): number {
  return flatTokens[kind];
}

/** Tokens of what is sent as `length` characters of base64 that begin with `start`, on top of what naming it costs. */
export function sentMediaTokens(kind: MediaKind, length: number, start: string): number {
  const bytes = (length / 4) * 3;
  return Math.ceil(bytes / (kind === 'audio' && start.startsWith('UklGR') ? wavBytesPerToken : bytesPerToken[kind]));
}

/** With the type, and escaped slashes as some languages write them. */
const dataUrl = /^data:(image|audio|video|application|text)\\?\/([\w.+-]{1,100})(?:;[\w.=+-]{1,100}){0,4};base64,/i;
const base64 = /^[A-Za-z0-9+/=_\\-]*$/;
const base64Bytes = Uint8Array.from({ length: 256 }, (_, byte) => Number(base64.test(String.fromCharCode(byte))));

/** Bytes in the middle of media that are looked at: a text in words passes for base64 once in 100,000 times. */
export const probes = 64;

/** Whether some random bytes of these all occur in base64, as JSON holds it; of a text in words, every sixth does not. */
export function isBase64(bytes: Buffer, from: number, to: number): boolean {
  const length = to - from;
  if (length <= 0) return true;
  for (let time = 0; time < probes; time += 1) {
    if (base64Bytes[bytes[from + Math.floor(Math.random() * length)] as number] !== 1) return false;
  }
  return true;
}

/**
 * The media in a string with this beginning and end: a data URL of base64, or base64 alone. Undefined for any other
 * string; the kind is undefined where the string does not name it.
 */
export function sentMedia(start: string, end: string): { kind: MediaKind | undefined; data: string } | undefined {
  const [head = '', type = '', subtype = ''] = dataUrl.exec(start) ?? [];
  const data = start.slice(head.length);
  if (!base64.test(data) || !base64.test(end)) return undefined;
  return { kind: head === '' ? sniffed(data) : kindOf(type.toLowerCase(), subtype.toLowerCase()), data };
}

function kindOf(type: string, subtype: string): MediaKind {
  if (type === 'image' || type === 'audio' || type === 'video') return type;
  return subtype === 'pdf' ? 'document' : 'text';
}

/** By the first bytes of PNG, JPEG, GIF and PDF; WAV and WebP begin alike, and MP3 in several ways. */
function sniffed(data: string): MediaKind | undefined {
  if (/^(iVBORw|\\?\/9j\\?\/|R0lGOD)/.test(data)) return 'image';
  if (data.startsWith('JVBER')) return 'document';
  return /^(UklGR|SUQz|T2dnU|ZkxhQ|\\?\/\\?\/[s-v])/.test(data) ? 'audio' : undefined;
}
