// Keeps a provider's secrets out of what a client is told in the provider's words.

/** Removes the provider's secrets, and anything that looks like a key, from a text. */
export function redact(text: string, secrets: readonly string[]): string {
  const known = secrets.reduce((rest, secret) => rest.replaceAll(secret, '[redacted]'), text);
  return known.replace(/\bsk-[A-Za-z0-9_*-]{4,}/g, '[redacted]');
}
