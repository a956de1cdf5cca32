// Stored objects of providers belong to the caller that made them: the table of families, at /p, by paths, queries, bodies and forms.
import { gzipSync } from 'node:zlib';
import { t as suite, test } from 'tap';
import { type FamilyName, families } from '../../proxy/kept/objects/families.ts';
import { type Entry, startFakeUpstream } from '../support/fake-upstream.ts';
import { issueKey } from '../support/issue-key.ts';
import { shareGateway } from '../support/shared.ts';

/** How ids of the families look. */
const beginnings: Partial<Record<FamilyName, string>> = {
  response: 'resp_',
  conversation: 'conv_',
  completion: 'chatcmpl-',
  vector_store: 'vs_',
  container: 'cntr_',
  eval: 'eval_',
  assistant: 'asst_',
  thread: 'thread_',
  video: 'video_',
  skill: 'skill_',
  voice: 'voice_12345678',
  call: 'rtc_',
  agent: 'agent_',
  library: '01234567-89ab-cdef-0123-',
};
const upstream = await startFakeUpstream({ t: suite });
const key = `\${TEST_PROVIDER_KEY}`;
const provider = { type: 'openai', base_url: upstream.url, api_key: key, models: ['m'] };
const gateway = await shareGateway({
  config: {
    providers: {
      main: provider,
      twin: provider,
      several: { ...provider, api_key: undefined, api_keys: [key, 'sk-other-0123456789'] },
    },
  },
});
const [a, b, plainA, plainB] = await Promise.all([
  issueKey(suite, gateway, { userPath: '/t/a' }),
  issueKey(suite, gateway, { userPath: '/t/b' }),
  issueKey(suite, gateway, {}),
  issueKey(suite, gateway, {}),
]);
let nextId = '';
/** Whole requests that the provider has had. */
let calls = 0;
await upstream.behave((entry: Entry) => {
  calls += 1;
  if (entry.method !== 'POST' || nextId === '')
    return { kind: 'json', body: { object: 'thing', target: entry.target } };
  return {
    kind: 'json',
    body: { id: nextId, name: `things/${nextId}`, object: 'thing' },
    headers: [['location', `/v1/realtime/calls/${nextId}`]],
  };
});

interface ObjectCall {
  readonly method?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string | Buffer;
}

/** The status, the code of an error, and whether the provider was asked. */
async function ask(
  secret: string,
  path: string,
  { method = 'GET', headers = {}, body }: ObjectCall = {},
): Promise<string> {
  const before = calls;
  const answer = await gateway.fetch(path, {
    method,
    headers: { authorization: `Bearer ${secret}`, ...headers },
    ...(body === undefined ? {} : { body }),
  });
  const text = await answer.text();
  const code = /"code":"([a-z_]+)"/.exec(text)?.[1];
  return `${answer.status}${code === undefined ? '' : ` ${code}`}${calls > before ? ' asked' : ''}`;
}

/** Has the caller make one; gives its id. */
async function make(
  secret: string,
  path: string,
  family: FamilyName,
  body: ObjectCall = { body: '{"purpose":"x","store":true}' },
): Promise<string> {
  const id = `${beginnings[family] ?? `${family}-`}${crypto.randomUUID().replaceAll('-', '').slice(0, 20)}`;
  nextId = id;
  await ask(secret, path, { method: 'POST', ...body });
  nextId = '';
  return id;
}

const placed = (Object.keys(families) as FamilyName[]).flatMap((family) =>
  families[family].places.map((place) => ({ family, place })),
);

await test('what one caller makes is there for it and for the operator alone, in every place and by every method', async (t) => {
  t.ok(placed.length > 25);
  for (const { family, place } of placed) {
    const id = await make(a, `/p/main/v1/${place}`, family);
    const rows = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD'].flatMap((method) =>
      ['', '/cancel'].map((action) => [method, action] as const),
    );
    const outcomes = rows.map(([method, action]) => ask(b, `/p/main/v1/${place}/${id}${action}`, { method }));
    t.same(new Set(await Promise.all(outcomes)), new Set(['404 kept_not_found', '404']), place);
    t.equal(await ask(a, `/p/main/v1/${place}/${id}`), '200 asked', place);
    t.equal(await ask(a, `/p/twin/v1/${place}/${id}`), '404 kept_not_found', `${place} of another provider`);
    t.equal(await ask(gateway.masterKey, `/p/main/v1/${place}/${id}`), '200 asked', place);
    for (const secret of [a, b]) t.equal(await ask(secret, `/p/main/v1/${place}`), '403 objects_of_others', place);
    t.equal(await ask(gateway.masterKey, `/p/main/v1/${place}`), '200 asked', place);
    t.equal(await ask(a, `/p/main/v1/${place}/${id}`, { method: 'DELETE' }), '200 asked', place);
  }
});

