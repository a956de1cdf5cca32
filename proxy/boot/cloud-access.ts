// As whom the proxy reads secrets in vaults of clouds: the identities that clouds give to this machine. Each is asked for when the first
// reference needs it, and renewed from then on.
import { once } from 'node:events';
import type { Cloud, CloudAccess } from '../../plane/vaults/cloud-access.ts';
import { VaultTrouble } from '../../plane/vaults/read-secret.ts';
import { awsSource } from '../cloud-identity/aws.ts';
import { azureSource } from '../cloud-identity/azure.ts';
import { googleSource } from '../cloud-identity/google.ts';
import { type HeldCredential, Renewal, usualPace } from '../cloud-identity/renewal.ts';
import type { SourceParts, TokenSource } from '../cloud-identity/token-source.ts';
import { signAws } from '../upstream/sign-aws.ts';

/** Tokens for vaults at an address such as `https://{vault}.vault.azure.net` are for `https://vault.azure.net`. */
export function scopeOfVaults(address: string): string {
  return `${new URL(address.replace('{vault}.', '').replace('{vault}', '')).origin}/.default`;
}

/** `nowMs`: the gateway's clock. `azureAddress`: of vaults, with `{vault}` for the name of one. */
export function openCloudAccess(sources: SourceParts, nowMs: () => number, azureAddress: string): CloudAccess {
  const makers: Record<Cloud, () => TokenSource> = {
    aws: () => awsSource({ addressRegion: undefined }),
    google: () => googleSource({}, sources),
    azure: () => azureSource({ scope: scopeOfVaults(azureAddress) }, sources),
  };
  const renewals = new Map<Cloud, Renewal>();

  function renewalOf(cloud: Cloud): Renewal {
    const known = renewals.get(cloud);
    if (known !== undefined) return known;
    const parts = { nowMs, random: Math.random, pace: usualPace, ended: () => undefined };
    const renewal = new Renewal(makers[cloud](), parts);
    renewals.set(cloud, renewal);
    renewal.renew();
    return renewal;
  }

  async function heldBy(cloud: Cloud, signal: AbortSignal): Promise<HeldCredential> {
    const renewal = renewalOf(cloud);
    const over = new AbortController();
    await Promise.race([renewal.settled, once(signal, 'abort', { signal: over.signal }).catch(() => undefined)]);
    over.abort();
    if (renewal.held !== undefined) return renewal.held;
    throw new VaultTrouble(`cannot be read: ${renewal.problem ?? `${cloud} gives no credential in time`}`);
  }

  return {
    async token(cloud, signal) {
      const { credential } = await heldBy(cloud, signal);
      if (credential.kind === 'bearer') return credential.token;
      throw new VaultTrouble(`cannot be read: ${cloud} gives no token`);
    },
    async signAws(request, signal) {
      const { credential, clockAheadMs } = await heldBy('aws', signal);
      if (credential.kind === 'aws') return signAws(request, credential.credentials, nowMs() + clockAheadMs);
      throw new VaultTrouble('cannot be read: AWS gives no credentials');
    },
    refused: (cloud) => renewals.get(cloud)?.refused(),
  };
}
