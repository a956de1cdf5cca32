// A provider that keeps files and batches, in the formats of OpenAI and of Anthropic, as a behaviour of the fake upstream: each belongs to
// the API key that made it.
import type { Behaviour, Entry, FakeUpstream } from './fake-upstream.ts';

export interface KeptFile {
  readonly owner: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
  readonly content: Buffer;
}

export interface KeepingProvider {
  readonly files: Map<string, KeptFile>;
  readonly batches: Map<string, KeptFile>;
}

/** `prefix`: of its ids. */
export async function keepThings(
  upstream: FakeUpstream,
  prefix: string,
  kept: KeepingProvider = { files: new Map(), batches: new Map() },
): Promise<KeepingProvider> {
  await upstream.behave((entry) => answer(entry, kept, prefix));
  return kept;
}

const json = (body: object): Behaviour => ({ kind: 'json', body });
/** By each batch. */
const used = { input_tokens: 1_000, output_tokens: 100 };
const missing: Behaviour = { kind: 'error', status: 404, message: 'No such object' };

function answer(entry: Entry, { files, batches }: KeepingProvider, prefix: string): Behaviour {
  const path = entry.path.replace(/^\/v1\//, '');
  const owner = entry.header('authorization') ?? entry.header('x-api-key');
  const [top = '', id = '', action = ''] = path.replace('messages/', 'messages_').split('/');
  const isFiles = top === 'files';
  const things = isFiles ? files : batches;
  if (id === '' && entry.method === 'GET') return listOf(things, entry.target);
  if (id === '') return isFiles ? keepFile(entry, files, owner, prefix) : keepBatch(entry, batches, owner, prefix);
  const found = things.get(id);
  if (found === undefined || found.owner !== owner) return missing;
  if (entry.method === 'DELETE') {
    things.delete(id);
    return json({ id, object: 'file', type: 'message_batch_deleted', deleted: true });
  }
  if (action === 'content')
    return { kind: 'json', body: found.content, headers: [['content-type', 'application/octet-stream']] };
  if (action === 'results')
    return { kind: 'json', body: found.content, headers: [['content-type', 'application/x-jsonl']] };
  if (action === 'cancel') return json({ ...found.body, status: 'cancelling', processing_status: 'canceling' });
  return json(found.body);
}

function listOf(things: ReadonlyMap<string, KeptFile>, target: string): Behaviour {
  const query = new URLSearchParams(target.split('?')[1]);
  const all = [...things.values()].map(({ body }) => body).toReversed();
  const after = query.get('after') ?? query.get('after_id');
  const from = after === null ? 0 : all.findIndex(({ id }) => id === after) + 1;
  const data = all.slice(from, from + Number(query.get('limit') ?? 20));
  return json({ object: 'list', data, has_more: from + data.length < all.length });
}

function keepFile(entry: Entry, files: Map<string, KeptFile>, owner: string | undefined, prefix: string): Behaviour {
  const text = entry.body.toString('latin1');
  const content = /name="file".*?\r\n\r\n(.*?)\r\n------/s.exec(text)?.[1] ?? '';
  const purpose = /name="purpose"\r\n\r\n([^\r]*)/.exec(text)?.[1] ?? '';
  const id = `file-${prefix}${entry.id}`;
  const body = { id, object: 'file', bytes: content.length, created_at: 1000 + entry.id, filename: 'f', purpose };
  files.set(id, { owner, body, content: Buffer.from(content, 'latin1') });
  return json(body);
}

function keepBatch(entry: Entry, batches: Map<string, KeptFile>, owner: string | undefined, prefix: string): Behaviour {
  const asked = entry.json() as Record<string, unknown>;
  const isMessages = Array.isArray(asked['requests']);
  const id = `${isMessages ? 'msgbatch' : 'batch'}_${prefix}${entry.id}`;
  const ofMessages = {
    id,
    type: 'message_batch',
    processing_status: 'ended',
    created_at: new Date(1_000_000 + entry.id * 1000).toISOString(),
    results_url: `https://provider.example/v1/messages/batches/${id}/results`,
  };
  const ofFile = {
    id,
    object: 'batch',
    status: 'completed',
    created_at: 1000 + entry.id,
    input_file_id: asked['input_file_id'],
    output_file_id: `file-out${id}`,
    model: 'a-dated-name-of-the-model',
    usage: { ...used, total_tokens: 1_100 },
  };
  const message = { type: 'message', role: 'assistant', content: [], usage: used };
  const lines = ['claude-real-20260101', 'claude-real-20260101', 'claude-other'].map((model, index) =>
    JSON.stringify({ custom_id: `r${index}`, result: { type: 'succeeded', message: { ...message, model } } }),
  );
  batches.set(id, { owner, body: isMessages ? ofMessages : ofFile, content: Buffer.from(`${lines.join('\n')}\n`) });
  return json(isMessages ? ofMessages : ofFile);
}
