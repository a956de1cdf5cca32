// A variable that holds a secret: the value itself, or, under the name with _FILE, a file that holds it.
import { type KeyReading, readKeyFileSync } from '../gitops/read/key-file.ts';

/** What lets in to Redis. The last three are in files alone. */
export type RedisSecretName = 'REDIS_URL' | 'REDIS_SENTINEL_PASSWORD' | 'REDIS_CA' | 'REDIS_CERT' | 'REDIS_KEY';
export type SecretName =
  | 'GATEWAY_MASTER_KEY'
  | 'GATEWAY_PREVIOUS_MASTER_KEY'
  | RedisSecretName
  | 'DATABASE_URL'
  /** In a file alone; no secret, but followed as one. */
  | 'GATEWAY_CONTROL_PLANE_CA';

/** A file that holds a secret of the gateway. */
export interface SecretFile {
  readonly name: SecretName;
  readonly path: string;
  /** Its value at the start. */
  readonly value: string;
  /** The problem of a value, as the end of a sentence about the file; undefined: none. */
  readonly problemOf: (value: string) => string | undefined;
  /** How it is read again; default: as a line of text. */
  readonly read?: (path: string) => Promise<KeyReading>;
}

/** A secret, and the file it came from. */
export interface Secret {
  /** Undefined: it is not set, or a problem says what is wrong. */
  readonly value: string | undefined;
  /** Undefined: it came from no file. */
  readonly path: string | undefined;
}

/** Reads the secret of `name`. `get`: undefined for an unset variable. */
export function readSecret(name: SecretName, get: (name: string) => string | undefined, problems: string[]): Secret {
  const value = get(name);
  const path = get(`${name}_FILE`);
  if (path === undefined) return { value, path };
  if (value !== undefined) problems.push(`${name} and ${name}_FILE are both set; set one of them`);
  const reading = readKeyFileSync(path);
  if ('key' in reading) return { value: reading.key, path };
  problems.push(`${name}_FILE names a file that ${reading.trouble}`);
  return { value: undefined, path };
}
