// Many tenants at once, at random: no byte of one reaches another, whatever door, stored object, cached answer, failover or broken client.
import { t as suite, test } from 'tap';
import { authKeyBody, authKeyKind } from '../../domain/keys/auth-key.ts';
import { extent, isFull } from '../support/extent.ts';
import { type Behaviour, type Entry, rst, type Step, startFakeUpstream } from '../support/fake-upstream.ts';
import { type GatewayRequest, startGateway, untilIdle } from '../support/gateway.ts';
import { keepThings } from '../support/keeping-provider.ts';
import { sampleKey } from '../support/managed-state.ts';
import { createRandom } from '../support/random.ts';
import { openSealedStore } from '../support/sealed.ts';
import { temporaryDirectory } from '../support/teardown.ts';

suite.setTimeout(600_000);

const requests = extent(20_000, 600);
const atOnce = 24;
const seed = Number(process.env['CROSS_TALK_SEED'] ?? (isFull ? Date.now() % 2 ** 31 : 20_261_128));
const random = createRandom(seed);
const below = (end: number): number => Math.floor(random() * end);
const pick = <Item>(items: readonly Item[]): Item => items[below(items.length)] as Item;

/** Two of them have no path, so both are at the root: what they keep belongs to the key. */
const paths = ['/t/a', '/t/b', '/T/ab', '/t/a-b', undefined, undefined];
const tenants = paths.map((userPath, index) => ({
  index,
  secret: `sk-gw-tenant-${index}`,
  userPath,
  ids: [] as Kept[],
}));
type Tenant = (typeof tenants)[number];
interface Kept {
  readonly kind: 'files' | 'responses';
  readonly id: string;
}

const [first, second, store] = await Promise.all([
  startFakeUpstream({ t: suite, models: ['m'] }),
  startFakeUpstream({ t: suite, models: ['m'] }),
  startFakeUpstream({ t: suite }),
]);
await keepThings(store, 'x');

/** Every answer has a number of its own and repeats what was asked; some fail before it, some in the middle. */
const answerOf =
  (name: string) =>
  (entry: Entry): Behaviour => {
    const fate = (entry.id * 7 + name.length) % 23;
    if (fate === 1) return { kind: 'reset' };
    if (fate === 2) return { kind: 'error', status: 500 };
    if (fate === 3) return { kind: 'error', status: 429, retryAfter: '0' };
    const asked = entry.json() as { messages?: unknown; stream?: boolean } | undefined;
    const content = `nonce-${name}-${entry.id}. ${JSON.stringify(asked?.messages ?? '')}`;
    if (asked?.stream !== true || fate !== 4) return { kind: 'openai', content };
    const chunk = { id: 'c', choices: [{ index: 0, delta: { content } }] };
    const steps: Step[] = [`data: ${JSON.stringify(chunk)}\n\n`, rst];
    return { kind: 'sse', chunks: steps };
  };
await Promise.all([first.behave(answerOf('first')), second.behave(answerOf('second'))]);

const home = temporaryDirectory(suite, 'cross-talk');
const sealed = openSealedStore({ directory: `${home}/data` });
await sealed.initialise();
const { storeId = null } = await sealed.read();
const keys = tenants.map(({ secret, userPath }) => sampleKey(secret, { userPath, anyUserPath: false }));
const changes = keys.map((key) => ({ kind: authKeyKind, id: key.id, body: authKeyBody(key) }));
await sealed.commit({ storeId, expected: new Map(), changes });
await sealed.close();

const provider = { api_key: `\${TEST_PROVIDER_KEY}`, circuit_breaker: false, learn_limits: false };
const gateway = await startGateway(suite, {
  home,
  config: {
    providers: {
      first: { ...provider, type: 'openai', base_url: first.url, models: ['m'], dialects: ['chat'] },
      second: { ...provider, type: 'openai', base_url: second.url, models: ['m'], dialects: ['chat'] },
      store: { ...provider, type: 'groq', base_url: store.url, models: ['real-small'] },
    },
    aliases: [{ source: 'both', targets: [{ model: 'first/m' }, { model: 'second/m' }], strategy: 'round_robin' }],
    cache: { enabled: true, ttl: '1h' },
  },
});

/** Who has seen an answer's number: a user path, because the cache answers all of one path. */
const seenBy = new Map<string, string>();
const faults: string[] = [];
const counts = { answered: 0, refused: 0, left: 0, hits: 0, foreign: 0, own: 0 };

function check(tenant: Tenant, where: string, text: string): void {
  for (const [, owner] of text.matchAll(/canary-(\d+)/g))
    if (Number(owner) !== tenant.index) faults.push(`${where}: ${tenant.index} has read words of ${owner}`);
  for (const [nonce] of text.matchAll(/nonce-\w+-\d+/g)) {
    const { userPath = '/' } = tenant;
    const owner = seenBy.get(nonce) ?? userPath;
    seenBy.set(nonce, owner);
    if (owner !== userPath) faults.push(`${where}: ${tenant.index} has read ${nonce} of ${owner}`);
  }
}

