// Checks of the keys of a provider: that they stand in one place, can be sent, and are not written out in the file.
import { parseAwsKey } from '../../domain/keys/aws-key.ts';
import { defaultAddresses, typesWithOptionalKey } from '../../schemas/provider-addresses.ts';
import type { Provider } from '../../schemas/types.ts';
import { type Path, quote } from '../../schemas/validation/path.ts';
import type { Sources } from '../assemble/sources.ts';
import { refersToVariable } from '../read/expand.ts';
import type { Problem } from '../read/problem.ts';

export interface ProviderFindings {
  problems: Problem[];
  warnings: Problem[];
  /** Providers all of whose keys expand to an empty text: they cannot be called, so they are left out. */
  keyless: Set<string>;
}

/** Where keys may stand: a provider has one of these. */
const places = ['api_key', 'api_key_file', 'api_keys', 'api_key_files'] as const;

/** No value of a key enters a message. */
export function checkKeys(name: string, provider: Provider, sources: Sources, findings: ProviderFindings): void {
  const [first, ...others] = places.filter((place) => provider[place] !== undefined);
  if (first === undefined && needsKey(provider)) {
    const message = `has no key, and ${quote(provider.type)} refuses every request without one; add api_key: \${${variableOf(name)}}`;
    findings.warnings.push(sources.problem(['providers', name], message, 'key'));
  }
  for (const place of others) {
    const message = `stands beside ${first} (${sources.place(['providers', name, first ?? ''], 'key')}); a provider has one of the two`;
    findings.problems.push(sources.problem(['providers', name, place], message, 'key'));
  }
  if (provider.api_key !== undefined) {
    const path = ['providers', name, 'api_key'];
    if (provider.api_key === '' && !sources.isUnknown(path)) {
      findings.keyless.add(name);
      warn(path, `expands to nothing, so the provider ${quote(name)} is left out`);
    } else checkKey(path, provider.api_key, variableOf(name), { provider, sources, findings });
  }
  const keys = provider.api_keys ?? [];
  const listed = ['providers', name, 'api_keys'];
  if (keys.length > 0 && keys.every((key, index) => key === '' && !sources.isUnknown([...listed, index]))) {
    findings.keyless.add(name);
    warn(listed, `expands to nothing, so the provider ${quote(name)} is left out`);
    return;
  }
  const seen = new Map<string, number>();
  keys.forEach((key, index) => {
    const path = [...listed, index];
    if (sources.isUnknown(path)) return;
    const twin = seen.get(key);
    seen.set(key, index);
    if (key === '') warn(path, 'expands to nothing, so this key is left out');
    else if (twin === undefined)
      checkKey(path, key, `${variableOf(name)}_${index + 1}`, { provider, sources, findings });
    else warn(path, `is the same key as api_keys[${twin}], so it adds nothing`);
  });

  function warn(at: Path, message: string): void {
    findings.warnings.push({ ...sources.problem(at, message), environmental: true });
  }
}

/** At another address a server may stand that knows the key itself, and a header may hold one. */
function needsKey({ type, base_url, headers }: Provider): boolean {
  const isOwnAddress = base_url === defaultAddresses[type];
  return isOwnAddress && !typesWithOptionalKey.has(type) && Object.keys(headers).length === 0;
}

/** `variable`: where a key that is written out should stand instead. */
function checkKey(
  path: Path,
  key: string,
  variable: string,
  { provider, sources, findings }: { provider: Provider; sources: Sources; findings: ProviderFindings },
): void {
  if (sources.isUnknown(path)) return;
  if (!/^[\u0021-\u007e]+$/.test(key)) {
    const message = 'cannot be sent in a header: it holds a blank, a line break or a character outside ASCII';
    findings.problems.push(sources.problem(path, message));
  } else if (provider.type === 'bedrock') {
    const parsed = parseAwsKey(key);
    if ('problem' in parsed) findings.problems.push(sources.problem(path, `is no key of AWS. ${parsed.problem}`));
  }
  const written = sources.written(path);
  if (typeof written !== 'string' || refersToVariable(written)) return;
  const message = `is written out in the file; keep it in the environment and write \${${variable}}`;
  findings.warnings.push(sources.problem(path, message));
}

function variableOf(name: string): string {
  return `${name.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_')}_API_KEY`;
}