const endpoint = '/p/main/v1/some/endpoint';
const post = (body: string | Buffer, headers: Record<string, string> = {}): ObjectCall => ({
  method: 'POST',
  headers,
  body,
});
/** Every letter as an escape of JSON. */
const escaped = (text: string): string =>
  text.replaceAll(/./g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`);
/** Fields, and files by names that begin with `@`. */
function form(fields: Readonly<Record<string, string>>): ObjectCall {
  const parts = Object.entries(fields).map(([name, value]) => {
    const file = name.startsWith('@') ? '; filename="f.jsonl"' : '';
    return `--limit\r\ncontent-disposition: form-data; name="${name.replace('@', '')}"${file}\r\n\r\n${value}\r\n`;
  });
  return post(`${parts.join('')}--limit--\r\n`, { 'content-type': 'multipart/form-data; boundary=limit' });
}

await test('what another caller has made is not there for a request that names it, whatever member does', async (t) => {
  for (const { family, place } of placed.filter((each) => families[each.family].places[0] === each.place)) {
    const { members } = families[family];
    const id = await make(a, `/p/main/v1/${place}`, family);
    const asked = members.flatMap((member): ObjectCall[] => [
      post(`{"x":[{"${member}":"${id}"}]}`),
      post(`{"x":{"the_${member.toUpperCase()}":["none","${id}"]}}`),
      post(`{"${member}":"${id}","${member}":null}`),
      post(`{"${member}":{"id":"${id}"}}`),
      form({ x: 'y', [member]: id }),
      form({ x: `{"${member}":"${id}"}` }),
    ]);
    const outcomes = (secret: string): Promise<string[]> =>
      Promise.all(asked.map((each) => ask(secret, endpoint, each))).then((all) => [...new Set(all)]);
    t.same(await outcomes(b), members.length > 0 ? ['404 kept_not_found'] : [], family);
    for (const member of members) {
      t.equal(await ask(b, `${endpoint}?x=1&${member}%5B%5D=${id}`), '404 kept_not_found', `${family} in a query`);
      const own = await ask(a, `${endpoint}?${member}=${id}`, post(`{"x":{"${member}":"${id}"}}`));
      t.equal(own, '200 asked', family);
      t.equal(await ask(gateway.masterKey, endpoint, post(`{"${member}":"${id}"}`)), '200 asked', family);
    }
  }
});

await test('no spelling of a path leads around the table', async (t) => {
  const id = await make(a, '/p/main/files', 'file');
  const spellings = [
    `v1/v1/files/${id}`,
    `files/${id}/`,
    `FILES/${id}`,
    `%66iles/${id}`,
    `%2566iles/${id}`,
    `files%2F${id}`,
    `files%252F${id}/content`,
    `files;a=b/${id};c`,
    `files/${id.replace('f', '%66')}`,
    `x/files/${id}/content?after=1`,
    `openai/v1/files/${id}`,
    `files/${id}:download`,
    `v1beta//files/${id}`,
    `files/%20${id}`,
    `files%3Fx/${id}`,
  ];
  const outcomes = await Promise.all(spellings.map((spelling) => ask(b, `/p/main/${spelling}`)));
  t.same(new Set(outcomes), new Set(['404 kept_not_found', '400 invalid_path']), outcomes.join(', '));
  const lists = [
    'files?limit=5',
    'FILES',
    'files/',
    '%66iles',
    'v1/v1/files',
    'files;x',
    'chat/completions',
    'responses?x',
  ];
  t.same(
    new Set(await Promise.all(lists.map((list) => ask(b, `/p/main/${list}`)))),
    new Set(['403 objects_of_others']),
  );
  t.equal(await ask(b, '/p/main/organization/users'), '403 objects_of_others');
  t.equal(await ask(b, '/p/main/models/ft:x', { method: 'DELETE' }), '403 objects_of_others');
  for (const verb of ['files:register', 'batches:list', 'v1beta/files%3Aregister'])
    t.equal(await ask(b, `/p/main/${verb}`, post('{}')), '403 objects_of_others', verb);
  t.equal(await ask(b, '/p/main/generation?id=gen-other'), '403 objects_of_others');
  t.equal(await ask(b, `${endpoint}?a=1;file_id=${id}`), '404 kept_not_found');
  t.equal(await ask(b, '/p/main/models'), '200 asked');
  const override = { headers: { 'x-http-method-override': 'GET' } };
  t.equal(await ask(b, '/p/main/files', { method: 'PUT', ...override }), '403 objects_of_others');
});

