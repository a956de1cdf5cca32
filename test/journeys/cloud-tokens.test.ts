// Vertex, Gemini and Azure with tokens of the identity of the machine: one proxy, whose providers take no other.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { t as suite, test } from 'tap';
import { startTokenServer } from '../support/clouds/token-server.ts';
import { startGateway } from '../support/gateway.ts';
import { listen } from '../support/ports.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

const clouds = await startTokenServer(suite);
// Renewed after 3.5 to 4 s, while requests come.
clouds.lifeMs = 5_000;

/** The tokens that each provider was asked with, and the quota project. */
const used: Record<string, Set<string>> = { vertex: new Set(), gemini: new Set(), azure: new Set() };
const quotaProjects = new Set<unknown>();
const answers: Readonly<Record<string, object>> = {
  azure: {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1,
    model: 'gpt-4o',
    choices: [{ index: 0, message: { role: 'assistant', content: 'hello' }, finish_reason: 'stop' }],
  },
  gemini: { candidates: [{ content: { role: 'model', parts: [{ text: 'hello' }] }, finishReason: 'STOP' }] },
};
const provider = createServer((request, response) => {
  request.resume();
  const { authorization = '', 'api-key': apiKey, 'x-goog-api-key': googleKey } = request.headers;
  const token = authorization.replace(/^Bearer /, '');
  const [, name = ''] = (request.url ?? '').split('/');
  const isRefused = !clouds.holds(token) || apiKey !== undefined || googleKey !== undefined;
  if (!isRefused) used[name]?.add(token);
  if (name === 'vertex') quotaProjects.add(request.headers['x-goog-user-project']);
  const body = isRefused
    ? { error: { message: `refused: ${authorization}` } }
    : answers[name === 'azure' ? name : 'gemini'];
  response.writeHead(isRefused ? 401 : 200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
});
const origin = `http://127.0.0.1:${await listen(provider)}`;
suite.teardown(() => provider.close());

const folder = temporaryDirectory(suite, 'identity');
const file = (name: string, content: string): string => {
  writeFileSync(join(folder, name), content);
  return join(folder, name);
};
const tokenFile = file('token', 'canary-token-of-the-service-account');
const gateway = await startGateway(suite, {
  config: {
    providers: {
      vertex: {
        type: 'vertex',
        base_url: `${origin}/vertex/v1/projects/my-project/locations/us-central1`,
        auth: 'google',
        google: { quota_project: 'billed-project' },
        models: ['gemini-2.5-flash'],
      },
      gemini: { type: 'gemini', base_url: `${origin}/gemini/v1beta`, auth: 'google', models: ['gemini-2.5-flash'] },
      azure: { type: 'azure', base_url: `${origin}/azure/openai/v1`, auth: 'azure', models: ['gpt-4o'] },
    },
  },
  env: {
    GOOGLE_APPLICATION_CREDENTIALS: file(
      'google.json',
      JSON.stringify({
        type: 'external_account',
        audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/cluster',
        subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
        token_url: `${clouds.url}/sts`,
        credential_source: { file: tokenFile },
      }),
    ),
    NODE_EXTRA_CA_CERTS: file('authority.pem', clouds.authority),
    AZURE_AUTHORITY_HOST: clouds.tlsUrl,
    AZURE_TENANT_ID: 'contoso.test',
    AZURE_CLIENT_ID: '11111111-2222-3333-4444-555555555555',
    AZURE_FEDERATED_TOKEN_FILE: tokenFile,
  },
});

const models = ['vertex/gemini-2.5-flash', 'gemini/gemini-2.5-flash', 'azure/gpt-4o'];
const ask = async (model: string): Promise<string> => {
  const body = { model, messages: [{ role: 'user', content: 'hello' }] };
  const answer = await gateway.fetch('/v1/chat/completions', { method: 'POST', body });
  return `${answer.status} ${await answer.text()}`;
};

await test('requests go on with the next token before the last one ends', async (t) => {
  const failed: string[] = [];
  await waitFor(
    'a second token of each provider',
    async () => {
      const told = await Promise.all(models.map(ask));
      failed.push(...told.filter((answer) => !answer.startsWith('200 ')));
      return Object.values(used).every(({ size }) => size > 1);
    },
    20_000,
  );
  t.strictSame(failed, []);
  t.strictSame([...quotaProjects], ['billed-project']);
  for (const name of Object.keys(used))
    t.equal(await gateway.metric('gateway_cloud_identity_valid', { provider: name }), 1);
});

await test('when tokens cannot be had, it is told why, and no token is told', async (t) => {
  clouds.fault = { status: 400, body: `{"error":"invalid_client","error_description":"${'x'.repeat(60)} is wrong"}` };
  const lines = (name: string): string[] =>
    gateway.process
      .logs()
      .flatMap((line) => (line['provider'] === name && 'problem' in line ? [String(line['problem'])] : []));
  await waitFor('a line for each', () => Object.keys(used).every((name) => lines(name).length > 0));
  t.match(
    lines('vertex')[0],
    /^Google gave no token for the credentials in .*google.json: .*invalid_client.*… is wrong$/,
  );
  t.match(lines('azure')[0], /^Azure workload identity 11111111-.* gave no token: invalid_client.*… is wrong$/);
  const told = [
    ...gateway.process.stdout,
    ...gateway.process.stderr,
    await gateway.metrics(),
    ...kept(gateway.dataDir),
  ];
  t.notMatch(told.join('\n'), /-of-this-server|canary-token/);
});

function kept(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'));
}
