// Tokens of Google and Azure while the servers that give them are slow, down, wrong about the time, or answer with garbage: the last token
// serves, and a new one comes before it ends.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { t as suite, test } from 'tap';
import { azureSource } from '../../proxy/cloud-identity/azure.ts';
import { googleSource } from '../../proxy/cloud-identity/google.ts';
import { Renewal } from '../../proxy/cloud-identity/renewal.ts';
import type { TokenSource } from '../../proxy/cloud-identity/token-source.ts';
import { type Fault, startTokenServer, type TokenServer } from '../support/clouds/token-server.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

/** How long a fault lasts, from the first question that meets it. Milliseconds. */
const faultMs = 300;
const pace = { attempt: 300, firstPause: 20, longestPause: 50, endless: 60_000 };
const faults: Readonly<Record<string, Fault | 'clock ahead' | 'clock behind' | undefined>> = {
  none: undefined,
  down: 'cut',
  hanging: 'hang',
  slow: { afterMs: 100 },
  refusing: { status: 403, body: '{"error":"access_denied"}' },
  failing: { status: 503, body: '<html>no healthy upstream</html>', type: 'text/html' },
  garbage: { status: 200, body: '{"access_token": 7, "expires_in": "soon"}' },
  'clock ahead': 'clock ahead',
  'clock behind': 'clock behind',
};
const clocks: Readonly<Record<string, number>> = { 'clock ahead': 86_400_000, 'clock behind': -86_400_000 };

const folder = temporaryDirectory(suite, 'tokens');
writeFileSync(join(folder, 'token'), 'token-of-the-service-account');

function google(server: TokenServer): TokenSource {
  const path = join(folder, `${new URL(server.url).port}.json`);
  const credentials = {
    type: 'external_account',
    audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/pool/providers/cluster',
    subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
    token_url: `${server.url}/sts`,
    service_account_impersonation_url: `${server.url}/v1/projects/-/serviceAccounts/gateway@p.iam.gserviceaccount.com:generateAccessToken`,
    credential_source: { file: join(folder, 'token') },
  };
  writeFileSync(path, JSON.stringify(credentials));
  return googleSource({}, { variables: { GOOGLE_APPLICATION_CREDENTIALS: path }, wallMs: Date.now });
}

function azure(server: TokenServer): TokenSource {
  const variables = {
    AZURE_AUTHORITY_HOST: server.tlsUrl,
    AZURE_TENANT_ID: 'contoso.test',
    AZURE_CLIENT_ID: '11111111-2222-3333-4444-555555555555',
    AZURE_FEDERATED_TOKEN_FILE: join(folder, 'token'),
  };
  return azureSource({ scope: 'https://ai.azure.com/.default' }, { variables, wallMs: Date.now });
}

const first = await startTokenServer(suite);
/** All servers of this file have the same key and certificate. */
setDefaultCACertificates([...getCACertificates('default'), first.authority]);

/** Uses a token all the time, until the next one has come although the server was at fault when it was asked for. */
async function throughFault(
  source: TokenSource,
  server: TokenServer,
  fault: (typeof faults)[string],
): Promise<string[]> {
  const problems: string[] = [];
  // Renewed after 3.5 s, or up to 0.7 s sooner because the package of Azure counts in whole seconds: more than a second is left then.
  server.lifeMs = 5_000;
  const aheadMs = typeof fault === 'string' ? clocks[fault] : undefined;
  if (aheadMs !== undefined) server.aheadMs = aheadMs;
  const renewal = new Renewal(source, { nowMs: () => Date.now(), random: () => 1, pace, ended: () => undefined });
  renewal.renew();
  // The first question also loads the package.
  await waitFor('the first token', () => renewal.held !== undefined);
  const asked = server.asked.length;
  if (aheadMs === undefined) server.fault = fault as Fault | undefined;
  const given = server.tokens.length;
  const use = (): void => {
    const { held } = renewal;
    if (held?.credential.kind !== 'bearer') problems.push(`no token: ${renewal.problem}`);
    else if (!server.holds(held.credential.token)) problems.push(`${held.credential.token} has ended`);
  };
  const isNew = (): boolean =>
    renewal.held?.credential.kind === 'bearer' && server.tokens.indexOf(renewal.held.credential.token) >= given;
  await waitFor('the next token', async () => {
    use();
    if (server.asked.length > asked && server.fault !== undefined) {
      const untilMs = Date.now() + faultMs;
      while (Date.now() < untilMs) {
        await setTimeout(5);
        use();
      }
      server.fault = undefined;
    }
    return isNew();
  });
  renewal.stop();
  return problems;
}

await test('a token serves until the next one comes, whatever becomes of the question for that', async (t) => {
  const cases = Object.entries({ google, azure }).flatMap(([cloud, sourceOf]) =>
    Object.entries(faults).map(async ([name, fault]) => {
      const server = await startTokenServer(t, first.identity);
      return { name: `${cloud}: ${name}`, problems: await throughFault(sourceOf(server), server, fault) };
    }),
  );
  for (const { name, problems } of await Promise.all(cases)) t.strictSame(problems, [], name);
});
