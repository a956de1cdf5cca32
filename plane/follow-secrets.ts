// The gateway's own secrets that lie in files, read again while the process runs, by the same means as the keys of providers. What cannot
// be used changes nothing: the last good value stays in force, and one line of the log says why, without the content.
import { setTimeout } from 'node:timers/promises';
import { FollowedSecret, lookMs } from '../gitops/follow/followed-secret.ts';
import type { RedisUrl } from '../store/state/redis/address.ts';
import type { MasterKeys } from '../store/state/seals.ts';
import type { PlaneSettings } from './environment.ts';
import type { Log } from './log-events.ts';
import { isMismatched, mismatch, renewedAccess } from './redis-access.ts';
import type { SecretFile, SecretName } from './secret-variable.ts';

export interface SecretsFollower {
  /** Why a file does not hold what is in force, a sentence each. */
  problems(): readonly string[];
  close(): void;
}

export interface FollowedSecrets {
  readonly settings: Pick<PlaneSettings, 'secretFiles' | 'masterKey' | 'previousMasterKey' | 'redisUrl'>;
  /** Puts other master keys in force. */
  readonly renewKeys: (keys: MasterKeys) => void;
  /** Puts other authorities of the control plane in force: PEM. */
  readonly renewAuthorities?: (pem: string) => void;
  /** See `PlaneStore`. */
  readonly reconnect: (redisUrl: RedisUrl, onTrouble: (trouble: Error) => void) => Promise<boolean>;
  readonly log: Log;
}

/** Follows the files of the settings from now on. Without any it does nothing. */
export function followSecrets(parts: FollowedSecrets): SecretsFollower {
  const follower = new Following(parts);
  void follower.lookAgain();
  return follower;
}

interface Followed extends Pick<SecretFile, 'name'> {
  readonly secret: FollowedSecret;
}

class Following implements SecretsFollower {
  readonly #parts: FollowedSecrets;
  readonly #files: readonly Followed[];
  readonly #closing = new AbortController();
  /** Why what the files say about Redis is not in use. */
  #unreached: string | undefined;
  #reconnections = 0;

  constructor(parts: FollowedSecrets) {
    this.#parts = parts;
    this.#files = parts.settings.secretFiles.map(({ name, path, value, problemOf, read }) => {
      return { name, secret: new FollowedSecret(path, value, problemOf, read) };
    });
  }

  problems(): readonly string[] {
    const unusable = this.#files.flatMap((file) => (file.secret.trouble === undefined ? [] : [sentenceOf(file)]));
    return this.#unreached === undefined ? unusable : [...unusable, this.#unreached];
  }

  close(): void {
    this.#closing.abort();
  }

  /** Until it is closed. */
  async lookAgain(): Promise<void> {
    const { signal } = this.#closing;
    while (this.#files.length > 0 && !signal.aborted) {
      await setTimeout(lookMs, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      await this.#look().catch((error: unknown) => {
        this.#parts.log.error({ err: error }, 'a renewed secret could not be put in force');
      });
    }
  }

  async #look(): Promise<void> {
    const renewed = new Set<SecretName>();
    for (const file of this.#files) {
      const change = await file.secret.look();
      const fields = { file: file.secret.path };
      if (change === 'lost') this.#parts.log.error(fields, sentenceOf(file));
      if (change === 'back')
        this.#parts.log.info(fields, `${file.name}_FILE names a file with the value in force again`);
      if (change !== 'renewed') continue;
      renewed.add(file.name);
      this.#parts.log.info(fields, `${file.name}_FILE names a file with another value now`);
    }
    // Both are renewed at once where both have changed.
    if (renewed.has('GATEWAY_MASTER_KEY') || renewed.has('GATEWAY_PREVIOUS_MASTER_KEY')) this.#renewKeys();
    const authorities = renewed.has('GATEWAY_CONTROL_PLANE_CA') ? this.#valueOf('GATEWAY_CONTROL_PLANE_CA') : undefined;
    if (authorities !== undefined) this.#parts.renewAuthorities?.(authorities);
    const ofRedis = [...renewed].filter((name) => name.startsWith('REDIS_'));
    if (ofRedis.length > 0) this.#reconnect(ofRedis.map((name) => `${name}_FILE`).join(', '));
  }

  #renewKeys(): void {
    const { settings, renewKeys, log } = this.#parts;
    const masterKey = this.#valueOf('GATEWAY_MASTER_KEY') ?? settings.masterKey;
    const previousMasterKey = this.#valueOf('GATEWAY_PREVIOUS_MASTER_KEY') ?? settings.previousMasterKey;
    renewKeys({ masterKey, previousMasterKey });
    log.info('the renewed master key is in force');
  }

  /** `files`: the variables of those that have changed. */
  #reconnect(files: string): void {
    const { reconnect, log, settings } = this.#parts;
    if (settings.redisUrl === undefined) return;
    const access = renewedAccess(settings.redisUrl, (name) => this.#valueOf(name));
    this.#reconnections += 1;
    const number = this.#reconnections;
    const onTrouble = (trouble: Error): void => {
      if (number !== this.#reconnections) return;
      this.#unreached = `${files} names what does not work yet; the connection before stays in use, and the new one is tried again: ${trouble.message}`;
      log.error(this.#unreached);
    };
    // The other one of the pair is written a moment later.
    const trying = isMismatched(access) ? Promise.reject(new Error(mismatch)) : reconnect(access, onTrouble);
    trying.then((isInUse) => {
      if (number !== this.#reconnections) return;
      this.#unreached = undefined;
      if (isInUse) log.info('the renewed address of Redis is in use');
    }, onTrouble);
  }

  #valueOf(name: SecretName): string | undefined {
    return this.#files.find((file) => file.name === name)?.secret.key;
  }
}

function sentenceOf({ name, secret }: Followed): string {
  return `${name}_FILE names a file that ${secret.trouble}; the last value stays in force`;
}
