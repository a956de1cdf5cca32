// A file of Google's credentials, and the client of the package for it. The package itself guesses what it should be, runs `gcloud` to find
// a project, and prints warnings; here each kind of file has its own client.
import type { AuthClient, gaxios, IdentityPoolClientOptions } from 'google-auth-library';
import { IdentityProblem } from './vendor-error.ts';

export type Google = typeof import('google-auth-library');
type Gaxios = gaxios.Gaxios;
type GaxiosOptionsPrepared = gaxios.GaxiosOptionsPrepared;
type Json = Readonly<Record<string, unknown>>;

export const scopes = ['https://www.googleapis.com/auth/cloud-platform'];

export interface GoogleCredentials {
  readonly json: Json;
  /** Whom it stands for, as people may see it. */
  readonly principal: string;
  /** What no message may hold. */
  readonly secrets: readonly string[];
}

type Kind = (typeof kinds)[number];
const kinds = ['service_account', 'external_account', 'authorized_user'] as const;
/** The ways to prove who one is to a workload identity pool. A program is none of them: a file of credentials would start it. */
const sourceKinds = ['file', 'url', 'environment_id'] as const;

/** Reads the text of a file. Throws when it is of a kind that is not taken; no part of the text enters the message. */
export function readCredentials(text: string, path: string): GoogleCredentials {
  const json = parse(text, path);
  const kind = kinds.find((known) => known === json['type']);
  if (kind === undefined) throw new IdentityProblem(`${path} must have a type that is one of ${kinds.join(', ')}`);
  const need = (...names: readonly string[]): void => {
    const missing = names.find((name) => typeof json[name] !== 'string' || json[name] === '');
    if (missing !== undefined) throw new IdentityProblem(`${path} has the type ${kind} and no ${missing}`);
  };
  if (kind === 'service_account') need('client_email', 'private_key');
  if (kind === 'authorized_user') need('client_id', 'client_secret', 'refresh_token');
  if (kind === 'external_account') {
    need('audience', 'subject_token_type');
    checkSource(json['credential_source'], path);
  }
  const secrets = ['private_key', 'client_secret', 'refresh_token'].map((name) => textOf(json, name));
  return { json, principal: principalOf(kind, json), secrets: secrets.filter((secret) => secret !== '') };
}

function parse(text: string, path: string): Json {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return value;
  } catch {
    // The message of a parser repeats the text.
  }
  throw new IdentityProblem(`${path} must be a JSON object, as Google's tools write it`);
}

function checkSource(source: unknown, path: string): void {
  const names = isObject(source) ? Object.keys(source) : [];
  if (sourceKinds.some((kind) => names.includes(kind)) && !names.includes('executable')) return;
  throw new IdentityProblem(
    `${path} has a credential_source that is not taken: it must have a file, a url or an environment_id of AWS, and no executable`,
  );
}

function principalOf(kind: Kind, json: Json): string {
  if (kind === 'service_account') return textOf(json, 'client_email');
  if (kind === 'authorized_user') return 'a user, by a file that gcloud wrote';
  const account = /\/serviceAccounts\/([^/:]+):/.exec(textOf(json, 'service_account_impersonation_url'))?.[1];
  return account ?? `a workload of ${textOf(json, 'audience')}`;
}

/** A failed question is repeated by what renews tokens, which also says why it failed; so the package does not repeat its requests. */
const unrepeated = {
  resolved: (config: GaxiosOptionsPrepared): Promise<GaxiosOptionsPrepared> =>
    Promise.resolve({ ...config, retryConfig: { retry: 0 } }),
};

/** Lets the package send with `fetch`: the part of it that asks the metadata server, and its clients with this transporter. */
export function googleTransporter({ gaxios }: Google, fetch: typeof globalThis.fetch): Gaxios {
  gaxios.instance.defaults.fetchImplementation = fetch;
  gaxios.instance.interceptors.request.add(unrepeated);
  const transporter = new gaxios.Gaxios({ fetchImplementation: fetch });
  transporter.interceptors.request.add(unrepeated);
  return transporter;
}

/** A client that has asked for nothing yet. `credentials`: absent for the metadata server. */
export function googleClient(
  google: Google,
  credentials: GoogleCredentials | undefined,
  transporter: Gaxios,
): AuthClient {
  const options = { transporter };
  if (credentials === undefined) return new google.Compute({ ...options, scopes });
  const { json } = credentials;
  if (json['type'] === 'service_account')
    return new google.JWT({
      ...options,
      email: textOf(json, 'client_email'),
      key: textOf(json, 'private_key'),
      keyId: textOf(json, 'private_key_id'),
      scopes,
    });
  if (json['type'] === 'authorized_user')
    return new google.UserRefreshClient({
      ...options,
      clientId: textOf(json, 'client_id'),
      clientSecret: textOf(json, 'client_secret'),
      refreshToken: textOf(json, 'refresh_token'),
    });
  return poolClient(google, json, options);
}

function poolClient(google: Google, json: Json, options: object): AuthClient {
  const given = { ...json, ...options, scopes } as unknown as IdentityPoolClientOptions;
  const source = json['credential_source'] as Json;
  const client =
    source['environment_id'] === undefined
      ? new google.IdentityPoolClient(given)
      : new google.AwsClient(given as unknown as ConstructorParameters<Google['AwsClient']>[0]);
  // The package gives the client that exchanges tokens no transporter, so it would send with one without limits.
  const { stsCredential } = client as unknown as { readonly stsCredential: object };
  Object.assign(stsCredential, { transporter: client.transporter });
  return client;
}

const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function textOf(json: Json, name: string): string {
  const value = json[name];
  return typeof value === 'string' ? value : '';
}
