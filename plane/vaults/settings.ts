// Reads the variables that say where secrets of vaults are, and as whom they are read.
import type { VariableReader } from '../environment.ts';

export interface VaultSettings {
  /** Between two reads of a secret. Milliseconds. */
  readonly refreshMs: number;
  readonly hashicorp: HashicorpSettings;
  readonly aws: AwsSettings;
  readonly google: GoogleSettings;
  readonly azure: AzureSettings;
}

/** Empty texts: not set. */
export interface AwsSettings {
  /** Of secrets that are named without one. */
  readonly region: string;
  readonly endpoint: string;
}

/** An empty text: the usual one. */
export interface GoogleSettings {
  readonly endpoint: string;
}

export interface AzureSettings {
  /** Of a vault; `{vault}` stands for its name. */
  readonly address: string;
}

/** Empty texts: not set. */
export interface HashicorpSettings {
  readonly address: string;
  readonly token: string;
  readonly tokenFile: string;
  readonly role: string;
  readonly authMount: string;
  readonly jwtFile: string;
  readonly namespace: string;
  /** A file of certificates. */
  readonly authoritiesFile: string;
}

const shortestRefreshMs = 100;

export function readVaultSettings(reader: VariableReader): VaultSettings {
  const refreshMs = reader.wholeNumber('GATEWAY_SECRET_REFRESH_MS', 60_000, 86_400_000);
  if (refreshMs < shortestRefreshMs)
    reader.problems.push(`GATEWAY_SECRET_REFRESH_MS must be at least ${shortestRefreshMs}`);
  const hashicorp = {
    address: addressIn(reader, 'VAULT_ADDR'),
    token: reader.text('VAULT_TOKEN', ''),
    tokenFile: reader.text('VAULT_TOKEN_FILE', ''),
    role: reader.text('VAULT_ROLE', ''),
    authMount: reader.text('VAULT_AUTH_MOUNT', 'kubernetes').replace(/^\/+|\/+$/g, ''),
    jwtFile: reader.text('VAULT_JWT_FILE', '/var/run/secrets/kubernetes.io/serviceaccount/token'),
    namespace: reader.text('VAULT_NAMESPACE', ''),
    authoritiesFile: reader.text('VAULT_CACERT', ''),
  };
  const ways = [hashicorp.token, hashicorp.tokenFile, hashicorp.role].filter((way) => way !== '');
  if (ways.length > 1)
    reader.problems.push(
      'only one of VAULT_TOKEN, VAULT_TOKEN_FILE and VAULT_ROLE can be set: each is a way to log in',
    );
  const azure = addressIn(reader, 'GATEWAY_AZURE_KEY_VAULT_URL', 'https://{vault}.vault.azure.net');
  if (!azure.includes('{vault}')) reader.problems.push('GATEWAY_AZURE_KEY_VAULT_URL must have {vault} for the name');
  const region = reader.text('AWS_DEFAULT_REGION', '');
  return {
    refreshMs,
    hashicorp,
    aws: { region: reader.text('AWS_REGION', region), endpoint: addressIn(reader, 'AWS_ENDPOINT_URL_SECRETS_MANAGER') },
    google: { endpoint: addressIn(reader, 'CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER') },
    azure: { address: azure },
  };
}

/** Without a slash at the end. */
function addressIn(reader: VariableReader, name: string, usual: string = ''): string {
  const address = reader.text(name, usual).replace(/\/+$/, '');
  const url = URL.parse(address.replace('{vault}', 'vault'));
  const isAddress = url !== null && /^https?:$/.test(url.protocol) && `${url.username}${url.password}` === '';
  if (address !== '' && !isAddress)
    reader.problems.push(`${name} must be an address such as https://vault.internal:8200, without credentials`);
  return address;
}
