// Reads forms with files, as audio, images and files are sent.
import type { IncomingMessage } from 'node:http';
import { Refusal, readBytes } from '../requests.ts';

/** A form of at most 32 MiB; refuses (400, 413, 415) anything else. */
export async function readForm(request: IncomingMessage): Promise<FormData> {
  const type = request.headers['content-type'] ?? '';
  if (!/^multipart\/form-data\s*;/i.test(type)) {
    throw new Refusal(415, `Unsupported content type '${type}'. This API method only accepts 'multipart/form-data'.`);
  }
  const bytes = await readBytes(request);
  try {
    return await new Response(bytes, { headers: { 'content-type': type } }).formData();
  } catch {
    throw new Refusal(400, 'Could not parse multipart form.');
  }
}

/** The text of a field; undefined: the form has none, or it is empty. */
export function fieldOf(form: FormData, name: string): string | undefined {
  const value = form.get(name);
  return typeof value === 'string' && value !== '' ? value : undefined;
}

/** The text of a field that must be there. */
export function requireField(form: FormData, name: string): string {
  const value = fieldOf(form, name);
  if (value !== undefined) return value;
  throw missing(name);
}

/** The files of the fields `name` and `name[]`; refuses (400) a form without any. */
export function requireFiles(form: FormData, name: string): [File, ...File[]] {
  const [first, ...rest] = [...form.getAll(name), ...form.getAll(`${name}[]`)].filter((value) => value instanceof File);
  if (first === undefined) throw missing(name);
  return [first, ...rest];
}

/** All of a file. */
export async function bytesOf(file: File): Promise<Buffer> {
  return Buffer.from(await file.arrayBuffer());
}

function missing(name: string): Refusal {
  return new Refusal(400, `Missing required parameter: '${name}'.`, name, 'missing_required_parameter');
}
