// The sound of the demo provider: a note for each token of a text, as samples of 16 bits, and the WAV file around them.
import { digest, tokenise } from '../answers.ts';

/** As OpenAI's models of speech have it. Samples per second, one channel. */
export const sampleRate = 24_000;
/** Samples of a frame, which is the step of time: that of MP3 at this rate (24 ms). */
export const frameSamples = 576;
export const frameSeconds = frameSamples / sampleRate;

/** A tone; `frames` says how long it is. */
export type Note = { readonly hertz: number; readonly frames: number };

/** The facts of a sound file. `words`: those that the demo model spoke into it. */
export type Heard = { readonly seconds: number; readonly words: string | undefined };

const bytesPerSample = 2;
const mostNotes = 100;
/** Of a note at the speed 1. */
const usualFrames = 5;
/** A pentatonic scale, in semitones. */
const scale = [0, 2, 4, 7, 9, 12] as const;
/** Of 1. */
const loudness = 0.3;
/** At both ends of a note, so that it does not click. Samples. */
const fadeSamples = 240;
/** The chunk of a WAV file that holds the words; players skip chunks that they do not know. */
const wordsChunk = 'demo';

/** The melody of a text: a note for each of its first 100 tokens; the voice says how high it is, the speed (1: usual) how fast. */
export function notesOf(text: string, voice: string, speed: number): Note[] {
  const lowest = 220 * 2 ** (numberOf(voice, 12) / 12);
  const frames = Math.max(1, Math.round(usualFrames / speed));
  return tokenise(text)
    .slice(0, mostNotes)
    .map((token) => ({ hertz: lowest * 2 ** ((scale[numberOf(token, scale.length)] ?? 0) / 12), frames }));
}

/** The length of a melody. Seconds. */
export function secondsOf(notes: readonly Note[]): number {
  return notes.reduce((sum, { frames }) => sum + frames * frameSeconds, 0);
}

/** A note as samples (signed, little-endian). */
export function samplesOf({ hertz, frames }: Note): Buffer {
  const count = frames * frameSamples;
  const samples = Buffer.alloc(count * bytesPerSample);
  for (let index = 0; index < count; index += 1) {
    const fade = Math.min(1, index / fadeSamples, (count - index) / fadeSamples);
    const value = Math.sin((2 * Math.PI * hertz * index) / sampleRate);
    samples.writeInt16LE(Math.round(value * fade * loudness * 0x7fff), index * bytesPerSample);
  }
  return samples;
}

/** A melody as a WAV file, in pieces: the head of 44 bytes, a piece for each note, and a chunk with the words. */
export function* wavOf(notes: readonly Note[], words: string): Generator<Buffer> {
  const dataBytes = Math.round(secondsOf(notes) * sampleRate) * bytesPerSample;
  const tail = chunk(wordsChunk, Buffer.from(words));
  const format = Buffer.alloc(16);
  format.writeUInt16LE(1, 0); // PCM
  format.writeUInt16LE(1, 2); // channels
  format.writeUInt32LE(sampleRate, 4);
  format.writeUInt32LE(sampleRate * bytesPerSample, 8);
  format.writeUInt16LE(bytesPerSample, 12);
  format.writeUInt16LE(bytesPerSample * 8, 14);
  const inside = Buffer.concat([Buffer.from('WAVE'), chunk('fmt ', format), chunkHead('data', dataBytes)]);
  yield Buffer.concat([chunkHead('RIFF', inside.length + dataBytes + tail.length), inside]);
  for (const note of notes) yield samplesOf(note);
  yield tail;
}

/** Reads a WAV file; undefined: it is none. */
export function readWav(bytes: Buffer): Heard | undefined {
  if (bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WAVE') return undefined;
  let bytesPerSecond = sampleRate * bytesPerSample;
  let seconds = 0;
  let words: string | undefined;
  let at = 12;
  while (at + 8 <= bytes.length) {
    const name = bytes.toString('latin1', at, at + 4);
    const body = bytes.subarray(at + 8, at + 8 + bytes.readUInt32LE(at + 4));
    if (name === 'fmt ' && body.length >= 16) bytesPerSecond = body.readUInt32LE(8) || bytesPerSecond;
    if (name === 'data') seconds = body.length / bytesPerSecond;
    if (name === wordsChunk) words = body.toString();
    at += 8 + body.length + (body.length % 2);
  }
  return { seconds, words };
}

/** A chunk has an even length; the byte that fills it up does not count. */
function chunk(name: string, body: Buffer): Buffer {
  return Buffer.concat([chunkHead(name, body.length), body, Buffer.alloc(body.length % 2)]);
}

function chunkHead(name: string, length: number): Buffer {
  const head = Buffer.alloc(8);
  head.write(name, 'latin1');
  head.writeUInt32LE(length, 4);
  return head;
}

/** A number below `most` that depends on the text alone. */
function numberOf(text: string, most: number): number {
  return Number.parseInt(digest(text).slice(0, 8), 16) % most;
}
