// A provider that keeps responses itself, as a behaviour of the fake upstream: each belongs to the API key that made it.
import { randomUUID } from 'node:crypto';
import type { Behaviour, Entry, FakeUpstream } from './fake-upstream.ts';

/** What the provider keeps, by id. */
export interface ProviderResponse {
  readonly owner: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Answers as the Responses API does, streams too; gives what is kept. One in the background stays queued until that is changed. */
export async function keepAtProvider(upstream: FakeUpstream): Promise<Map<string, ProviderResponse>> {
  const kept = new Map<string, ProviderResponse>();
  await upstream.behave((entry) => answer(entry, kept));
  return kept;
}

function answer(entry: Entry, kept: Map<string, ProviderResponse>): Behaviour {
  const owner = entry.header('authorization');
  if (entry.path === '/v1/responses') return create(entry, owner, kept);
  const [id = '', operation = ''] = entry.path.slice('/v1/responses/'.length).split('/');
  const found = kept.get(id);
  if (found?.owner !== owner) return { kind: 'error', status: 404, message: `No response with id '${id}'.` };
  if (entry.method === 'DELETE') {
    kept.delete(id);
    return { kind: 'json', body: { id, object: 'response', deleted: true } };
  }
  if (operation === 'cancel') return { kind: 'json', body: { ...found?.body, status: 'cancelled' } };
  if (operation === 'input_items') {
    const data = [{ id: 'msg_in', type: 'message', role: 'user', content: [{ type: 'input_text', text: 'hi' }] }];
    return { kind: 'json', body: { object: 'list', data, first_id: 'msg_in', last_id: 'msg_in', has_more: false } };
  }
  return { kind: 'json', body: { ...found?.body } };
}

function create(entry: Entry, owner: string | undefined, kept: Map<string, ProviderResponse>): Behaviour {
  const asked = entry.json() as Record<string, unknown>;
  const previous = asked['previous_response_id'];
  if (typeof previous === 'string' && kept.get(previous)?.owner !== owner) {
    return { kind: 'error', status: 400, message: `Previous response with id '${previous}' not found.` };
  }
  const id = `resp_native${entry.id}`;
  const text = { type: 'output_text', text: `answer ${entry.id}`, annotations: [] };
  const message = {
    id: `msg_${randomUUID().replaceAll('-', '')}`,
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [text],
  };
  const body = {
    id,
    object: 'response',
    created_at: 1,
    status: 'completed',
    model: asked['model'],
    output: [message],
    previous_response_id: previous ?? null,
    usage: { input_tokens: 3, output_tokens: 2, total_tokens: 5 },
  };
  if (asked['background'] === true) {
    const begun = { ...body, status: 'queued', output: [], usage: null };
    kept.set(id, { owner, body: begun });
    return { kind: 'json', body: begun };
  }
  if (asked['store'] !== false) kept.set(id, { owner, body });
  if (asked['stream'] !== true) return { kind: 'json', body };
  const event = (type: string, more: object): string =>
    `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
  return {
    kind: 'sse',
    chunks: [
      event('response.created', { sequence_number: 0, response: { ...body, status: 'in_progress', output: [] } }),
      event('response.completed', { sequence_number: 1, response: body }),
    ],
  };
}