/** Status and text; undefined: this client has left in the middle. */
async function ask(tenant: Tenant, path: string, init: GatewayRequest, mayLeave: boolean) {
  const leaving = mayLeave && below(8) === 0 ? new AbortController() : undefined;
  const headers = { authorization: `Bearer ${tenant.secret}`, ...init.headers };
  const signal = leaving === undefined ? {} : { signal: leaving.signal };
  try {
    const answer = await gateway.fetch(path, { ...init, ...signal, headers });
    leaving?.abort();
    const text = await answer.text();
    check(tenant, `${init.method ?? 'GET'} ${path}`, text);
    if (answer.headers.get('x-gateway-cache') === 'hit') counts.hits += 1;
    counts[answer.status < 400 ? 'answered' : 'refused'] += 1;
    return { status: answer.status, text };
  } catch {
    counts.left += 1;
    return undefined;
  }
}

const post = (body: string | object, headers: Record<string, string> = {}): GatewayRequest => ({
  method: 'POST',
  body,
  headers,
});
/** A few questions that all tenants ask, so that some are in the cache; the others have the tenant's own words. */
const messagesOf = ({ index }: Tenant) => [
  { role: 'user', content: below(3) === 0 ? `What is ${below(4)}?` : `canary-${index} asks ${below(50)}` },
];

async function chat(tenant: Tenant): Promise<void> {
  const body = {
    model: pick(['both', 'first/m', 'FIRST/m', 'm']),
    messages: messagesOf(tenant),
    stream: below(2) === 0,
  };
  await ask(
    tenant,
    pick(['/v1/chat/completions', '/v1/chat/completions', '/p/first/v1/chat/completions']),
    post(body),
    true,
  );
}

async function respond(tenant: Tenant): Promise<void> {
  const own = tenant.ids.filter(({ kind }) => kind === 'responses').at(-1);
  const more = own === undefined || below(2) === 0 ? {} : { previous_response_id: own.id };
  const input = messagesOf(tenant);
  const answer = await ask(tenant, '/v1/responses', post({ model: 'both', input, ...more }), false);
  if (answer?.status === 200) keep(tenant, 'responses', answer.text);
}

async function upload(tenant: Tenant): Promise<void> {
  const fields = `--B\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n`;
  const file = `--B\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\ncanary-${tenant.index}\r\n--B--\r\n`;
  const path = pick(['/v1/files?provider=store', '/p/store/v1/files']);
  const sent = post(`${fields}${file}`, { 'content-type': 'multipart/form-data; boundary=B' });
  const answer = await ask(tenant, path, sent, false);
  if (answer?.status === 200) keep(tenant, 'files', answer.text);
}

function keep(tenant: Tenant, kind: Kept['kind'], text: string): void {
  const { id } = JSON.parse(text) as { id?: string };
  if (typeof id === 'string') tenant.ids.push({ kind, id });
}

/** Asks for an object of any tenant, at any door; one of another tenant does not exist. */
async function fetchKept(tenant: Tenant): Promise<void> {
  const owner = below(2) === 0 ? tenant : pick(tenants);
  const kept = owner.ids[below(owner.ids.length)];
  if (kept === undefined) return;
  const { kind, id } = kept;
  const doors = kind === 'files' ? ['/v1/files', '/p/store/v1/files', '/p/store/files'] : ['/v1/responses'];
  const actions = kind === 'files' ? ['', '/content'] : ['', '/input_items'];
  const method = owner !== tenant && below(3) === 0 ? 'DELETE' : 'GET';
  const path = `${pick(doors)}/${id}${method === 'DELETE' ? '' : pick(actions)}`;
  const answer = await ask(tenant, path, { method }, false);
  // A store that is busy may say so; nothing else is said of what belongs to others.
  if (answer === undefined || answer.status === 503) return;
  if (owner === tenant) counts.own += answer.status === 200 ? 1 : 0;
  else if (answer.status === 404) counts.foreign += 1;
  else faults.push(`${method} ${path}: ${tenant.index} got ${answer.status} for an object of ${owner.index}`);
}

async function continueForeign(tenant: Tenant): Promise<void> {
  const owner = pick(tenants);
  const kept = owner.ids.find(({ kind }) => kind === 'responses');
  if (kept === undefined || owner === tenant) return;
  const answer = await ask(
    tenant,
    '/v1/responses',
    post({ model: 'both', input: 'go on', previous_response_id: kept.id }),
    false,
  );
  counts.foreign += 1;
  if (answer?.status === 200) faults.push(`${tenant.index} has continued a response of ${owner.index}`);
}

async function list(tenant: Tenant): Promise<void> {
  await ask(tenant, pick(['/v1/files?limit=100', '/p/store/v1/files?limit=100', '/v1/usage', '/v1/models']), {}, false);
}

const steps = [chat, chat, chat, respond, upload, fetchKept, fetchKept, continueForeign, list];

await test(`${requests} requests of ${tenants.length} tenants (CROSS_TALK_SEED=${seed} repeats them)`, async (t) => {
  let left = requests;
  const client = async (): Promise<void> => {
    for (; left > 0; left -= 1) await pick(steps)(pick(tenants));
  };
  await Promise.all(Array.from({ length: atOnce }, client));
  await untilIdle(gateway);
  t.comment(JSON.stringify(counts));
  t.same([...new Set(faults)].slice(0, 20), []);
  for (const [what, count] of Object.entries(counts)) t.ok(count > requests / 200, `${what}: ${count}`);
});
