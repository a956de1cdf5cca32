// The vaults that references of the configuration lead to. Each client is loaded when the first reference asks for it.
import type { Vaults } from '../../gitops/follow/fetched-secret.ts';
import type { SecretReference, SecretScheme } from '../../gitops/read/secret-reference.ts';
import type { CloudAccess } from './cloud-access.ts';
import { member } from './member.ts';
import { type ReadSecret, VaultTrouble } from './read-secret.ts';
import type { VaultSettings } from './settings.ts';

const usualPatienceMs = 5_000;
/** A start with many references shall not open as many connections. */
const mostAtOnce = 16;

type VaultScheme = Exclude<SecretScheme, 'file'>;

export interface VaultParts {
  readonly access: CloudAccess;
  /** Any clock. */
  readonly nowMs: () => number;
  /** For one read, with the login before it. Milliseconds; default: 5,000. */
  readonly patienceMs?: number;
}

export function openVaults(
  settings: VaultSettings,
  { access, nowMs, patienceMs = usualPatienceMs }: VaultParts,
): Vaults {
  const { refreshMs, hashicorp, aws, google, azure } = settings;
  const loaders: Record<VaultScheme, () => Promise<ReadSecret>> = {
    vault: async () => (await import('./hashicorp.ts')).hashicorpVault(hashicorp, nowMs),
    'aws-sm': async () => (await import('./aws.ts')).awsVault(aws, access),
    'gcp-sm': async () => (await import('./google.ts')).googleVault(google, access),
    'azure-kv': async () => (await import('./azure.ts')).azureVault(azure, access),
  };
  const readers = new Map<VaultScheme, Promise<ReadSecret>>();
  const readerOf = (scheme: VaultScheme): Promise<ReadSecret> => {
    const reader = readers.get(scheme) ?? loaders[scheme]();
    readers.set(scheme, reader);
    return reader;
  };
  /** References to members of one secret share a read that is under way. */
  const underWay = new Map<string, Promise<string>>();

  let open = 0;
  const waiting: (() => void)[] = [];

  async function inTurn<Result>(work: () => Promise<Result>): Promise<Result> {
    if (open < mostAtOnce) open += 1;
    else await new Promise<void>((next) => waiting.push(next));
    try {
      return await work();
    } finally {
      // Who waits longest takes the place.
      const next = waiting.shift();
      if (next === undefined) open -= 1;
      else next();
    }
  }

  function read(scheme: VaultScheme, name: string): Promise<string> {
    const id = `${scheme}:${name}`;
    const reading =
      underWay.get(id) ??
      readerOf(scheme)
        .then((reader) => inTurn(() => reader(name, AbortSignal.timeout(patienceMs))))
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