await test('bodies are looked at however they come: long, packed, in lines, escaped, wide', async (t) => {
  const id = await make(a, '/p/main/files', 'file');
  const long = 'x'.repeat(300_000);
  const member = `"file_id":"${id}"`;
  const wide = Buffer.from(`{${member}}`, 'utf16le');
  const rows: [asked: ObjectCall, outcome: string][] = [
    [post(`{"text":"${long}",${member}}`), '404 kept_not_found'],
    [post(`{${member},"text":"${long}"}`), '404 kept_not_found'],
    [post(`\ufeff \n{${member}}`), '404 kept_not_found'],
    [post(`{"a":1}\n{${member}}\n`), '404 kept_not_found'],
    [post(`{"a":{${member}`), '404 kept_not_found'],
    [post(`{${member.replace('file_id', 'fil\\u0065_id')}}`), '404 kept_not_found'],
    [post(`{${member}}`, { 'content-type': 'text/plain' }), '404 kept_not_found'],
    [post(`file_id=${id}`, { 'content-type': 'application/x-www-form-urlencoded' }), '404 kept_not_found'],
    [post(gzipSync(`{${member}}`), { 'content-encoding': 'gzip' }), '404 kept_not_found'],
    [post(gzipSync(`{"text":"${long}",${member}}`), { 'content-encoding': 'gzip' }), '404 kept_not_found'],
    [post(gzipSync('{"text":"x"}'), { 'content-encoding': 'gzip' }), '200 asked'],
    [post('{"text":"x"}', { 'content-encoding': 'gzip' }), '400 invalid_parameter'],
    [post('x', { 'content-encoding': 'compress' }), '415 unsupported_encoding'],
    [post(`{${member}}`, { 'content-type': 'application/x-www-form-urlencoded' }), '404 kept_not_found'],
    [post(wide), '400 invalid_json'],
    [post(Buffer.from(`    {${member}}`, 'utf16le')), '400 invalid_json'],
    [post(Buffer.from(`    {${member}}`, 'utf16le').swap16()), '400 invalid_json'],
    // Some providers read more than JSON: single quotes, names without any, letters that need no escape.
    [post(`{'file_id':'${id}'}`), '404 kept_not_found'],
    [post(`{"a" : null, file_id : "${id}"}`), '404 kept_not_found'],
    [post(`{"fil\\e_id":"${id}"}`), '404 kept_not_found'],
    [post(`{"file_id":"${escaped(`file-${'a'.repeat(195)}`)}"}`), '404 kept_not_found'],
    [post('{"container":" cntr_other"}'), '404 kept_not_found'],
    // Of several members with one name, some readers take the first and some the last.
    [post(`{"conversation":{${'"id":"x",'.repeat(4)}"id":"conv_other"}}`), '400 too_many_objects'],
    [post(`{"input":[{"id":"msg_other",${'"type":"x",'.repeat(4)}"type":"item_reference"}]}`), '400 too_many_objects'],
    [post(`{"type":"tool_use","input":{${member}}}`), '404 kept_not_found'],
    [post('{}', { 'content-type': 'multipart/related; boundary=limit' }), '400 invalid_upload'],
    [
      post(`{"file_ids":[${Array.from({ length: 1_001 }, (_, index) => `"f-${index}"`).join()}]}`),
      '400 too_many_objects',
    ],
    [post(`{"text":"${long}"}`), '200 asked'],
    // What a client or a model says in its own words names nothing.
    [post(`{"metadata":{${member}},"tools":[{"parameters":{${member}}}]}`), '200 asked'],
    [post(`{"messages":[{"content":[{"type":"tool_use","input":{${member}}}]}]}`), '200 asked'],
    [post(JSON.stringify({ text: `{${member}}` })), '200 asked'],
    // The file of a batch is what its lines say.
    [form({ purpose: 'batch', '@file': `{"body":{${member}}}\n` }), '404 kept_not_found'],
    [form({ '@file': `{"body":{}}\n{"body":{${member}}}`, purpose: 'batch' }), '404 kept_not_found'],
    [form({ purpose: 'batch', '@file': `x\n{"body":{${member}}}` }), '404 kept_not_found'],
    [form({ purpose: 'batch', '@file': `{"metadata":{"\n{"body":{${member}}}` }), '404 kept_not_found'],
    [form({ 'purpose[]': 'batch', purpose: 'user_data', '@file': `{"body":{${member}}}` }), '400 invalid_upload'],
    [form({ purpose: 'user_data', '@file': `{${member}}` }), '200 asked'],
  ];
  for (const [asked, outcome] of rows) {
    const shown = JSON.stringify([asked.headers, String(asked.body).slice(0, 100)]);
    t.equal(await ask(b, endpoint, asked), outcome, shown);
  }
  t.equal(await ask(b, '/p/main/uploads', post('{"purpose":"batch"}')), '400 invalid_parameter');
  t.equal(
    await ask(b, '/p/main/files', post(`x"\n{"body":{${member}}}`, { 'content-type': 'application/jsonl' })),
    '404 kept_not_found',
    'a file that is no form',
  );
  const evaluation = '{"data_source":{"type":"responses","source":{"type":"stored_completions"}}}';
  t.equal(await ask(b, '/p/main/evals', post(evaluation)), '403 objects_of_others');
  t.equal(await gateway.metric('gateway_request_body_bytes'), 0);
});

