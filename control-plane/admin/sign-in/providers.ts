// The identity providers that were asked before: each discovery document is read once, and again after a while.
import type { Provider } from './provider.ts';
import type { ProviderSettings } from './settings.ts';

/** How long a discovery document is taken as it was read. Milliseconds. */
const freshMs = 10 * 60_000;

interface Known {
  /** The settings it was read with. */
  readonly settings: string;
  readonly provider: Promise<Provider>;
  readonly sinceMs: number;
}

/** Gives the provider of an identity. What failed is not kept: the next sign-in asks again; those at the same time share one answer. */
export type Providers = (name: string, settings: ProviderSettings) => Promise<Provider>;

export function createProviders(nowMs: () => number): Providers {
  const known = new Map<string, Known>();
  return async (name, given) => {
    const settings = JSON.stringify(given);
    const before = known.get(name);
    if (before?.settings === settings && nowMs() - before.sinceMs < freshMs) return before.provider;
    const provider = import('./provider.ts').then(({ connectProvider }) => connectProvider(given));
    const made = { settings, provider, sinceMs: nowMs() };
    known.set(name, made);
    provider.catch(() => {
      if (known.get(name) === made) known.delete(name);
    });
    return provider;
  };
}
