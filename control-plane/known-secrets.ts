// The secrets of the gateway that the control plane knows: none of them may be typed into what operators write.

import { secretVariable } from '../domain/identities/people.ts';
import type { PlaneSettings } from '../plane/environment.ts';
import type { Identity, Provider } from '../schemas/types.ts';
import type { Variables } from '../schemas/variables.ts';
import { parseRedisUrl } from '../store/state/redis/address.ts';

export interface SecretSources {
  readonly environment: Pick<PlaneSettings, 'masterKey' | 'previousMasterKey' | 'redisUrl'> & {
    readonly databaseUrl: string | undefined;
    readonly variables: Variables;
  };
  /** The key in force, which may have followed the one of the environment. */
  readonly managed: { readonly masterKey: string | undefined };
  /** As declared: references to variables are not filled in, so only keys that stand in the files are known. */
  readonly config: {
    readonly providers: { readonly [name: string]: Pick<Provider, 'api_key' | 'api_keys'> };
    readonly identities: { readonly [name: string]: Pick<Identity, 'sign_in'> };
  };
}

/**
 * Master keys, passwords of the stores and of their sentinels, secrets at identity providers, and keys of providers that the configuration holds as
 * they are.
 */
export function knownSecrets({ environment, managed, config }: SecretSources): readonly string[] {
  const { masterKey, previousMasterKey, redisUrl, databaseUrl } = environment;
  const ofProviders = Object.values(config.providers).flatMap(({ api_key, api_keys = [] }) => [api_key, ...api_keys]);
  const written = ofProviders.filter((key) => key?.includes('${') === false);
  const redis = redisUrl === undefined ? undefined : parseRedisUrl(redisUrl);
  const passwords = [redis?.password, redis?.sentinelLogin.password, passwordOf(databaseUrl)];
  const clients = Object.values(config.identities).map((each) => environment.variables[secretVariable(each) ?? '']);
  const all = [managed.masterKey, masterKey, previousMasterKey, ...passwords, ...clients, ...written];
  return all.filter((secret) => secret !== undefined);
}

function passwordOf(address: string | undefined): string | undefined {
  const password = URL.parse(address ?? '')?.password ?? '';
  if (password === '') return undefined;
  try {
    return decodeURIComponent(password);
  } catch {
    return password;
  }
}
