// Pictures: made from words, edited, or varied; as base64, as a data URL, or as events.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { digest, tokenise } from '../answers.ts';
import { created, type Streamed, sendEvents, sendJson } from '../http.ts';
import { type Body, Refusal, requireModel } from '../requests.ts';
import { measure } from './media.ts';
import { bytesOf, readForm, requireField, requireFiles } from './multipart.ts';
import { drawPng, type PictureSize } from './png.ts';

export const imageModel = 'demo-image';

/** The pictures to draw. `seed` decides their content; `given`: the number of pictures in the request. */
type Order = {
  readonly kind: 'image_generation' | 'image_edit';
  readonly seed: string;
  readonly prompt: string;
  readonly given: number;
};
/** How it is to be drawn. */
type Settings = {
  readonly count: number;
  readonly size: PictureSize;
  readonly isUrl: boolean;
  readonly quality: string;
  readonly background: string;
  readonly format: string;
};

const mostPictures = 10;
const [leastPixels, mostPixels] = [16, 2048];
const mostPartial = 3;
/** The tokens of a picture of the answer, and of one of the request. */
const [drawnTokens, givenTokens] = [272, 85];
const longestPrompt = 32_000;

/** Answers `POST /images/generations`. */
export async function generateImages(body: Body, response: ServerResponse, intervalMs: number): Promise<void> {
  requireModel(body['model'], [imageModel]);
  const prompt = readPrompt(body['prompt']);
  await draw({ kind: 'image_generation', seed: prompt, prompt, given: 0 }, body, response, intervalMs);
}

/** Answers `POST /images/edits`. */
export async function editImages(
  request: IncomingMessage,
  response: ServerResponse,
  intervalMs: number,
): Promise<void> {
  const { settings, images, form } = await readPictures(request);
  const prompt = readPrompt(requireField(form, 'prompt'));
  const order = { kind: 'image_edit', seed: `${prompt}\n${images.join('\n')}`, prompt, given: images.length } as const;
  await draw(order, settings, response, intervalMs);
}

/** Answers `POST /images/variations`. */
export async function varyImages(
  request: IncomingMessage,
  response: ServerResponse,
  intervalMs: number,
): Promise<void> {
  const { settings, images } = await readPictures(request);
  const order = { kind: 'image_edit', seed: `vary\n${images.join('\n')}`, prompt: '', given: images.length } as const;
  await draw(order, { ...settings, stream: false }, response, intervalMs);
}

/** The fields of a form as members of a body, and the digests of its pictures. */
async function readPictures(request: IncomingMessage): Promise<{ settings: Body; images: string[]; form: FormData }> {
  const form = await readForm(request);
  const settings = Object.fromEntries([...form].filter(([, value]) => typeof value === 'string'));
  requireModel(settings['model'], [imageModel]);
  const images: string[] = [];
  for (const file of requireFiles(form, 'image')) {
    const bytes = await bytesOf(file);
    if (!isPicture(bytes)) {
      const message = `Invalid image file '${file.name}'. Supported formats are PNG, JPEG and WebP.`;
      throw new Refusal(400, message, 'image', 'invalid_image_file');
    }
    images.push(digest(bytes.toString('base64')));
  }
  return { settings, images, form };
}

function isPicture(bytes: Buffer): boolean {
  const isWebp = bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP';
  return isWebp || measure(bytes) !== undefined;
}

async function draw(order: Order, body: Body, response: ServerResponse, intervalMs: number): Promise<void> {
  const settings = readSettings(body);
  if (isTrue(body['stream'])) {
    const partial = readNumber(body, 'partial_images', 0, [0, mostPartial]);
    const events = eventsOf(order, settings, partial);
    return sendEvents(response, events, { isNamed: true, end: '' }, intervalMs);
  }
  const data = Array.from({ length: settings.count }, (_, index) => {
    const picture = drawPng(`${order.seed}\n${index}`, settings.size).toString('base64');
    return settings.isUrl ? { url: `data:image/png;base64,${picture}` } : { b64_json: picture };
  });
  sendJson(response, 200, { created, ...describe(settings), data, usage: usageOf(order, settings.count) });
}

