// The gateway's own secrets from its variables: the master keys and the address of Redis, and the files that hold them.
import type { RedisUrl } from '../store/state/redis/address.ts';
import { readRedisAccess } from './redis-access.ts';
import { readSecret, type Secret, type SecretFile, type SecretName } from './secret-variable.ts';

export interface OwnSecrets {
  readonly masterKey: string | undefined;
  readonly previousMasterKey: string | undefined;
  readonly redisUrl: RedisUrl | undefined;
  readonly secretFiles: readonly SecretFile[];
  /** Sentences about secrets that work but should be changed. */
  readonly warnings: readonly string[];
}

/** A shorter master key can be guessed: `/v1` answers about ten thousand attempts per second. */
const shortestMasterKey = 16;

/** Reads the secrets; what is wrong with them is added to `problems`. `get`: undefined for an unset variable. */
export function readOwnSecrets(
  get: (name: string) => string | undefined,
  problems: string[],
  { insecure, host }: Pick<MasterKeys, 'insecure' | 'host'>,
): OwnSecrets {
  const masterKey = readSecret('GATEWAY_MASTER_KEY', get, problems);
  const previousMasterKey = readSecret('GATEWAY_PREVIOUS_MASTER_KEY', get, problems);
  const keys = { key: masterKey.value, previousKey: previousMasterKey.value };
  const checked = checkMasterKey({ ...keys, insecure, host, file: masterKey.path });
  problems.push(...checked.problems);
  const redis = readRedisAccess(get, problems);
  const isGuessable = (value: string): boolean => value.length < shortestMasterKey && !isLoopback(host);
  return {
    masterKey: masterKey.value,
    previousMasterKey: previousMasterKey.value,
    redisUrl: redis.redisUrl,
    secretFiles: [
      ...fileOf('GATEWAY_MASTER_KEY', masterKey, (value) => (isGuessable(value) ? guessable : undefined)),
      ...fileOf('GATEWAY_PREVIOUS_MASTER_KEY', previousMasterKey, () => undefined),
      ...redis.secretFiles,
    ],
    warnings: checked.warnings,
  };
}

/** The problem of a file that was read again. */
const guessable = `holds a key of fewer than ${shortestMasterKey} characters, which can be guessed`;

function fileOf(name: SecretName, { value, path }: Secret, problemOf: SecretFile['problemOf']): SecretFile[] {
  return value === undefined || path === undefined ? [] : [{ name, path, value, problemOf }];
}

/** The master keys and the circumstances they are checked with. */
interface MasterKeys {
  readonly key: string | undefined;
  readonly previousKey: string | undefined;
  readonly insecure: boolean;
  /** The address that the plane is bound to. */
  readonly host: string;
  /** The file that should hold the key; what is wrong with it has been said. */
  readonly file: string | undefined;
}

/** Problems end the start; warnings do not. A sentence each. */
function checkMasterKey({ key, previousKey, insecure, host, file }: MasterKeys): {
  problems: string[];
  warnings: string[];
} {
  const problems: string[] = [];
  if (key === undefined) {
    if (!insecure && file === undefined) {
      problems.push(
        'GATEWAY_MASTER_KEY is not set; set it to a long random text, or GATEWAY_INSECURE=true to go without',
      );
    }
    if (previousKey !== undefined) {
      problems.push('GATEWAY_PREVIOUS_MASTER_KEY is set without a GATEWAY_MASTER_KEY that follows it');
    }
    return { problems, warnings: [] };
  }
  // A bearer token is sent in a header, so a key with other characters could never match.
  if (!/^[\x21-\x7e]+$/.test(key)) {
    return { problems: ['GATEWAY_MASTER_KEY must consist of visible ASCII characters without spaces'], warnings: [] };
  }
  if (key.length >= shortestMasterKey) return { problems, warnings: [] };
  const said = `GATEWAY_MASTER_KEY has fewer than ${shortestMasterKey} characters and can be guessed`;
  return isLoopback(host)
    ? { problems, warnings: [`${said}; a gateway that other machines reach does not start with it`] }
    : { problems: [`${said}; set it to a long random text, or listen on 127.0.0.1 only`], warnings: [] };
}

/** Whether only this machine can reach a server on this address or name. */
function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/.test(host);
}
