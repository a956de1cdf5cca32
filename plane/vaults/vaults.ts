// The vaults that references of the configuration lead to. Each client is loaded when the first reference asks for it.
import type { Vaults } from '../../gitops/follow/fetched-secret.ts';
import type { SecretReference, SecretScheme } from '../../gitops/read/secret-reference.ts';
import { member } from './member.ts';
import { type ReadSecret, VaultTrouble } from './read-secret.ts';
import type { VaultSettings } from './settings.ts';

/** For one read, with the login before it. Milliseconds. */
const patienceMs = 5_000;

type VaultScheme = Exclude<SecretScheme, 'file'>;

/** `nowMs`: any clock. */
export function openVaults({ refreshMs, hashicorp }: VaultSettings, nowMs: () => number): Vaults {
  const loaders: Partial<Record<VaultScheme, () => Promise<ReadSecret>>> = {
    vault: async () => (await import('./hashicorp.ts')).hashicorpVault(hashicorp, nowMs),
  };
  const readers = new Map<VaultScheme, Promise<ReadSecret>>();
  const readerOf = (scheme: VaultScheme): Promise<ReadSecret> => {
    const reader = readers.get(scheme) ?? loaders[scheme]?.();
    if (reader === undefined) throw new VaultTrouble('cannot be read by this version');
    readers.set(scheme, reader);
    return reader;
  };
  /** References to members of one secret share a read that is under way. */
  const underWay = new Map<string, Promise<string>>();

  function read(scheme: VaultScheme, name: string): Promise<string> {
    const id = `${scheme}:${name}`;
    const reading =
      underWay.get(id) ??
      readerOf(scheme)
        .then((reader) => reader(name, AbortSignal.timeout(patienceMs)))
        .finally(() => underWay.delete(id));
    underWay.set(id, reading);
    return reading;
  }

  return {
    refreshMs,
    async fetch({ scheme, name, field }: SecretReference) {
      try {
        if (scheme === 'file') throw new VaultTrouble('is no secret of a vault');
        const secret = await read(scheme, name);
        return { bytes: Buffer.from(field === undefined ? secret : member(secret, field)) };
      } catch (error) {
        if (error instanceof VaultTrouble) return { trouble: error.message };
        // The message of a vendor's package may repeat what was sent.
        return { trouble: `cannot be read (${error instanceof Error ? error.name : 'unknown error'})` };
      }
    },
  };
}
