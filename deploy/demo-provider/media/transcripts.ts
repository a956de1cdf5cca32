// Transcripts: what the demo model hears in a sound, as JSON, text, subtitles, or events.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { tokenise } from '../answers.ts';
import { type Streamed, sendEvents, sendJson, sendWhole } from '../http.ts';
import { Refusal, requireModel } from '../requests.ts';
import { readMp3 } from './mp3.ts';
import { bytesOf, fieldOf, readForm, requireFiles } from './multipart.ts';
import { readWav } from './sound.ts';

export const transcriptionModel = 'demo-transcribe';

/** The task of a request. `translate`: into English. */
type Task = 'transcribe' | 'translate';
type Transcript = { readonly text: string; readonly seconds: number; readonly language: string };
/** A part of a transcript; times in seconds. */
type Span = { readonly start: number; readonly end: number; readonly text: string };

/** Those of OpenAI. */
const endings = ['flac', 'm4a', 'mp3', 'mp4', 'mpeg', 'mpga', 'oga', 'ogg', 'wav', 'webm'];
const leastSeconds = 0.1;
/** The assumed rate of a sound of another format, 128 kbit/s, in bytes per second. */
const usualRate = 16_000;
/** The tokens that OpenAI's models count per second of sound. */
const tokensPerSecond = 10;

/** Answers a form with a sound. */
export async function transcribe(
  request: IncomingMessage,
  response: ServerResponse,
  task: Task,
  intervalMs: number,
): Promise<void> {
  const form = await readForm(request);
  requireModel(fieldOf(form, 'model'), [transcriptionModel]);
  const [file] = requireFiles(form, 'file');
  const heard = await hear(file);
  const language = task === 'translate' ? 'english' : (fieldOf(form, 'language') ?? 'english');
  const transcript = { ...heard, language };
  if (task === 'transcribe' && fieldOf(form, 'stream') === 'true') {
    return sendEvents(response, eventsOf(transcript), { isNamed: false, end: '' }, intervalMs);
  }
  const hasWords = form.getAll('timestamp_granularities[]').includes('word');
  const format = fieldOf(form, 'response_format') ?? 'json';
  if (format === 'json')
    sendJson(response, 200, { text: heard.text, ...(task === 'transcribe' && { usage: tokensOf(transcript) }) });
  else if (format === 'verbose_json') sendJson(response, 200, { task, ...describe(transcript, hasWords) });
  else sendWhole(response, 'text/plain; charset=utf-8', writeText(transcript, format));
}

/** Says back the words that speech of the demo provider carries with it; of other sounds it says how long they are. */
async function hear(file: File): Promise<Pick<Transcript, 'text' | 'seconds'>> {
  const bytes = await bytesOf(file);
  const { seconds, words } = readWav(bytes) ?? readMp3(bytes) ?? guess(file);
  if (seconds < leastSeconds) {
    const message = `Audio file is too short. Minimum audio length is ${leastSeconds} seconds.`;
    throw new Refusal(400, message, 'file', 'audio_too_short');
  }
  return { seconds, text: words ?? `This is a sound of ${seconds.toFixed(1)} seconds, named “${file.name}”.` };
}

function guess(file: File): { seconds: number; words: undefined } {
  const ending = file.name.split('.').at(-1)?.toLowerCase() ?? '';
  if (endings.includes(ending)) return { seconds: file.size / usualRate, words: undefined };
  const known = endings.map((name) => `'${name}'`).join(', ');
  throw new Refusal(400, `Invalid file format. Supported formats: [${known}]`, 'file', 'invalid_value');
}

function* eventsOf(transcript: Transcript): Generator<Streamed> {
  for (const delta of tokenise(transcript.text))
    yield { data: { type: 'transcript.text.delta', delta }, isToken: true };
  yield { data: { type: 'transcript.text.done', text: transcript.text, usage: tokensOf(transcript) } };
}

function tokensOf({ text, seconds }: Transcript): object {
  const input = Math.ceil(seconds * tokensPerSecond);
  const output = tokenise(text).length;
  return {
    type: 'tokens',
    input_tokens: input,
    input_token_details: { text_tokens: 0, audio_tokens: input },
    output_tokens: output,
    total_tokens: input + output,
  };
}

function describe(transcript: Transcript, hasWords: boolean): object {
  const { text, seconds, language } = transcript;
  const segments = sentencesOf(transcript).map((span, id) => ({
    id,
    seek: 0,
    ...span,
    tokens: tokenise(span.text).map((_, index) => index),
    temperature: 0,
    avg_logprob: -0.1,
    compression_ratio: 1,
    no_speech_prob: 0.01,
  }));
  const words = spread(text.match(/\S+/g) ?? [], seconds).map(({ text: word, start, end }) => ({ word, start, end }));
  return {
    language,
    duration: seconds,
    text,
    segments,
    ...(hasWords && { words }),
    usage: { type: 'duration', seconds: Math.ceil(seconds) },
  };
}

function writeText(transcript: Transcript, format: string): string {
  if (format === 'text') return `${transcript.text}\n`;
  const spans = sentencesOf(transcript);
  const line = ({ start, end, text }: Span, comma: string): string =>
    `${timeOf(start, comma)} --> ${timeOf(end, comma)}\n${text}\n\n`;
  if (format === 'srt') return spans.map((span, index) => `${index + 1}\n${line(span, ',')}`).join('');
  if (format === 'vtt') return `WEBVTT\n\n${spans.map((span) => line(span, '.')).join('')}`;
  const message = `Invalid value: '${format}'. Supported values are: 'json', 'text', 'srt', 'verbose_json', and 'vtt'.`;
  throw new Refusal(400, message, 'response_format', 'invalid_value');
}

/** `00:00:01,500` */
function timeOf(seconds: number, comma: string): string {
  const whole = Math.round(seconds * 1000);
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  const thousandths = String(whole % 1000).padStart(3, '0');
  return `${two(whole / 3_600_000)}:${two((whole / 60_000) % 60)}:${two((whole / 1000) % 60)}${comma}${thousandths}`;
}

function sentencesOf({ text, seconds }: Transcript): Span[] {
  return spread(text.match(/\S.*?(?:[.!?…]+”?(?=\s|$)|$)/gs) ?? [], seconds);
}

/** Gives each of the texts a share of the time, by its length. */
function spread(texts: readonly string[], seconds: number): Span[] {
  const characters = texts.reduce((sum, { length }) => sum + length, 0);
  let passed = 0;
  return texts.map((text) => {
    const start = (passed / characters) * seconds;
    passed += text.length;
    return { start: round(start), end: round((passed / characters) * seconds), text };
  });
}

function round(seconds: number): number {
  return Math.round(seconds * 1000) / 1000;
}
