// Files: uploaded, listed, read back, deleted. Batches read and write them too.
import { randomUUID } from 'node:crypto';
import { nowSeconds } from '../http.ts';
import { Kept, pageOf, type Thing } from '../kept.ts';
import { bytesOf, requireField, requireFiles } from '../media/multipart.ts';
import { Refusal } from '../requests.ts';

export type KeptFile = Thing & { readonly name: string; readonly purpose: string; readonly content: Buffer };
export type Files = Kept<KeptFile>;
type NewFile = Pick<KeptFile, 'name' | 'purpose' | 'content'>;

const bounds = { things: 1000, bytes: 64 * 1024 * 1024 };
const purposes = ['assistants', 'batch', 'fine-tune', 'vision', 'user_data', 'evals'];
/** OpenAI's page of files. */
const pageStyle = { after: 'after', usual: 10_000, most: 10_000 } as const;

/** At most 1000 files of 64 MiB together. */
export function openFiles(): Files {
  return new Kept(bounds);
}

/** Keeps the file of a form and gives its record. */
export async function uploadFile(files: Files, form: FormData): Promise<object> {
  const purpose = requireField(form, 'purpose');
  if (!purposes.includes(purpose)) {
    const known = purposes.map((name) => `'${name}'`).join(', ');
    throw new Refusal(400, `'${purpose}' is not one of [${known}] - 'purpose'`, 'purpose');
  }
  const [file] = requireFiles(form, 'file');
  if (purpose === 'batch' && !file.name.endsWith('.jsonl')) {
    throw new Refusal(400, 'Invalid file format for Batch API. Must be .jsonl', 'file');
  }
  return addFile(files, { name: file.name, purpose, content: await bytesOf(file) }).record;
}

/** Keeps a file under a new id. */
export function addFile(files: Files, { name, purpose, content }: NewFile): KeptFile {
  const id = `file-${randomUUID().replaceAll('-', '').slice(0, 24)}`;
  const record = {
    id,
    object: 'file',
    bytes: content.length,
    created_at: nowSeconds(),
    expires_at: null,
    filename: name,
    purpose,
    status: 'processed',
    status_details: null,
  };
  return files.keep({ id, name, purpose, content, record, bytes: content.length + name.length });
}

/** The file with an id; refuses (404) an unknown one. */
export function requireFile(files: Files, id: string): KeptFile {
  const file = files.find(id);
  if (file) return file;
  throw new Refusal(404, `No such File object: ${id}`, 'id');
}

/** A page of the files of a purpose, or of all. */
export function listFiles(files: Files, query: URLSearchParams): object {
  const purpose = query.get('purpose');
  const found = files.newestFirst().filter((file) => purpose === null || file.purpose === purpose);
  const ordered = query.get('order') === 'asc' ? found.toReversed() : found;
  return { object: 'list', ...pageOf(ordered, query, pageStyle) };
}

export function deleteFile(files: Files, id: string): object {
  requireFile(files, id);
  files.forget(id);
  return { id, object: 'file', deleted: true };
}
