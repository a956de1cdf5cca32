// Signing out at the identity provider, after the session here has ended.
import { setTimeout } from 'node:timers/promises';
import type { Person } from '../../../domain/keys/person.ts';
import { dashboardPath } from './dashboard-page.ts';
import type { Providers } from './providers.ts';
import type { SignIns } from './settings.ts';

/** How long to wait for a provider that has to be asked where that is. Milliseconds. */
const patienceMs = 2_000;

/** Gives the page of the provider where the browser signs out. It never rejects; undefined: there is none, or the provider does not answer. */
export type SignOut = (person: Pick<Person, 'identity'>) => Promise<string | undefined>;

export function createSignOut(signIns: () => SignIns, providers: Providers): SignOut {
  return async ({ identity }) => {
    const signIn = signIns().get(identity);
    if (signIn === undefined) return undefined;
    const over = new AbortController();
    const late = setTimeout(patienceMs, undefined, { signal: over.signal }).catch(() => undefined);
    const asked = signIn
      .provider()
      .then((settings) => providers(identity, settings))
      .then((provider) => provider.signOutUrl(signIn.publicUrl + dashboardPath))
      .catch(() => undefined);
    try {
      return await Promise.race([asked, late]);
    } finally {
      over.abort();
    }
  };
}
