// The secrets that a request has to do with: none of them may stand in what is logged and recorded of it.
import type { Head } from '../call/head.ts';

export interface SecretHolder {
  readonly exchange: {
    readonly head?: Partial<Pick<Head, 'authorization' | 'apiKey' | 'gatewayKey'>>;
  };
  readonly failed?: readonly AskedHolder[];
  readonly accepted?: AskedHolder | undefined;
}

interface AskedHolder {
  readonly target: { readonly upstream: { readonly secrets?: readonly string[] } };
}

/** A key that is a word would only mangle what it stands in. Characters. */
const shortestKey = 8;

/** The keys that the client has shown, that of the gateway and its own for a provider, and those of the providers that were asked. */
export function knownSecrets({ exchange, failed = [], accepted }: SecretHolder): readonly string[] {
  const { authorization = '', apiKey = '', gatewayKey = '' } = exchange.head ?? {};
  const known = new Set<string>();
  for (const key of [apiKey, gatewayKey]) if (key.length >= shortestKey) known.add(key);
  const shown = authorization.slice(authorization.indexOf(' ') + 1).trim();
  if (shown.length >= shortestKey) known.add(shown);
  for (const asked of failed) addSecrets(known, asked);
  if (accepted !== undefined) addSecrets(known, accepted);
  return [...known];
}

function addSecrets(known: Set<string>, { target }: AskedHolder): void {
  for (const secret of target.upstream.secrets ?? []) known.add(secret);
}
