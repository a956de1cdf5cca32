// Batches of messages (Anthropic): every request is answered as the message that it is; the results are JSON lines.
import { randomUUID } from 'node:crypto';
import { calls } from '../calls.ts';
import { Kept, pageOf, type Thing } from '../kept.ts';
import { linesOf, mostRequests, type Result, type Work } from '../openai/batch-queue.ts';
import { type Body, isList, isObject, Refusal } from '../requests.ts';
import { writeMessagesError } from './messages.ts';
import { refuse } from './messages-blocks.ts';

type MessageBatch = Thing & { readonly record: BatchRecord; readonly results: Buffer };
type BatchRecord = { readonly id: string; readonly processing_status: string; readonly [member: string]: unknown };
export type MessageBatches = Kept<MessageBatch>;
type Request = { readonly customId: string; readonly params: Body };
/** The parts of batches. `address`: the address of results, without the id. */
type MessageBatchParts = {
  readonly batches: MessageBatches;
  readonly add: (work: Work) => void;
  readonly address: string;
};

const nothing: Buffer = Buffer.alloc(0);
const dayMs = 24 * 60 * 60 * 1000;
const pageStyle = { after: 'after_id', usual: 20, most: 1000 } as const;

/** At most 100 batches, and 64 MiB of results. */
export function openMessageBatches(): MessageBatches {
  return new Kept({ things: 100, bytes: 64 * 1024 * 1024 });
}

/** Begins a batch and gives its record. */
export function createMessageBatch(body: Body, { batches, add, address }: MessageBatchParts): object {
  const requests = readRequests(body['requests']);
  const id = `msgbatch_${randomUUID().replaceAll('-', '').slice(0, 24)}`;
  const now = Date.now();
  const record = {
    id,
    type: 'message_batch',
    processing_status: 'in_progress',
    request_counts: countsOf([], requests.length),
    ended_at: null,
    created_at: new Date(now).toISOString(),
    expires_at: new Date(now + dayMs).toISOString(),
    archived_at: null,
    cancel_initiated_at: null,
    results_url: null,
  };
  add(workOf(id, requests, batches, `${address}/${id}/results`));
  return batches.keep({ id, record, results: nothing, bytes: 0 }).record;
}

/** The batch with an id; refuses (404) an unknown one. */
export function requireMessageBatch(batches: MessageBatches, id: string): MessageBatch {
  const batch = batches.find(id);
  if (batch) return batch;
  throw new Refusal(404, `Batch with id '${id}' not found.`);
}

export function listMessageBatches(batches: MessageBatches, query: URLSearchParams): object {
  return pageOf(batches.newestFirst(), query, pageStyle);
}

/** Stops a batch; what has no answer by then gets none. */
export function cancelMessageBatch(batches: MessageBatches, id: string): object {
  const { record } = requireMessageBatch(batches, id);
  if (record.processing_status === 'in_progress') {
    change(batches, id, { processing_status: 'canceling', cancel_initiated_at: new Date().toISOString() });
  }
  return requireMessageBatch(batches, id).record;
}

/** The results as JSON lines; refuses (400) while there are none. */
export function resultsOf(batches: MessageBatches, id: string): Buffer {
  const { record, results } = requireMessageBatch(batches, id);
  if (record.processing_status === 'ended') return results;
  throw new Refusal(400, `Batch '${id}' has no results yet: it is still being processed.`);
}

export function deleteMessageBatch(batches: MessageBatches, id: string): object {
  resultsOf(batches, id);
  batches.forget(id);
  return { id, type: 'message_batch_deleted' };
}

function workOf(id: string, requests: readonly Request[], batches: MessageBatches, address: string): Work {
  return {
    begin: () => requests.length,
    isWanted: () => batches.find(id)?.record.processing_status === 'in_progress',
    answer: (index, hasRoom) => answerRequest(requests[index], hasRoom),
    progressed: (results) => change(batches, id, { request_counts: countsOf(results, requests.length) }),
    ended: (results) => {
      const canceled = requests.slice(results.length).map(({ customId }) => ({
        isGood: false,
        line: { custom_id: customId, result: { type: 'canceled' } },
      }));
      const counts = { ...countsOf(results, requests.length), processing: 0, canceled: canceled.length };
      const end = { processing_status: 'ended', ended_at: new Date().toISOString(), results_url: address };
      change(batches, id, { request_counts: counts, ...end }, linesOf([...results, ...canceled]));
    },
  };
}

function answerRequest(request: Request | undefined, hasRoom: boolean): Result {
  const { customId, params } = request ?? { customId: '', params: {} };
  try {
    if (!hasRoom) throw new Refusal(400, 'The results of this batch are too long.');
    const message = calls['/messages']?.(params);
    return { isGood: true, line: { custom_id: customId, result: { type: 'succeeded', message } } };
  } catch (error) {
    const refusal = error instanceof Refusal ? error : new Refusal(500, 'The demo provider failed to answer.');
    const said = writeMessagesError(refusal, `req_${randomUUID().replaceAll('-', '')}`);
    return { isGood: false, line: { custom_id: customId, result: { type: 'errored', error: said } } };
  }
}

function readRequests(requests: unknown): Request[] {
  if (!isList(requests)) throw refuse('requests', requests === undefined ? 'Field required' : 'Input should be a list');
  if (requests.length === 0) throw refuse('requests', 'List should have at least 1 item');
  if (requests.length > mostRequests) throw refuse('requests', `The demo provider takes at most ${mostRequests}`);
  const known = new Set<string>();
  return requests.map((request, index) => {
    const path = `requests.${index}`;
    const { custom_id: customId, params } = isObject(request) ? request : {};
    if (typeof customId !== 'string' || !/^[a-zA-Z0-9_-]{1,64}$/.test(customId)) {
      throw refuse(`${path}.custom_id`, "String should match pattern '^[a-zA-Z0-9_-]{1,64}$'");
    }
    if (known.has(customId)) throw refuse(`${path}.custom_id`, `'${customId}' must be unique in the batch`);
    known.add(customId);
    if (!isObject(params)) throw refuse(`${path}.params`, 'Input should be a valid dictionary');
    return { customId, params };
  });
}

function countsOf(results: readonly Result[], total: number): object {
  const succeeded = results.filter(({ isGood }) => isGood).length;
  const errored = results.length - succeeded;
  return { processing: total - results.length, succeeded, errored, canceled: 0, expired: 0 };
}

/** A batch that is forgotten stays so. */
function change(batches: MessageBatches, id: string, changes: Partial<BatchRecord>, results: Buffer = nothing): void {
  const batch = batches.find(id);
  if (batch) batches.keep({ ...batch, record: { ...batch.record, ...changes }, results, bytes: results.length });
}