await test('the address of a file at Google is its name, in every spelling', async (t) => {
  const host = 'https://generativelanguage.googleapis.com';
  const addresses = [
    'files/other',
    ' files/other',
    'f\\iles/other',
    '/v1beta/files/other',
    'v1beta/files/other',
    `${host}/v1beta/files/other`,
    `${host}/v1beta/files/other?${'a'.repeat(3_000)}`,
    `${host}//v1beta/./files//other`,
    `${host}/upload/v1beta/files/other`,
    `${host}/v1beta/%66iles/other:download`,
    `//user@${host.slice(8)}:443/v1beta/files/other`,
    escaped(`${host}/v1beta/files/other`),
  ];
  for (const address of addresses)
    t.equal(await ask(b, endpoint, post(`{"fileUri":"${address}"}`)), '404 kept_not_found', address.slice(0, 80));
  for (const other of ['https://example.com/files/other', 'gs://bucket/files/other', 'data:a/files/other'])
    t.equal(await ask(b, endpoint, post(`{"fileUri":"${other}"}`)), '200 asked', other);
  for (const name of ['cachedContents/other', 'projects/p/locations/l/cachedContents/other', 'ragCorpora/other'])
    t.equal(await ask(b, endpoint, post(`{"x":"${name}"}`)), '404 kept_not_found', name);
});

await test('a user path owns its objects in any letter case', async (t) => {
  const id = await make(a, '/p/main/files', 'file');
  const shouting = await issueKey(suite, gateway, { userPath: '/T/A' });
  t.equal(await ask(shouting, `/p/main/files/${id}`), '200 asked');
});

await test('a repeated request is answered again to its own caller alone', async (t) => {
  const sent = async (secret: string): Promise<string | undefined> => {
    const before = upstream.ledger.length;
    await ask(secret, endpoint, post('{}', { 'idempotency-key': 'same' }));
    return upstream.ledger[before]?.header('idempotency-key');
  };
  const [once, again, other] = [await sent(a), await sent(a), await sent(b)];
  t.equal(once, again);
  t.not(once, other);
  t.not(other, 'same');
});

await test('keys without a path share no object, though they share the path /', async (t) => {
  for (const path of ['/p/main/files', '/p/several/files']) {
    const id = await make(plainA, path, 'file');
    t.equal(await ask(plainB, `${path}/${id}`), '404 kept_not_found');
    t.equal(await ask(a, `${path}/${id}`), '404 kept_not_found');
    const before = upstream.ledger.length;
    t.equal(await ask(plainA, `${path}/${id}`), '200 asked');
    const made = upstream.ledger[before - 2]?.header('authorization');
    t.equal(upstream.ledger[before]?.header('authorization'), made, 'it is asked for with the key that made it');
  }
});

await test("what is not known to be the caller's is not there: made elsewhere, or forgotten", async (t) => {
  t.equal(await ask(a, '/p/main/files/file-unknown'), '404 kept_not_found');
  t.equal(await ask(a, endpoint, post('{"file_id":"file-unknown"}')), '404 kept_not_found');
  t.equal(await ask(gateway.masterKey, '/p/main/files/file-unknown'), '200 asked');
  const id = await make(a, '/p/main/files', 'file');
  await gateway.restart();
  t.equal(await ask(a, `/p/main/files/${id}`), '200 asked', 'it is remembered');
});
