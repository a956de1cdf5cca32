// What GET /v1/models says of a name is what becomes of requests that name it.
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { t as suite, type Test, test } from 'tap';
import { namingEndpoints } from '../../../proxy/endpoints/naming-endpoints.ts';
import { startFakeUpstream } from '../../support/fake-upstream.ts';
import { masterKey } from '../../support/gateway.ts';
import { issueKey } from '../../support/issue-key.ts';
import { shareGateway } from '../../support/shared.ts';

const upstream = await startFakeUpstream({ t: suite });
const provider = { base_url: upstream.url, api_key: `\${TEST_PROVIDER_KEY}`, circuit_breaker: false, models: ['m'] };
const gateway = await shareGateway({
  config: {
    providers: {
      claude: { ...provider, type: 'anthropic' },
      groq: { ...provider, type: 'groq' },
      plain: { ...provider, type: 'openai' },
      ranker: { ...provider, type: 'openai', dialects: ['rerank', 'realtime'], models: ['m', 'r'] },
    },
    aliases: [{ source: 'both', targets: [{ model: 'claude/m' }, { model: 'ranker/m' }] }],
  },
});

interface Listed {
  readonly id: string;
  readonly capabilities: { readonly endpoints: readonly string[] };
}

const text = ['/v1/chat/completions', '/v1/completions', '/v1/responses', '/v1/messages'];
const counting = '/v1/messages/count_tokens';
const realtime = ['/v1/realtime', '/v1/realtime/client_secrets', '/v1/realtime/calls'];

async function endpointsOf(headers: Record<string, string> = {}): Promise<Record<string, readonly string[]>> {
  const { data } = (await (await gateway.fetch('/v1/models', { headers })).json()) as { data: Listed[] };
  return Object.fromEntries(data.map(({ id, capabilities }) => [id, capabilities.endpoints]));
}

await test('a name has the endpoints of its provider, an alias those of any target', async (t) => {
  const listed = await endpointsOf();
  t.strictSame(listed, {
    both: [...text, counting, '/v1/rerank', '/v1/messages/batches', ...realtime],
    'claude/m': [...text, counting, '/v1/messages/batches'],
    'groq/m': [
      ...text,
      counting,
      '/v1/audio/speech',
      '/v1/audio/transcriptions',
      '/v1/audio/translations',
      '/v1/batches',
    ],
    // Whether such a server keeps files and batches is not known.
    'plain/m': [...text, counting, '/v1/embeddings'],
    'ranker/m': [counting, '/v1/rerank', ...realtime],
    'ranker/r': [counting, '/v1/rerank', ...realtime],
  });
});

/** The code of the refusal of a request that says nothing but the model; undefined: a provider or the gateway took it. */
async function refusalAt(path: string, model: string, t: Test): Promise<string | undefined> {
  const isForm = /transcriptions|translations|edits|variations/.test(path);
  const form = `--x\r\ncontent-disposition: form-data; name="model"\r\n\r\n${model}\r\n--x--\r\n`;
  const words = { model, messages: [{ role: 'user', content: 'a' }], prompt: 'a', max_tokens: 9, session: { model } };
  const body = path.endsWith('/batches')
    ? { requests: [{ custom_id: 'a', params: words }] }
    : { ...words, ...(path === text[0] ? {} : { input: 'a' }) };
  const headers = { 'content-type': isForm ? 'multipart/form-data; boundary=x' : 'application/json' };
  const answer = await gateway.fetch(path, { method: 'POST', headers, body: isForm ? form : body });
  const said = (await answer.json()) as { error?: { code: string } };
  const code = said.error?.code ?? '';
  t.notMatch(code, /^(?:invalid|route|unsupported_media)/, path);
  return /^(?:endpoint_not_supported|unsupported_operation|batch_needs_one_provider)$/.test(code) ? code : undefined;
}

await test('a request is refused as one that no provider can be asked exactly where the list and an explanation say so', async (t) => {
  await upstream.behave({ kind: 'json', body: {} });
  const listed = await endpointsOf();
  // The one goes where its file is kept, the other begins with a GET.
  const asked = [...namingEndpoints.keys()].filter((path) => path !== '/v1/batches' && path !== realtime[0]);
  t.equal(asked.length, 19);
  for (const [model, endpoints] of Object.entries(listed)) {
    const codes = await Promise.all(asked.map((path) => refusalAt(path, model, t)));
    t.strictSame(
      asked.filter((_, index) => codes[index] === undefined),
      asked.filter((path) => endpoints.includes(path)),
      model,
    );
    const foreseen = asked.map(async (endpoint) => {
      const told = await gateway.fetch(`/admin/explain?model=${model}&endpoint=${endpoint}`);
      return ((await told.json()) as { refusal?: { code: string } }).refusal?.code;
    });
    t.strictSame(await Promise.all(foreseen), codes, model);
  }
});

await test('a key of some models sees what those can be asked; a bare id and clients of both APIs read their model', async (t) => {
  const secret = await issueKey(t, gateway, { allowedModels: ['ranker/m'] });
  const ranking = [counting, '/v1/rerank', ...realtime];
  t.strictSame(await endpointsOf({ authorization: `Bearer ${secret}` }), { both: ranking, 'ranker/m': ranking });
  const { models } = new OpenAI({ apiKey: masterKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
  t.strictSame(await models.retrieve('r'), {
    id: 'r',
    object: 'model',
    created: 0,
    owned_by: 'ranker',
    capabilities: { endpoints: ranking },
  });
  // There the word means what the model itself can do.
  const anthropic = new Anthropic({ apiKey: masterKey, baseURL: gateway.url, maxRetries: 0 });
  t.notOk('capabilities' in (await anthropic.models.retrieve('r')));
});

await test('each endpoint has a bit', async (t) => {
  t.ok(namingEndpoints.size <= 31, String(namingEndpoints.size));
});
