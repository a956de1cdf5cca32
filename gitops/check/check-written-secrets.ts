// Warnings about secrets that are written out in the files: in a header, as the secret of a webhook, or as the default of a variable.
import { withoutKeys } from '../../schemas/formats/key-shapes.ts';
import type { Config } from '../../schemas/types.ts';
import type { Path } from '../../schemas/validation/path.ts';
import type { Sources } from '../assemble/sources.ts';
import { defaultsIn, refersToVariable } from '../read/expand.ts';
import type { Problem } from '../read/problem.ts';

/** Headers that carry a credential. */
const credential = /(?:^|[-_])(?:key|token|secret|password|auth|authorization|cookie)s?$/i;
/** A shorter default of a key stands for none: `EMPTY`, `ollama`. */
const leastLetters = 20;

/** No value enters a message. */
export function checkWrittenSecrets(
  { providers, guardrails }: Pick<Config, 'providers' | 'guardrails'>,
  sources: Sources,
): Problem[] {
  const ofProviders = Object.entries(providers).flatMap(
    ([name, { api_key, api_keys = [], headers, base_url, proxy_url }]) => {
      const at = ['providers', name];
      return [
        ...(api_key === undefined ? [] : defaultOf([...at, 'api_key'], true, sources)),
        ...api_keys.flatMap((_, index) => defaultOf([...at, 'api_keys', index], true, sources)),
        ...(base_url === undefined ? [] : defaultOf([...at, 'base_url'], false, sources)),
        ...(proxy_url === undefined ? [] : defaultOf([...at, 'proxy_url'], false, sources)),
        ...ofHeaders(headers, [...at, 'headers'], sources),
      ];
    },
  );
  const ofWebhooks = guardrails.flatMap(({ webhook }, index) => {
    if (webhook === undefined) return [];
    const at = ['guardrails', index, 'webhook'];
    const secret = [...at, 'secret'];
    return [
      ...(webhook.secret === undefined
        ? []
        : [...writtenOut(secret, true, sources), ...defaultOf(secret, true, sources)]),
      ...ofHeaders(webhook.headers, [...at, 'headers'], sources),
    ];
  });
  return [...ofProviders, ...ofWebhooks];
}

function ofHeaders(headers: Readonly<Record<string, string>>, at: Path, sources: Sources): Problem[] {
  return Object.keys(headers).flatMap((header) => {
    const path = [...at, header];
    const isCredential = credential.test(header);
    return [...writtenOut(path, isCredential, sources), ...defaultOf(path, isCredential, sources)];
  });
}

function writtenOut(path: Path, isSecret: boolean, sources: Sources): Problem[] {
  const text = String(sources.written(path));
  if (text === '' || refersToVariable(text) || !(isSecret || hasKey(text))) return [];
  return [
    sources.problem(path, `is a secret that is written out in the file; keep it in the environment and write $\{NAME}`),
  ];
}

/** `isSecret`: the value is one, whatever it looks like. */
function defaultOf(path: Path, isSecret: boolean, sources: Sources): Problem[] {
  const found = defaultsIn(String(sources.written(path))).find(
    ({ fallback }) => hasKey(fallback) || (isSecret && fallback.length >= leastLetters),
  );
  if (found === undefined) return [];
  const message = `has a secret as the default of ${found.name}, written out in the file; keep it in the environment and write \${${found.name}}`;
  return [sources.problem(path, message)];
}

/** Whether the text has the form of a known kind of key, or credentials of an address. */
function hasKey(text: string): boolean {
  return withoutKeys(text) !== text || /^[a-z]+:\/\/[^/\s]*:[^/\s@]+@/i.test(text);
}
