// The identity of an inventory: a provider of a type at an address. Only its digest is stored, because an address may hold a secret.
import { createHash } from 'node:crypto';
import type { Provider } from '../../schemas/types.ts';

/** Changes with the name, the address and the type of the provider, which say where its models are listed; not with its key. */
export function sourceOf(name: string, { base_url, type }: Pick<Provider, 'base_url' | 'type'>): string {
  return createHash('sha256').update(`${name}\n${base_url}\n${type}`).digest('hex').slice(0, 32);
}
