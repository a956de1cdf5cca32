// Speech: a text as a melody, a note for each token, in pieces at the pace of a model, or as events.
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { tokenise } from '../answers.ts';
import { type Streamed, sendEvents } from '../http.ts';
import { type Body, isObject, optionalText, Refusal, requireModel } from '../requests.ts';
import { mp3Of } from './mp3.ts';
import { type Note, notesOf, samplesOf, secondsOf, wavOf } from './sound.ts';

export const speechModel = 'demo-speech';

type Format = { readonly type: string; readonly pieces: (notes: readonly Note[], words: string) => Iterable<Buffer> };

const formats: Readonly<Record<string, Format>> = {
  mp3: { type: 'audio/mpeg', pieces: mp3Of },
  wav: { type: 'audio/wav', pieces: wavOf },
  pcm: { type: 'audio/pcm', pieces: (notes) => notes.map(samplesOf) },
};
const mostCharacters = 4096;
/** The tokens that OpenAI's models of speech count per second. */
const tokensPerSecond = 20;

/** Answers a request for speech. Refuses (400) formats that the demo model does not write. */
export async function speak(body: Body, response: ServerResponse, intervalMs: number): Promise<void> {
  requireModel(body['model'], [speechModel]);
  const words = readInput(body['input']);
  const { type, pieces } = readFormat(body['response_format'] ?? 'mp3');
  const notes = notesOf(words, readVoice(body['voice']), readSpeed(body['speed'] ?? 1));
  const streamFormat = body['stream_format'] ?? 'audio';
  if (streamFormat === 'sse') {
    const events = eventsOf(pieces(notes, words), words, secondsOf(notes));
    return sendEvents(response, events, { isNamed: false, end: '' }, intervalMs);
  }
  if (streamFormat !== 'audio') {
    throw new Refusal(400, "'stream_format' must be 'sse' or 'audio'.", 'stream_format', 'invalid_value');
  }
  response.writeHead(200, { 'content-type': type });
  for (const piece of pieces(notes, words)) {
    if (intervalMs > 0) await sleep(intervalMs);
    if (response.destroyed) return;
    response.write(piece);
  }
  response.end();
}

function* eventsOf(pieces: Iterable<Buffer>, words: string, seconds: number): Generator<Streamed> {
  for (const piece of pieces) {
    yield { data: { type: 'speech.audio.delta', audio: piece.toString('base64') }, isToken: true };
  }
  const input = tokenise(words).length;
  const output = Math.ceil(seconds * tokensPerSecond);
  const usage = { input_tokens: input, output_tokens: output, total_tokens: input + output };
  yield { data: { type: 'speech.audio.done', usage } };
}

function readInput(input: unknown): string {
  if (typeof input !== 'string' || input === '') {
    throw new Refusal(400, "'input' must be a text that is not empty.", 'input', 'invalid_value');
  }
  if (input.length > mostCharacters) {
    throw new Refusal(
      400,
      `'input' must have at most ${mostCharacters} characters.`,
      'input',
      'string_above_max_length',
    );
  }
  return input;
}

function readFormat(name: unknown): Format {
  const format = typeof name === 'string' && Object.hasOwn(formats, name) ? formats[name] : undefined;
  if (format) return format;
  const known = Object.keys(formats).join(', ');
  throw new Refusal(400, `The demo model speaks ${known}; not '${String(name)}'.`, 'response_format', 'invalid_value');
}

function readVoice(voice: unknown): string {
  const name = isObject(voice) ? optionalText(voice['id']) : optionalText(voice);
  if (name !== undefined && name !== '') return name;
  throw new Refusal(400, "Missing required parameter: 'voice'.", 'voice', 'missing_required_parameter');
}

function readSpeed(speed: unknown): number {
  if (typeof speed === 'number' && speed >= 0.25 && speed <= 4) return speed;
  throw new Refusal(400, "'speed' must be a number from 0.25 to 4.", 'speed', 'invalid_value');
}
