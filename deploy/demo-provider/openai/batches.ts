// Batches of OpenAI: the lines of a file, each answered as the call that it is; answers and errors go to files of their own.
import { randomUUID } from 'node:crypto';
import { calls } from '../calls.ts';
import { nowSeconds } from '../http.ts';
import { Kept, pageOf, type Thing } from '../kept.ts';
import { type Body, isObject, Refusal } from '../requests.ts';
import { type Line, readLines } from './batch-lines.ts';
import { linesOf, type Result, type Work } from './batch-queue.ts';
import { writeOpenAiError } from './chat.ts';
import { addFile, type Files, type KeptFile, requireFile } from './files.ts';

export type Batches = Kept<Thing & { readonly record: BatchRecord }>;
type BatchRecord = { readonly id: string; readonly status: string; readonly [member: string]: unknown };
/** The parts of batches. */
type BatchParts = { readonly files: Files; readonly batches: Batches; readonly add: (work: Work) => void };

const endpoints = ['/v1/chat/completions', '/v1/responses', '/v1/embeddings', '/v1/moderations'];
const daySeconds = 24 * 60 * 60;
const unfinished: ReadonlySet<unknown> = new Set(['validating', 'in_progress']);
const pageStyle = { after: 'after', usual: 20, most: 100 } as const;

/** At most 100 batches. */
export function openBatches(): Batches {
  return new Kept({ things: 100, bytes: Number.POSITIVE_INFINITY });
}

/** Begins a batch and gives its record. */
export function createBatch(body: Body, parts: BatchParts): object {
  const { endpoint, input_file_id: fileId, completion_window: window, metadata } = body;
  if (typeof fileId !== 'string') throw missing('input_file_id');
  if (typeof endpoint !== 'string' || !endpoints.includes(endpoint)) throw unknown('endpoint', endpoint, endpoints);
  if (window !== '24h') throw unknown('completion_window', window, ['24h']);
  const file = requireFile(parts.files, fileId);
  if (file.purpose !== 'batch') {
    throw new Refusal(400, `The file ${fileId} must have the purpose 'batch'.`, 'input_file_id', 'invalid_value');
  }
  const id = `batch_${randomUUID().replaceAll('-', '')}`;
  const now = nowSeconds();
  const record = {
    id,
    object: 'batch',
    endpoint,
    errors: null,
    input_file_id: fileId,
    completion_window: window,
    status: 'validating',
    output_file_id: null,
    error_file_id: null,
    created_at: now,
    in_progress_at: null,
    expires_at: now + daySeconds,
    finalizing_at: null,
    completed_at: null,
    failed_at: null,
    expired_at: null,
    cancelling_at: null,
    cancelled_at: null,
    request_counts: { total: 0, completed: 0, failed: 0 },
    metadata: readMetadata(metadata),
  };
  parts.add(workOf(id, endpoint, file, parts));
  return parts.batches.keep({ id, record, bytes: 0 }).record;
}

/** The batch with an id; refuses (404) an unknown one. */
export function requireBatch(batches: Batches, id: string): BatchRecord {
  const batch = batches.find(id);
  if (batch) return batch.record;
  throw new Refusal(404, `No batch found with id '${id}'.`, 'batch_id');
}

export function listBatches(batches: Batches, query: URLSearchParams): object {
  return { object: 'list', ...pageOf(batches.newestFirst(), query, pageStyle) };
}

/** Stops a batch: what is answered is kept. */
export function cancelBatch(batches: Batches, id: string): object {
  const { status } = requireBatch(batches, id);
  if (!unfinished.has(status) && status !== 'cancelling') {
    throw new Refusal(409, `Cannot cancel a batch with status '${status}'.`);
  }
  change(batches, id, { status: 'cancelling', cancelling_at: nowSeconds() });
  return requireBatch(batches, id);
}

