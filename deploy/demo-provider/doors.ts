// The doors of the demo provider for sound, pictures, files and batches: a row each.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { sendJson, sendWhole } from './http.ts';
import { editImages, generateImages, varyImages } from './media/images.ts';
import { readForm } from './media/multipart.ts';
import { speak } from './media/speech.ts';
import { transcribe } from './media/transcripts.ts';
import {
  cancelMessageBatch,
  createMessageBatch,
  deleteMessageBatch,
  listMessageBatches,
  openMessageBatches,
  requireMessageBatch,
  resultsOf,
} from './messages/message-batches.ts';
import { openQueue } from './openai/batch-queue.ts';
import { cancelBatch, createBatch, listBatches, openBatches, requireBatch } from './openai/batches.ts';
import { deleteFile, listFiles, openFiles, requireFile, uploadFile } from './openai/files.ts';
import { Refusal, readBody } from './requests.ts';

/** A request at a door. */
export type DoorRequest = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Below the version, without the query. */
  readonly path: string;
};
/** `id`: the segment of the path that the door has `:id` for. */
type Door = (asked: DoorRequest, id: string) => Promise<void> | void;

/** Opens the doors; gives what serves a request, or false for a path that leads to none. Refuses (405) other methods. */
export function openDoors(intervalMs: number): (asked: DoorRequest) => Promise<boolean> {
  const doors = Object.entries({ ...mediaDoors(intervalMs), ...keepingDoors(intervalMs) }).map(([place, door]) => {
    const [method = '', path = ''] = place.split(' ');
    return { method, pattern: new RegExp(`^${path.replace(':id', '([^/]+)')}$`), door };
  });
  return async (asked) => {
    const { method, url } = asked.request;
    const there = doors.filter(({ pattern }) => pattern.test(asked.path));
    const [first] = there;
    if (first === undefined) return false;
    const open = there.find((each) => each.method === method);
    if (open === undefined) {
      const known = there.map((each) => each.method).join(' or ');
      throw new Refusal(405, `Not allowed to ${method} on ${url}; use ${known}.`, null, 'method_not_allowed');
    }
    await open.door(asked, open.pattern.exec(asked.path)?.[1] ?? '');
    return true;
  };
}

function mediaDoors(intervalMs: number): Record<string, Door> {
  return {
    'POST /audio/speech': async ({ request, response }) => speak(await readBody(request), response, intervalMs),
    'POST /audio/transcriptions': ({ request, response }) => transcribe(request, response, 'transcribe', intervalMs),
    'POST /audio/translations': ({ request, response }) => transcribe(request, response, 'translate', intervalMs),
    'POST /images/generations': async ({ request, response }) =>
      generateImages(await readBody(request), response, intervalMs),
    'POST /images/edits': ({ request, response }) => editImages(request, response, intervalMs),
    'POST /images/variations': ({ request, response }) => varyImages(request, response, intervalMs),
  };
}

function keepingDoors(intervalMs: number): Record<string, Door> {
  const [files, batches, messageBatches] = [openFiles(), openBatches(), openMessageBatches()];
  const add = openQueue(intervalMs);
  const say =
    (record: (asked: DoorRequest, id: string) => Promise<object> | object): Door =>
    async (asked, id) =>
      sendJson(asked.response, 200, await record(asked, id));
  return {
    'POST /files': say(async ({ request }) => uploadFile(files, await readForm(request))),
    'GET /files': say(({ request }) => listFiles(files, queryOf(request))),
    'GET /files/:id': say((_, id) => requireFile(files, id).record),
    'DELETE /files/:id': say((_, id) => deleteFile(files, id)),
    'GET /files/:id/content': ({ response }, id) =>
      sendWhole(response, 'application/octet-stream', requireFile(files, id).content),
    'POST /batches': say(async ({ request }) => createBatch(await readBody(request), { files, batches, add })),
    'GET /batches': say(({ request }) => listBatches(batches, queryOf(request))),
    'GET /batches/:id': say((_, id) => requireBatch(batches, id)),
    'POST /batches/:id/cancel': say((_, id) => cancelBatch(batches, id)),
    'POST /messages/batches': say(async ({ request }) => {
      const address = `http://${request.headers.host ?? ''}/v1/messages/batches`;
      return createMessageBatch(await readBody(request), { batches: messageBatches, add, address });
    }),
    'GET /messages/batches': say(({ request }) => listMessageBatches(messageBatches, queryOf(request))),
    'GET /messages/batches/:id': say((_, id) => requireMessageBatch(messageBatches, id).record),
    'POST /messages/batches/:id/cancel': say((_, id) => cancelMessageBatch(messageBatches, id)),
    'DELETE /messages/batches/:id': say((_, id) => deleteMessageBatch(messageBatches, id)),
    'GET /messages/batches/:id/results': ({ response }, id) =>
      sendWhole(response, 'application/x-jsonl', resultsOf(messageBatches, id)),
  };
}

function queryOf({ url = '' }: IncomingMessage): URLSearchParams {
  return new URLSearchParams(url.split('?')[1]);
}
