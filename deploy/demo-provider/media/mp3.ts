// The MP3 files of the demo provider (ISO/IEC 13818-3, layer III, 24 kHz, one channel): each frame holds one line of the spectrum.
import { frameSamples, type Heard, type Note, sampleRate } from './sound.ts';

/** 8 kbit/s: 24 bytes for 24 ms. */
const frameBytes = 24;
/** Sync, MPEG-2 layer III without checksum; 8 kbit/s at 24 kHz; one channel. */
const frameHead = '11111111111100110001010011000100';
/** The gain of the one line, a factor of 2 ^ ((gain - 210) / 4). */
const gain = 203;
/** The Huffman table 1: codes of the pairs (0,0), (0,1) and (1,0); a sign follows each 1. */
const codes = { none: '1', second: '001', first: '01' } as const;
/** Bit rates by their index, in kbit/s: of MPEG-1, and of MPEG-2 and 2.5. */
const bitRates = {
  one: [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  two: [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
} as const;
/** The bytes before the words in the tag: UTF-8, and a name. */
const wordsHead = Buffer.from('\u0003demo-words\0');

/** A melody as an MP3 file, in pieces: a tag with the words, and a piece for each note. */
export function* mp3Of(notes: readonly Note[], words: string): Generator<Buffer> {
  yield tagOf(words);
  for (const note of notes)
    yield Buffer.concat(Array.from({ length: note.frames }, (_, index) => frameOf(note, index)));
}

/** Reads an MP3 file of constant bit rate; undefined: it is none. */
export function readMp3(bytes: Buffer): Heard | undefined {
  const isTagged = bytes.toString('latin1', 0, 3) === 'ID3' && bytes.length >= 10;
  const start = isTagged ? 10 + readSynchsafe(bytes, 6) : 0;
  const [first = 0, second = 0, third = 0] = bytes.subarray(start, start + 3);
  // Eleven bits of sync, layer III.
  if (first !== 0xff || (second & 0xe6) !== 0xe2) return undefined;
  const kilobits = bitRates[(second & 0x18) === 0x18 ? 'one' : 'two'][third >> 4] ?? 0;
  if (kilobits === 0) return undefined;
  return { seconds: ((bytes.length - start) * 8) / (kilobits * 1000), words: wordsIn(bytes.subarray(10, start)) };
}

/** A frame of a note. The sign of its line changes with every other frame, as it does in the spectrum of a steady tone. */
function frameOf({ hertz }: Note, index: number): Buffer {
  const line = Math.round((hertz * 2 * frameSamples) / sampleRate - 0.5);
  const sign = (index & 2) === 0 ? '0' : '1';
  const data = codes.none.repeat(line >> 1) + (line % 2 === 0 ? codes.first : codes.second) + sign;
  const pairs = (line >> 1) + 1;
  const table = bits(1, 5);
  const side = [
    bits(0, 9), // the data begins in this frame; a private bit
    bits(data.length, 12),
    bits(pairs, 9),
    bits(gain, 8),
    bits(0, 10), // no scale factors, a long window
    table + table + table,
    bits(0, 9), // regions, which share a table; scale of factors; table of small values
  ];
  return packed(frameHead + side.join('') + data, frameBytes);
}

function bits(value: number, length: number): string {
  return value.toString(2).padStart(length, '0');
}

/** Bits as bytes, filled up with zeros. */
function packed(text: string, length: number): Buffer {
  const bytes = text.padEnd(length * 8, '0').match(/.{8}/g) ?? [];
  return Buffer.from(bytes.map((byte) => Number.parseInt(byte, 2)));
}

/** ID3v2.4 with one text of the user (TXXX) in UTF-8. */
function tagOf(words: string): Buffer {
  const text = Buffer.concat([wordsHead, Buffer.from(words)]);
  const frame = Buffer.concat([Buffer.from('TXXX'), synchsafe(text.length), Buffer.alloc(2), text]);
  return Buffer.concat([Buffer.from('ID3\u0004\0\0'), synchsafe(frame.length), frame]);
}

/** The content of the frame TXXX with our name, in the body of a tag. */
function wordsIn(tag: Buffer): string | undefined {
  let at = 0;
  while (at + 10 <= tag.length) {
    const body = tag.subarray(at + 10, at + 10 + readSynchsafe(tag, at + 4));
    const isOurs =
      tag.toString('latin1', at, at + 4) === 'TXXX' && body.subarray(0, wordsHead.length).equals(wordsHead);
    if (isOurs) return body.toString('utf8', wordsHead.length);
    at += 10 + body.length;
  }
  return undefined;
}

/** Seven bits of a number in each of four bytes. */
function synchsafe(value: number): Buffer {
  return Buffer.from([21, 14, 7, 0].map((shift) => (value >> shift) & 0x7f));
}

function readSynchsafe(bytes: Buffer, at: number): number {
  return bytes.subarray(at, at + 4).reduce((sum, byte) => sum * 128 + (byte & 0x7f), 0);
}
