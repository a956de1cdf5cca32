// What an inventory belongs to: a provider at an address. On disk only a digest of it stands, because an address may hold a secret.
import { createHash } from 'node:crypto';

/** Changes with the name and the address of the provider, not with its key. */
export function sourceOf(name: string, baseUrl: string): string {
  return createHash('sha256').update(`${name}\n${baseUrl}`).digest('hex').slice(0, 32);
}
