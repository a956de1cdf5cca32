// How this process gets in to Redis: the address, the login of sentinels and the certificates, from variables and the files that they name.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { certificates, privateKey } from '../gitops/read/certificate-file.ts';
import {
  accessOf,
  parseRedisUrl,
  type RedisAccess,
  type RedisUrl,
  redisUrlForms,
} from '../store/state/redis/address.ts';
import { type RedisSecretName, readSecret, type SecretFile } from './secret-variable.ts';

export interface RedisVariables {
  /** Undefined: there is no Redis, or a problem says what is wrong. */
  readonly redisUrl: RedisUrl | undefined;
  readonly secretFiles: readonly SecretFile[];
}

type Get = (name: string) => string | undefined;

const pemFiles = { REDIS_CA: certificates, REDIS_CERT: certificates, REDIS_KEY: privateKey } as const;
const notAnAddress = 'holds no address such as redis://user:password@host:6379/0';

/** Reads the variables; what is wrong with them is added to `problems`. `get`: undefined for an unset variable. */
export function readRedisAccess(get: Get, problems: string[]): RedisVariables {
  const found = new Map<RedisSecretName, string>();
  const secretFiles: SecretFile[] = [];
  for (const name of ['REDIS_URL', 'REDIS_SENTINEL_PASSWORD'] as const) {
    const { value, path } = readSecret(name, get, problems);
    if (value === undefined) continue;
    found.set(name, value);
    const isWrong = (text: string): boolean => name === 'REDIS_URL' && parseRedisUrl(text) === undefined;
    if (path !== undefined)
      secretFiles.push({ name, path, value, problemOf: (text) => (isWrong(text) ? notAnAddress : undefined) });
  }
  for (const name of ['REDIS_CA', 'REDIS_CERT', 'REDIS_KEY'] as const) {
    const path = get(`${name}_FILE`);
    if (path === undefined) continue;
    const reading = pemFiles[name].now(path);
    if ('trouble' in reading) problems.push(`${name}_FILE names a file that ${reading.trouble}`);
    else {
      found.set(name, reading.key);
      const read = pemFiles[name].later;
      secretFiles.push({ name, path, value: reading.key, problemOf: () => undefined, read });
    }
  }
  const url = found.get('REDIS_URL');
  const username = get('REDIS_SENTINEL_USERNAME');
  const access =
    url === undefined ? undefined : accessWith({ url, sentinelUsername: username }, (name) => found.get(name));
  problems.push(...problemsWith(get, access));
  return { redisUrl: access && (Object.keys(access).length === 1 ? access.url : access), secretFiles };
}

/** The access with the values that are known by now in place of those before. */
export function renewedAccess(before: RedisUrl, known: (name: RedisSecretName) => string | undefined): RedisAccess {
  return accessWith(accessOf(before), known);
}

function accessWith(before: RedisAccess, known: (name: RedisSecretName) => string | undefined): RedisAccess {
  const { certificates: former = {}, sentinelUsername } = before;
  const sentinelPassword = known('REDIS_SENTINEL_PASSWORD') ?? before.sentinelPassword;
  const pem = {
    ca: known('REDIS_CA') ?? former.ca,
    cert: known('REDIS_CERT') ?? former.cert,
    key: known('REDIS_KEY') ?? former.key,
  };
  return {
    url: known('REDIS_URL') ?? before.url,
    ...(sentinelUsername === undefined ? {} : { sentinelUsername }),
    ...(sentinelPassword === undefined ? {} : { sentinelPassword }),
    ...(Object.values(pem).every((text) => text === undefined) ? {} : { certificates: pem }),
  };
}

/** Whether the certificate that is shown to the server and the key are not of the same pair. */
export function isMismatched({ certificates: pem = {} }: RedisAccess): boolean {
  const { cert, key } = pem;
  if (cert === undefined || key === undefined) return false;
  return !new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
}

export const mismatch = 'REDIS_CERT_FILE and REDIS_KEY_FILE name a certificate and a key that do not belong together';

/** What does not fit together: what is set beside the address would be without effect, or is not enough. */
function problemsWith(get: Get, access: RedisAccess | undefined): readonly string[] {
  const isSet = (...names: string[]): string[] => names.filter((name) => get(name) !== undefined);
  const forSentinels = isSet('REDIS_SENTINEL_USERNAME', 'REDIS_SENTINEL_PASSWORD', 'REDIS_SENTINEL_PASSWORD_FILE');
  const forTls = isSet('REDIS_CA_FILE', 'REDIS_CERT_FILE', 'REDIS_KEY_FILE');
  if (access === undefined) {
    // A file that cannot be read has been named already.
    if (isSet('REDIS_URL_FILE').length > 0) return [];
    return [...forSentinels, ...forTls].map((name) => `${name} is set without REDIS_URL`);
  }
  const address = parseRedisUrl(access);
  if (address === undefined) return [`REDIS_URL must look like ${redisUrlForms}`];
  const problems: string[] = [];
  if (address.kind !== 'sentinel')
    problems.push(...forSentinels.map((name) => `${name} is set, but REDIS_URL does not begin with redis-sentinel`));
  if (!address.isTls)
    problems.push(...forTls.map((name) => `${name} is set, but REDIS_URL does not begin with rediss`));
  const { username, password } = address.sentinelLogin;
  if (username !== undefined && password === undefined && forSentinels.length === 1)
    problems.push('REDIS_SENTINEL_USERNAME is set without REDIS_SENTINEL_PASSWORD');
  if (isSet('REDIS_CERT_FILE', 'REDIS_KEY_FILE').length === 1)
    problems.push('REDIS_CERT_FILE and REDIS_KEY_FILE belong together; set both of them');
  if (isMismatched(access)) problems.push(mismatch);
  return problems;
}