function workOf(id: string, endpoint: string, file: KeptFile, { files, batches }: BatchParts): Work {
  let lines: readonly Line[] = [];
  const isWanted = (): boolean => unfinished.has(batches.find(id)?.record.status);
  return {
    isWanted,
    begin: () => {
      if (!isWanted()) return 0;
      const read = readLines(file.content, endpoint);
      if ('problems' in read) {
        const errors = { object: 'list', data: read.problems };
        change(batches, id, { status: 'failed', failed_at: nowSeconds(), errors });
        return 0;
      }
      ({ lines } = read);
      change(batches, id, { status: 'in_progress', in_progress_at: nowSeconds(), request_counts: countsOf([], lines) });
      return lines.length;
    },
    answer: (index, hasRoom) => answerLine(lines[index], endpoint, hasRoom),
    progressed: (results) => change(batches, id, { request_counts: countsOf(results, lines) }),
    ended: (results) => {
      const status = batches.find(id)?.record.status;
      if (status !== 'in_progress' && status !== 'cancelling') return;
      const keep = (kind: string, isGood: boolean): string | null => {
        const some = results.filter((result) => result.isGood === isGood);
        if (some.length === 0) return null;
        return addFile(files, { name: `${id}_${kind}.jsonl`, purpose: 'batch_output', content: linesOf(some) }).id;
      };
      const made = { output_file_id: keep('output', true), error_file_id: keep('error', false) };
      const now = nowSeconds();
      const end =
        status === 'cancelling'
          ? { status: 'cancelled', cancelled_at: now }
          : { status: 'completed', finalizing_at: now, completed_at: now };
      change(batches, id, { ...made, ...end });
    },
  };
}

function answerLine(line: Line | undefined, endpoint: string, hasRoom: boolean): Result {
  const { customId, body } = line ?? { customId: '', body: {} };
  const { status, said } = ask(body, endpoint, hasRoom);
  const response = { status_code: status, request_id: randomUUID().replaceAll('-', ''), body: said };
  const id = `batch_req_${randomUUID().replaceAll('-', '')}`;
  return { isGood: status === 200, line: { id, custom_id: customId, response, error: null } };
}

function ask(body: Body, endpoint: string, hasRoom: boolean): { status: number; said: object | undefined } {
  try {
    if (!hasRoom) throw new Refusal(400, 'The results of this batch are too long.');
    return { status: 200, said: calls[endpoint.replace(/^\/v1/, '')]?.(body) };
  } catch (error) {
    const refusal = error instanceof Refusal ? error : new Refusal(500, 'The demo provider failed to answer.');
    return { status: refusal.status, said: writeOpenAiError(refusal) };
  }
}

function countsOf(results: readonly Result[], lines: readonly Line[]): object {
  const completed = results.filter(({ isGood }) => isGood).length;
  return { total: lines.length, completed, failed: results.length - completed };
}

/** At most 16 texts, as OpenAI has it. */
function readMetadata(metadata: unknown): Body | null {
  if (metadata === undefined || metadata === null) return null;
  const pairs = isObject(metadata) ? Object.entries(metadata) : undefined;
  const isShort = ([name, value]: [string, unknown]): boolean =>
    name.length <= 64 && typeof value === 'string' && value.length <= 512;
  if (pairs && pairs.length <= 16 && pairs.every(isShort)) return Object.fromEntries(pairs);
  const message = "'metadata' must be an object of at most 16 texts, of 512 characters each.";
  throw new Refusal(400, message, 'metadata', 'invalid_value');
}

/** A batch that is forgotten stays so. */
function change(batches: Batches, id: string, changes: Partial<BatchRecord>): void {
  const batch = batches.find(id);
  if (batch) batches.keep({ ...batch, record: { ...batch.record, ...changes } });
}

function missing(param: string): Refusal {
  return new Refusal(400, `Missing required parameter: '${param}'.`, param, 'missing_required_parameter');
}

function unknown(param: string, value: unknown, known: readonly string[]): Refusal {
  const list = known.map((name) => `'${name}'`).join(', ');
  return new Refusal(400, `Invalid value: '${String(value)}'. Supported values are: ${list}.`, param, 'invalid_value');
}
