// How an application proves itself to Azure. Files are read for each token, so that what replaces them counts at once.
import { createHash, createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Configuration } from '@azure/msal-node';
import type { AzureIdentity } from '../../schemas/types.ts';
import type { Variables } from '../../schemas/variables.ts';
import { IdentityProblem } from './vendor-error.ts';

export interface ApplicationSettings {
  readonly settings: AzureIdentity;
  readonly variables: Variables;
}

/** The settings of the package. Rejects where one is missing or a file cannot be read. */
export async function azureApplication(
  kind: 'workload' | 'client_secret' | 'client_certificate',
  { settings, variables }: ApplicationSettings,
): Promise<Configuration['auth']> {
  const need = (name: string, setting?: string): string => {
    const value = variables[name];
    if (value) return value;
    const other = setting === undefined ? '' : `, or azure.${setting} in the configuration`;
    throw new IdentityProblem(`Azure needs the variable ${name} for the proxy${other}`);
  };
  const tenant = settings.tenant_id ?? need('AZURE_TENANT_ID', 'tenant_id');
  const authority = authorityIn(variables);
  const application = {
    clientId: settings.client_id ?? need('AZURE_CLIENT_ID', 'client_id'),
    authority: new URL(`/${encodeURIComponent(tenant)}`, authority).href,
    // Otherwise the package asks login.microsoftonline.com about the authority.
    knownAuthorities: [authority.host],
  };
  if (kind === 'client_secret') return { ...application, clientSecret: need('AZURE_CLIENT_SECRET') };
  if (kind === 'workload')
    return { ...application, clientAssertion: await assertionIn(need('AZURE_FEDERATED_TOKEN_FILE')) };
  const path = need('AZURE_CLIENT_CERTIFICATE_PATH');
  return { ...application, clientCertificate: await certificateIn(path, variables) };
}

function authorityIn(variables: Variables): URL {
  const text = variables['AZURE_AUTHORITY_HOST'] || 'https://login.microsoftonline.com';
  const url = URL.parse(text);
  if (url?.protocol === 'https:') return url;
  throw new IdentityProblem('AZURE_AUTHORITY_HOST must be an https address such as https://login.microsoftonline.com');
}

async function assertionIn(path: string): Promise<string> {
  const token = (await textOf('AZURE_FEDERATED_TOKEN_FILE', path)).trim();
  if (token !== '') return token;
  throw new IdentityProblem(`AZURE_FEDERATED_TOKEN_FILE names ${path}, which is empty`);
}

/** A PEM file with a certificate, its chain and its key, as for Microsoft's own tools. */
async function certificateIn(
  path: string,
  variables: Variables,
): Promise<NonNullable<Configuration['auth']['clientCertificate']>> {
  const pem = await textOf('AZURE_CLIENT_CERTIFICATE_PATH', path);
  const passphrase = variables['AZURE_CLIENT_CERTIFICATE_PASSWORD'] || undefined;
  try {
    const key = createPrivateKey({ key: pem, ...(passphrase === undefined ? {} : { passphrase }) });
    return {
      thumbprintSha256: createHash('sha256').update(new X509Certificate(pem).raw).digest('hex'),
      privateKey: key.export({ type: 'pkcs8', format: 'pem' }),
      x5c: pem,
    };
  } catch {
    // What OpenSSL says would not help, and might repeat the file.
    throw new IdentityProblem(
      `AZURE_CLIENT_CERTIFICATE_PATH names ${path}, which must hold a certificate and its private key in PEM; AZURE_CLIENT_CERTIFICATE_PASSWORD opens an encrypted key`,
    );
  }
}

async function textOf(variable: string, path: string): Promise<string> {
  return readFile(path, 'utf8').catch(({ code }: { readonly code?: string }) => {
    throw new IdentityProblem(`${variable} names ${path}, which cannot be read (${code})`);
  });
}
