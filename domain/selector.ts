// Parses names of models: `<provider>/<model>`, or a bare model id.

export interface Selector {
  /** Absent in a bare model id. */
  provider?: string;
  model: string;
}

/**
 * Splits at the first slash, so `openrouter/meta/llama` is model `meta/llama` of provider `openrouter`. Text without a slash is a
 * bare model id. Undefined when either part is empty.
 */
export function parseSelector(text: string): Selector | undefined {
  const slash = text.indexOf('/');
  if (slash === -1) return text === '' ? undefined : { model: text };
  const provider = text.slice(0, slash);
  const model = text.slice(slash + 1);
  return provider === '' || model === '' ? undefined : { provider, model };
}

/** Lower case for comparing provider names, model ids and alias sources; independent of the machine's locale. */
export function foldCase(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

/**
 * Whether a subject or selector `a/b` names a provider: yes when a provider `a` is configured, otherwise `a/b` is a bare id with a slash
 * (design section 4). `providers`: the configured names, in lower case.
 */
export function isQualified(text: string, providers: ReadonlySet<string>): boolean {
  const slash = text.indexOf('/');
  return slash !== -1 && providers.has(foldCase(text.slice(0, slash)));
}
