// Tokens of Google: from a file of credentials that the environment names, or from the metadata server; for the identity itself, or for a
// service account in whose name it asks.
import { readFile } from 'node:fs/promises';
import type { AuthClient } from 'google-auth-library';
import { unixTime } from '../../domain/timestamp.ts';
import type { GoogleIdentity } from '../../schemas/types.ts';
import { bearerToken } from './bearer-token.ts';
import {
  type Google,
  type GoogleCredentials,
  googleClient,
  googleTransporter,
  readCredentials,
  scopes,
} from './google-credentials.ts';
import { loadPackage } from './load-package.ts';
import type { SourceParts, TokenSource } from './token-source.ts';
import { IdentityProblem, shownWords } from './vendor-error.ts';
import { asking, vendorFetch } from './vendor-fetch.ts';

/** The longest life that an organisation allows without a policy of its own. */
const impersonatedLife = '3600s';

export function googleSource(
  { service_account: account }: GoogleIdentity,
  { variables, wallMs, fetch = vendorFetch }: SourceParts,
): TokenSource {
  const file = variables['GOOGLE_APPLICATION_CREDENTIALS'] || undefined;
  const own = file === undefined ? 'the identity of the metadata server' : `the credentials in ${file}`;
  return {
    describe: () => (account === undefined ? `Google, ${own}` : `Google service account ${account}, with ${own}`),
    async fetch(signal) {
      // Its default: a build gives a package in CommonJS no other name.
      const { default: google } = await loadPackage('google-auth-library', () => import('google-auth-library'));
      const transporter = googleTransporter(google, fetch);
      const credentials = file === undefined ? undefined : await readFileOf(file);
      try {
        // A new client each time, which has kept no token.
        const client = googleClient(google, credentials, transporter);
        const ask = (): Promise<Given> => (account === undefined ? ownToken(google, client) : tokenOf(account, client));
        const { value, issuerNowMs } = await asking(signal, ask);
        const { token, expiresAtMs, isLife } = value;
        const principal = account ?? credentials?.principal ?? 'the service account of this machine';
        const given = { token, expiresAtMs, countedFromMs: isLife ? wallMs() : undefined, principal };
        return bearerToken('Google', given, issuerNowMs);
      } catch (error) {
        if (error instanceof IdentityProblem) throw error;
        const words = wordsOf(error, credentials?.secrets);
        throw new IdentityProblem(`Google gave no token for ${own}: ${words}${hintOf(words, credentials)}`);
      }
    },
  };
}

interface Given {
  readonly token: unknown;
  readonly expiresAtMs: number | undefined;
  /** Google said how long it lives, which the package added to the wall clock; else when it ends by Google's clock. */
  readonly isLife: boolean;
}

async function ownToken(google: Google, client: AuthClient): Promise<Given> {
  const { token } = await client.getAccessToken();
  const isLife = !(client instanceof google.BaseExternalAccountClient) || client.getServiceAccountEmail() === null;
  return { token, expiresAtMs: client.credentials.expiry_date ?? undefined, isLife };
}

/** docs.cloud.google.com/iam/docs/reference/credentials/rest/v1/projects.serviceAccounts/generateAccessToken */
async function tokenOf(account: string, client: AuthClient): Promise<Given> {
  const { data } = await client.request<{ readonly accessToken?: unknown; readonly expireTime?: unknown } | null>({
    url: `https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/${account}:generateAccessToken`,
    method: 'POST',
    data: { scope: scopes, lifetime: impersonatedLife },
    responseType: 'json',
  });
  return { token: data?.accessToken, expiresAtMs: unixTime(String(data?.expireTime)), isLife: false };
}

async function readFileOf(path: string): Promise<GoogleCredentials> {
  const text = await readFile(path, 'utf8').catch(({ code }: { readonly code?: string }) => {
    throw new IdentityProblem(`GOOGLE_APPLICATION_CREDENTIALS names ${path}, which cannot be read (${code})`);
  });
  return readCredentials(text, path);
}

/** The package puts the status of an answer beside its words, which say nothing where the answer was not Google's. */
function wordsOf(error: unknown, secrets: readonly string[] = []): string {
  const words = shownWords(error, secrets);
  const { status } = error as { readonly status?: unknown };
  if (typeof status !== 'number') return words;
  return words === 'Error code undefined' ? `HTTP ${status}` : `HTTP ${status}, ${words}`;
}

/** Where a person is to look, by what Google said. */
const hints: readonly (readonly [RegExp, string])[] = [
  [/timeframe|not yet valid/i, '. Check the clock of this machine'],
  [/permission/i, '. Grant it the role Service Account Token Creator on the service account'],
];

function hintOf(words: string, credentials: GoogleCredentials | undefined): string {
  const hint = hints.find(([pattern]) => pattern.test(words))?.[1];
  if (hint !== undefined || credentials !== undefined) return hint ?? '';
  return '. Without a file in GOOGLE_APPLICATION_CREDENTIALS the proxy has to run where Google gives machines an identity';
}
