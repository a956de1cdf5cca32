// HashiCorp Vault, and OpenBao: a read of the KV engine is one GET, https://developer.hashicorp.com/vault/api-docs/secret/kv/kv-v2.
import { certificates } from '../../gitops/read/certificate-file.ts';
import { readKeyFile } from '../../gitops/read/key-file.ts';
import { ask, type Question, type Reply } from './ask.ts';
import { type ReadSecret, VaultTrouble } from './read-secret.ts';
import type { HashicorpSettings } from './settings.ts';

/** The share of its life after which a token is renewed, or taken anew. */
const renewAt = 2 / 3;

/** Reads the values at a path as one object in JSON. `nowMs`: any clock. */
export function hashicorpVault(settings: HashicorpSettings, nowMs: () => number): ReadSecret {
  const login = new Login(settings, nowMs);
  return async (path, signal) => {
    if (settings.address === '') throw new VaultTrouble('cannot be read: VAULT_ADDR is not set');
    const token = await login.token(signal);
    let reply = await askVault(settings, path, { signal, token });
    // The token may have been revoked, or the file of it replaced.
    const other = reply.status === 403 ? await login.otherThan(token, signal) : undefined;
    if (other !== undefined) reply = await askVault(settings, path, { signal, token: other });
    return JSON.stringify(valuesIn(reply));
  };
}

interface Asking extends Pick<Question, 'body' | 'signal'> {
  readonly token?: string;
}

async function askVault(
  { address, namespace, authoritiesFile }: HashicorpSettings,
  path: string,
  { token, ...question }: Asking,
): Promise<Reply> {
  const trusted = authoritiesFile === '' ? undefined : await certificates.later(authoritiesFile);
  if (trusted !== undefined && 'trouble' in trusted)
    throw new VaultTrouble(`cannot be read: VAULT_CACERT names a file that ${trusted.trouble}`);
  const headers = {
    'x-vault-request': 'true',
    ...(namespace === '' ? {} : { 'x-vault-namespace': namespace }),
    ...(token === undefined ? {} : { 'x-vault-token': token }),
  };
  const url = `${address}/v1/${path.split('/').map(encodeURIComponent).join('/')}`;
  return ask('Vault', { url, headers, authorities: trusted?.key, ...question });
}

function valuesIn({ status, body }: Reply): object {
  if (status === 404) throw new VaultTrouble('is not in Vault (404)');
  if (status === 403) throw new VaultTrouble('cannot be read: Vault refuses its token, or the policy of that (403)');
  if (status === 503) throw new VaultTrouble('cannot be read: Vault is sealed or has no leader (503)');
  if (status !== 200) throw new VaultTrouble(`cannot be read: Vault answers ${status}`);
  // Such a secret would be made anew at each read.
  if (typeof body['lease_id'] === 'string' && body['lease_id'] !== '')
    throw new VaultTrouble('is made anew at each read; only those of the KV engine can be referred to');
  const { data } = body;
  const inner = isObject(data) && isObject(data['metadata']) ? data['data'] : data;
  if (!isObject(inner)) throw new VaultTrouble('cannot be read: Vault gives no values there');
  return inner;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

/** The token that secrets are read with. */
class Login {
  readonly #settings: HashicorpSettings;
  readonly #nowMs: () => number;
  #token: string | undefined;
  /** From when on it is taken anew, or renewed. */
  #dueMs = 0;
  #underWay: Promise<string> | undefined;

  constructor(settings: HashicorpSettings, nowMs: () => number) {
    this.#settings = settings;
    this.#nowMs = nowMs;
  }

  /** Rejects with a `VaultTrouble` when there is none. */
  async token(signal: AbortSignal): Promise<string> {
    const { token, tokenFile, role } = this.#settings;
    if (tokenFile !== '') return readOr(tokenFile, 'VAULT_TOKEN_FILE');
    if (token === '' && role === '')
      throw new VaultTrouble('cannot be read: none of VAULT_TOKEN, VAULT_TOKEN_FILE and VAULT_ROLE is set');
    if (this.#token !== undefined && this.#nowMs() < this.#dueMs) return this.#token;
    // Those who come while it is under way share it.
    this.#underWay ??= (token === '' ? this.#logIn(signal) : this.#renew(token, signal)).finally(() => {
      this.#underWay = undefined;
    });
    return this.#underWay;
  }

  /** Another token than one that was refused; undefined: there is none. */
  async otherThan(refused: string, signal: AbortSignal): Promise<string | undefined> {
    if (this.#settings.role !== '' && this.#token === refused) this.#token = undefined;
    const token = await this.token(signal);
    return token === refused ? undefined : token;
  }

  async #logIn(signal: AbortSignal): Promise<string> {
    const { role, jwtFile, authMount } = this.#settings;
    const jwt = await readOr(jwtFile, 'VAULT_JWT_FILE');
    const { status, body } = await askVault(this.#settings, `auth/${authMount}/login`, {
      body: JSON.stringify({ role, jwt }),
      signal,
    });
    const auth = isObject(body['auth']) ? body['auth'] : {};
    const { client_token: token } = auth;
    if (status !== 200 || typeof token !== 'string')
      throw new VaultTrouble(`cannot be read: Vault refuses the login with VAULT_ROLE (${status})`);
    return this.#keep(token, auth);
  }

  /** A token that cannot be renewed, such as the first one of a Vault, is used as it is. */
  async #renew(token: string, signal: AbortSignal): Promise<string> {
    const { status, body } = await askVault(this.#settings, 'auth/token/renew-self', { body: '{}', signal, token });
    return this.#keep(token, status === 200 && isObject(body['auth']) ? body['auth'] : {});
  }

  #keep(token: string, { lease_duration: seconds }: Readonly<Record<string, unknown>>): string {
    const lifeMs = typeof seconds === 'number' && seconds > 0 ? seconds * 1_000 : Number.POSITIVE_INFINITY;
    this.#token = token;
    this.#dueMs = this.#nowMs() + renewAt * lifeMs;
    return token;
  }
}

async function readOr(path: string, variable: string): Promise<string> {
  const reading = await readKeyFile(path);
  if ('trouble' in reading) throw new VaultTrouble(`cannot be read: ${variable} names a file that ${reading.trouble}`);
  return reading.key;
}
