// The voice of the demo model: a tone, as long as it has words.

/** Samples in a second, each of two bytes. */
export const sampleRate = 24_000;
export const sampleBytes = 2;
const pitchHertz = 440;
const tokenMs = 80;
const loudness = 0.2 * 0x7fff;
const samples = (sampleRate * tokenMs) / 1000;

/** The sound of the token with this number, as base64: 80 ms that go on where those of the one before end. */
export function soundOf(token: number): string {
  const bytes = Buffer.alloc(samples * sampleBytes);
  for (let index = 0; index < samples; index += 1) {
    const turns = ((token * samples + index) * pitchHertz) / sampleRate;
    bytes.writeInt16LE(Math.round(loudness * Math.sin(2 * Math.PI * turns)), index * sampleBytes);
  }
  return bytes.toString('base64');
}
