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
  const shown = [apiKey, authorization.slice(authorization.indexOf(' ') + 1)].filter(
    (key) => key.length >= shortestKey,
  );
  if (failed.length === 0) return accepted === undefined ? shown : [...shown, ...secretsOf(accepted)];
  const asked = [...failed, ...(accepted === undefined ? [] : [accepted])];
  return [...new Set([...shown, ...asked.flatMap(secretsOf)])];
}

function secretsOf({ target }: AskedHolder): readonly string[] {
  return target.upstream.secrets ?? [];
}
