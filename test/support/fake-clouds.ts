// The vaults of AWS, Google and Azure at one address on loopback, and an environment that leads the gateway there as an identity of each.
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { startTokenServer } from './clouds/token-server.ts';
import { listen } from './ports.ts';
import { type Teardown, temporaryDirectory } from './teardown.ts';

export interface FakeClouds {
  /** By what the gateway asks for: the name of a secret of AWS, else the path below the address. */
  readonly secrets: Map<string, string>;
  readonly env: Record<string, string>;
}

const accessKey = 'AKIACANARYCANARY0001';

/** Each vault takes only the credential that the gateway has for it. */
export async function startFakeClouds(t: Teardown): Promise<FakeClouds> {
  const tokens = await startTokenServer(t);
  const secrets = new Map<string, string>();
  const server = createServer((request, response) => {
    const { url = '', headers } = request;
    const { authorization = '' } = headers;
    const say = (status: number, body: object): void => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    };
    let text = '';
    request.on('data', (piece: Buffer) => {
      text += piece.toString();
    });
    request.on('end', () => {
      if (headers['x-amz-target'] !== undefined) {
        const isSigned =
          authorization.includes(`Credential=${accessKey}/`) && authorization.includes('/eu-central-1/secretsmanager/');
        const secret = secrets.get(String((JSON.parse(text) as Record<string, unknown>)['SecretId']));
        if (!isSigned) return say(400, { __type: 'UnrecognizedClientException' });
        return secret === undefined
          ? say(400, { __type: 'ResourceNotFoundException' })
          : say(200, { SecretString: secret });
      }
      if (!tokens.holds(authorization.replace('Bearer ', ''))) return say(401, {});
      const secret = secrets.get(url.split('?')[0] ?? '');
      if (secret === undefined) return say(404, {});
      if (url.endsWith(':access')) return say(200, { payload: { data: Buffer.from(secret).toString('base64') } });
      say(200, { value: secret });
    });
  });
  const address = `http://127.0.0.1:${await listen(server)}`;
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  const folder = temporaryDirectory(t, 'fake-clouds');
  writeFileSync(join(folder, 'subject'), 'canary-subject-token');
  const credentials = {
    type: 'external_account',
    audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/cluster',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: `${tokens.url}/sts`,
    credential_source: { file: join(folder, 'subject') },
  };
  writeFileSync(join(folder, 'google.json'), JSON.stringify(credentials));
  return {
    secrets,
    env: {
      AWS_REGION: 'eu-central-1',
      AWS_ACCESS_KEY_ID: accessKey,
      AWS_SECRET_ACCESS_KEY: 'canary-secret-access-key',
      AWS_ENDPOINT_URL_SECRETS_MANAGER: address,
      GOOGLE_APPLICATION_CREDENTIALS: join(folder, 'google.json'),
      CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER: address,
      AZURE_POD_IDENTITY_AUTHORITY_HOST: tokens.url,
      GATEWAY_AZURE_KEY_VAULT_URL: `${address}/{vault}`,
    },
  };
}
