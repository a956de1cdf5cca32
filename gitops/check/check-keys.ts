// Checks of the keys of a provider: that they stand in one place, can be sent, and are not written out in the file.
import { parseAwsKey } from '../../domain/keys/aws-key.ts';
import { defaultAddresses, typesWithOptionalKey } from '../../schemas/provider-addresses.ts';
import type { Provider } from '../../schemas/types.ts';
import { type Path, quote } from '../../schemas/validation/path.ts';
import { type LoadContext, mayLeaveOut } from '../assemble/load-context.ts';
import type { Sources } from '../assemble/sources.ts';
import { refersToVariable } from '../read/expand.ts';
import type { Problem } from '../read/problem.ts';

export interface ProviderFindings {
  problems: Problem[];
  warnings: Problem[];
  /** Providers without any key that can be used: they cannot be called, so they are left out. */
  keyless: Set<string>;
}

/** What the keys of one provider are judged with. */
interface Judging {
  readonly name: string;
  readonly provider: Provider;
  readonly sources: Sources;
  readonly findings: ProviderFindings;
  readonly context: Pick<LoadContext, 'variables' | 'leavesOut'>;
}

/** Where keys may stand: a provider has one of these. */
const places = ['api_key', 'api_key_file', 'api_keys', 'api_key_files', 'auth'] as const;

/** No value of a key enters a message. */
export function checkKeys(judging: Judging): void {
  const { name, provider, sources, findings } = judging;
  const [first, ...others] = places.filter((place) => provider[place] !== undefined);
  if (first === undefined && needsKey(provider)) {
    const message = `has no key, and ${quote(provider.type)} refuses every request without one; add api_key: \${${variableOf(name)}}`;
    findings.warnings.push(sources.problem(['providers', name], message, 'key'));
  }
  for (const place of others) {
    const message = `stands beside ${first} (${sources.place(['providers', name, first ?? ''], 'key')}); a provider has one of the two`;
    findings.problems.push(sources.problem(['providers', name, place], message, 'key'));
  }
  if (provider.api_key !== undefined) checkSingle(provider.api_key, judging);
  if (provider.api_keys !== undefined) checkSeveral(provider.api_keys, judging);
}

/** At another address a server may stand that knows the key itself, and a header may hold one. */
function needsKey({ type, base_url, headers }: Provider): boolean {
  const isOwnAddress = base_url === defaultAddresses[type];
  return isOwnAddress && !typesWithOptionalKey.has(type) && Object.keys(headers).length === 0;
}

function checkSingle(key: string, judging: Judging): void {
  const { name, provider, sources } = judging;
  const path = ['providers', name, 'api_key'];
  if (sources.isUnknown(path)) return;
  const leftOut = `so the provider ${quote(name)} is left out`;
  if (isEmpty(key, provider)) leaveOut(path, `expands to nothing, ${leftOut}`, judging);
  else {
    const problem = problemOfKey(key, provider);
    if (problem === undefined) warnWrittenOut(path, variableOf(name), judging);
    else if (isToLeaveOut(path, problem, leftOut, judging)) judging.findings.keyless.add(name);
  }
}

function checkSeveral(keys: string[], judging: Judging): void {
  const { name, provider, sources, findings } = judging;
  const listed = ['providers', name, 'api_keys'];
  const isUnknown = (index: number): boolean => sources.isUnknown([...listed, index]);
  if (keys.every((key, index) => isEmpty(key, provider) && !isUnknown(index))) {
    leaveOut(listed, `expands to nothing, so the provider ${quote(name)} is left out`, judging);
    return;
  }
  const seen = new Map<string, number>();
  keys.forEach((key, index) => {
    const path = [...listed, index];
    if (isUnknown(index)) return;
    const twin = seen.get(key);
    seen.set(key, index);
    const problem = problemOfKey(key, provider);
    if (isEmpty(key, provider)) {
      warn(path, 'expands to nothing, so this key is left out', judging);
      keys[index] = '';
    } else if (twin !== undefined) warn(path, `is the same key as api_keys[${twin}], so it adds nothing`, judging);
    else if (problem === undefined) warnWrittenOut(path, `${variableOf(name)}_${index + 1}`, judging);
    else if (isToLeaveOut(path, problem, 'so this key is left out', judging)) keys[index] = '';
  });
  if (keys.every((key, index) => key === '' && !isUnknown(index))) findings.keyless.add(name);
}

function warn(at: Path, message: string, { sources, findings }: Judging): void {
  findings.warnings.push({ ...sources.problem(at, message), environmental: true });
}

function leaveOut(at: Path, message: string, judging: Judging): void {
  judging.findings.keyless.add(judging.name);
  warn(at, message, judging);
}

/** A pair of AWS of which a half is empty is no key either: `${AWS_ACCESS_KEY_ID:-}:${AWS_SECRET_ACCESS_KEY:-}`. */
function isEmpty(key: string, { type }: Provider): boolean {
  if (key === '') return true;
  const [id, secret] = key.split(':');
  return type === 'bedrock' && (id === '' || secret === '');
}

/** Why a key cannot be used, as the end of a sentence. */
export function problemOfKey(key: string, { type }: Pick<Provider, 'type'>): string | undefined {
  if (!/^[\u0021-\u007e]+$/.test(key))
    return 'cannot be sent in a header: it holds a blank, a line break or a character outside ASCII';
  const parsed = type === 'bedrock' ? parseAwsKey(key) : undefined;
  return parsed !== undefined && 'problem' in parsed ? `is no key of AWS. ${parsed.problem}` : undefined;
}

/** Says the problem, and whether the key is to be left out because of it. One that a variable holds is a matter of this machine. */
function isToLeaveOut(path: Path, problem: string, consequence: string, judging: Judging): boolean {
  const { name, sources, findings, context } = judging;
  const environmental = isOfVariable(path, sources);
  const isLeftOut = mayLeaveOut(context, name) || (environmental && context.variables === 'warning');
  const found = sources.problem(path, isLeftOut ? `${problem.replace(/\.$/, '')}, ${consequence}` : problem);
  if (isLeftOut) findings.warnings.push({ ...found, ...(environmental ? { environmental } : {}), leavesOut: true });
  else findings.problems.push(found);
  return isLeftOut;
}

/** `variable`: where a key that is written out should stand instead. */
function warnWrittenOut(path: Path, variable: string, { sources, findings }: Judging): void {
  if (isOfVariable(path, sources)) return;
  const message = `is written out in the file; keep it in the environment and write \${${variable}}`;
  findings.warnings.push(sources.problem(path, message));
}

function isOfVariable(path: Path, sources: Sources): boolean {
  const written = sources.written(path);
  return typeof written !== 'string' || refersToVariable(written);
}

function variableOf(name: string): string {
  return `${name.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_')}_API_KEY`;
}
