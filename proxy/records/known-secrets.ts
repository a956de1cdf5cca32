// The secrets that a request has to do with: none of them may stand in what is logged and recorded of it.

export interface SecretHolder {
  readonly exchange: {
    readonly head?: { readonly authorization?: string | undefined; readonly apiKey?: string | undefined };
  };
  readonly failed?: readonly AskedHolder[];
  readonly accepted?: AskedHolder | undefined;
}

interface AskedHolder {
  readonly target: { readonly upstream: { readonly secrets?: readonly string[] } };
}

/** A key that is a word would only mangle what it stands in. Characters. */
const shortestKey = 8;

/** The key that the client has shown, and those of the providers that were asked. */
export function knownSecrets({ exchange, failed = [], accepted }: SecretHolder): readonly string[] {
  const { authorization = '', apiKey = '' } = exchange.head ?? {};
  const known: string[] = [];
  if (apiKey.length >= shortestKey) known.push(apiKey);
  const shown = authorization.slice(authorization.indexOf(' ') + 1).trim();
  if (shown.length >= shortestKey) known.push(shown);
  for (const asked of failed) addSecrets(known, asked);
  if (accepted !== undefined) addSecrets(known, accepted);
  return known;
}

function addSecrets(known: string[], { target }: AskedHolder): void {
  for (const secret of target.upstream.secrets ?? []) if (!known.includes(secret)) known.push(secret);
}