/** A partial picture is the one that comes, in squares of a quarter of its size. */
function* eventsOf(order: Order, settings: Settings, partial: number): Generator<Streamed> {
  const { width, height } = settings.size;
  const seed = `${order.seed}\n0`;
  const frame = { ...describe(settings), created_at: created };
  for (let index = 0; index < partial; index += 1) {
    const small = { width: Math.ceil(width / 4), height: Math.ceil(height / 4) };
    const b64_json = drawPng(seed, small).toString('base64');
    yield {
      data: { type: `${order.kind}.partial_image`, ...frame, b64_json, partial_image_index: index },
      isToken: true,
    };
  }
  const b64_json = drawPng(seed, settings.size).toString('base64');
  yield { data: { type: `${order.kind}.completed`, ...frame, b64_json, usage: usageOf(order, 1) }, isToken: true };
}

function describe({ size: { width, height }, quality, background, format }: Settings): object {
  return { background, output_format: format, quality, size: `${width}x${height}` };
}

function usageOf({ prompt, given }: Order, count: number): object {
  const [text, image, output] = [tokenise(prompt).length, given * givenTokens, count * drawnTokens];
  return {
    input_tokens: text + image,
    input_tokens_details: { text_tokens: text, image_tokens: image },
    output_tokens: output,
    total_tokens: text + image + output,
  };
}

function readPrompt(prompt: unknown): string {
  if (typeof prompt === 'string' && prompt !== '' && prompt.length <= longestPrompt) return prompt;
  const message = `'prompt' must be a text of 1 to ${longestPrompt} characters.`;
  throw new Refusal(400, message, 'prompt', 'invalid_value');
}

function readSettings(body: Body): Settings {
  return {
    count: readNumber(body, 'n', 1, [1, mostPictures]),
    size: readSize(body['size'] ?? 'auto'),
    isUrl: readWord(body, 'response_format', ['b64_json', 'url']) === 'url',
    quality: readWord(body, 'quality', ['auto', 'low', 'medium', 'high', 'standard', 'hd'], 'medium'),
    background: readWord(body, 'background', ['auto', 'opaque'], 'opaque'),
    format: readWord(body, 'output_format', ['png']),
  };
}

function readSize(size: unknown): PictureSize {
  const [, width, height] = /^(\d{1,4})x(\d{1,4})$/.exec(size === 'auto' ? '1024x1024' : String(size)) ?? [];
  const found = { width: Number(width), height: Number(height) };
  if (Object.values(found).every((side) => side >= leastPixels && side <= mostPixels)) return found;
  const message = `Invalid value: '${String(size)}'. A side of a picture has ${leastPixels} to ${mostPixels} pixels, as in '1024x1024'.`;
  throw new Refusal(400, message, 'size', 'invalid_value');
}

/** One of `known`, the first of which is usual. */
function readWord(body: Body, name: string, known: readonly string[], auto = known[0] ?? ''): string {
  const value = body[name] ?? known[0];
  if (typeof value !== 'string' || !known.includes(value)) {
    const list = known.map((word) => `'${word}'`).join(', ');
    throw new Refusal(400, `Invalid value of '${name}'. Supported values are: ${list}.`, name, 'invalid_value');
  }
  return value === 'auto' ? auto : value;
}

/** A whole number, which is text where it comes from a form. */
function readNumber(body: Body, name: string, usual: number, [least, most]: readonly [number, number]): number {
  const value = Number(body[name] ?? usual);
  if (Number.isInteger(value) && value >= least && value <= most) return value;
  throw new Refusal(400, `'${name}' must be a whole number from ${least} to ${most}.`, name, 'invalid_value');
}

function isTrue(value: unknown): boolean {
  return value === true || value === 'true';
}
