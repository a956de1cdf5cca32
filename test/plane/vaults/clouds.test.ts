// Reading secrets in the vaults of clouds: what each is asked, and what is said when it gives none, without a token or a secret.
import { createServer } from 'node:http';
import { type Test, test } from 'tap';
import type { SecretReference } from '../../../gitops/read/secret-reference.ts';
import { readVariables } from '../../../plane/environment.ts';
import type { SignedRequest } from '../../../plane/vaults/cloud-access.ts';
import { readVaultSettings } from '../../../plane/vaults/settings.ts';
import { openVaults } from '../../../plane/vaults/vaults.ts';
import { scopeOfVaults } from '../../../proxy/boot/cloud-access.ts';
import type { Variables } from '../../../schemas/variables.ts';
import { listen } from '../../support/ports.ts';

interface Asked {
  readonly line: string;
  readonly authorization: string | undefined;
  readonly target: unknown;
  readonly body: string;
}

/** The vaults of all clouds at one address, and an identity that they know. */
async function startWorld(t: Test, variables: Variables = { AWS_REGION: 'eu-central-1' }) {
  const asked: Asked[] = [];
  const refused: string[] = [];
  const signed: SignedRequest[] = [];
  const world = { status: 200, answer: {} as unknown };
  const server = createServer((request, response) => {
    const { method, url, headers } = request;
    let body = '';
    request.on('data', (piece: Buffer) => {
      body += piece.toString();
    });
    request.on('end', () => {
      const { authorization, 'x-amz-target': target } = headers;
      asked.push({ line: `${method} ${url}`, authorization, target, body });
      response.writeHead(world.status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(world.answer));
    });
  });
  const address = `http://127.0.0.1:${await listen(server)}`;
  t.teardown(() => server.close());
  const settings = readVaultSettings(
    readVariables({
      AWS_ENDPOINT_URL_SECRETS_MANAGER: address,
      CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER: `${address}/`,
      GATEWAY_AZURE_KEY_VAULT_URL: `${address}/{vault}`,
      ...variables,
    }),
  );
  const access = {
    token: async (cloud: string) => `canary-token-of-${cloud}`,
    signAws: async (request: SignedRequest) => {
      signed.push(request);
      return ['authorization', 'AWS4-HMAC-SHA256 canary'];
    },
    refused: (cloud: string) => void refused.push(cloud),
  };
  const vaults = openVaults(settings, { access, nowMs: () => 0 });
  const read = async (reference: SecretReference) => {
    const answer = await vaults.fetch(reference);
    return 'bytes' in answer ? answer.bytes.toString() : answer.trouble;
  };
  return { world, asked, refused, signed, read };
}

await test('AWS Secrets Manager gives a text, bytes, or a member of an object', async (t) => {
  const { world, asked, signed, refused, read } = await startWorld(t);
  const secret = { scheme: 'aws-sm', name: 'prod/openai' } as const;
  world.answer = { SecretString: '{"api_key":"canary-1","n":1}' };
  t.equal(await read({ ...secret, field: 'api_key' }), 'canary-1');
  t.match(asked[0], {
    line: 'POST /',
    authorization: 'AWS4-HMAC-SHA256 canary',
    target: 'secretsmanager.GetSecretValue',
    body: '{"SecretId":"prod/openai"}',
  });
  t.match(signed[0], { region: 'eu-central-1', service: 'secretsmanager', body: Buffer.from(asked[0]?.body ?? '') });
  await read({ scheme: 'aws-sm', name: 'arn:aws:secretsmanager:us-west-2:123456789012:secret:openai-AbCdEf' });
  t.match(signed[1], { region: 'us-west-2' });
  t.equal(await read({ ...secret, field: 'n' }), 'has a member of this name that is no text');
  world.answer = { SecretString: 'canary-2' };
  t.equal(await read(secret), 'canary-2');
  t.equal(await read({ ...secret, field: 'api_key' }), 'is no object, so it has no members');
  world.answer = { SecretBinary: Buffer.from('canary-3').toString('base64') };
  t.equal(await read(secret), 'canary-3');
  world.status = 400;
  const troubles: [type: string, said: string][] = [
    ['ResourceNotFoundException', 'is not in Secrets Manager'],
    [
      'com.amazonaws.secretsmanager#AccessDeniedException',
      'cannot be read: AWS answers 400 AccessDeniedException: its identity needs secretsmanager:GetSecretValue',
    ],
    ['ExpiredTokenException', 'cannot be read: AWS answers 400 ExpiredTokenException'],
    ['canary 1', 'cannot be read: AWS answers 400'],
  ];
  for (const [type, said] of troubles) {
    world.answer = { __type: type, message: 'canary' };
    t.equal(await read(secret), said);
  }
  t.strictSame(refused, ['aws']);
  const nowhere = await startWorld(t, {});
  t.equal(await nowhere.read(secret), 'cannot be read: AWS_REGION is not set');
});

await test('Google Secret Manager gives a version, the latest where none is named', async (t) => {
  const { world, asked, refused, read } = await startWorld(t);
  const secret = { scheme: 'gcp-sm', name: 'projects/acme/secrets/openai' } as const;
  world.answer = { payload: { data: Buffer.from('canary-1\n').toString('base64') } };
  t.equal(await read(secret), 'canary-1\n');
  t.match(asked[0], {
    line: 'GET /v1/projects/acme/secrets/openai/versions/latest:access',
    authorization: 'Bearer canary-token-of-google',
  });
  await read({ ...secret, name: `${secret.name}/versions/3` });
  t.match(asked[1], { line: 'GET /v1/projects/acme/secrets/openai/versions/3:access' });
  const troubles: [status: number, said: string][] = [
    [401, 'cannot be read: Google answers 401'],
    [403, 'cannot be read: Google answers 403: its identity needs roles/secretmanager.secretAccessor'],
    [404, 'is not in Secret Manager (404)'],
    [500, 'cannot be read: Google answers 500'],
  ];
  for (const [status, said] of troubles) {
    world.status = status;
    t.equal(await read(secret), said);
  }
  t.strictSame(refused, ['google']);
  world.status = 200;
  world.answer = ['canary'];
  t.equal(await read(secret), 'cannot be read: Google gives no value');
});

await test('Azure Key Vault gives the newest version, or the one that is named', async (t) => {
  const { world, asked, refused, read } = await startWorld(t);
  const secret = { scheme: 'azure-kv', name: 'acme-vault/openai' } as const;
  world.answer = { value: 'canary-1' };
  t.equal(await read(secret), 'canary-1');
  t.match(asked[0], {
    line: 'GET /acme-vault/secrets/openai?api-version=7.4',
    authorization: 'Bearer canary-token-of-azure',
  });
  const version = '0123456789abcdef0123456789abcdef';
  await read({ ...secret, name: `${secret.name}/${version}` });
  t.match(asked[1], { line: `GET /acme-vault/secrets/openai/${version}?api-version=7.4` });
  const troubles: [status: number, said: string][] = [
    [401, 'cannot be read: Azure answers 401'],
    [403, 'cannot be read: Azure answers 403: its identity needs the role Key Vault Secrets User'],
    [404, 'is not in Key Vault (404)'],
    [429, 'cannot be read: Azure answers 429'],
  ];
  for (const [status, said] of troubles) {
    world.status = status;
    t.equal(await read(secret), said);
  }
  t.strictSame(refused, ['azure']);
  t.equal(scopeOfVaults('https://{vault}.vault.azure.cn'), 'https://vault.azure.cn/.default');
});
