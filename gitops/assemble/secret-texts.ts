// Lists the texts of a configuration that are made of secrets which are read elsewhere: the files of providers, and references.
import { resolve } from 'node:path';
import type { Config, Provider } from '../../schemas/types.ts';
import type { Path } from '../../schemas/validation/path.ts';
import { isTree } from '../../schemas/validation/value-at.ts';
import { isOpen, isOwnVariable } from '../read/expand.ts';
import { type Problem, problemOfFile } from '../read/problem.ts';
import { type SecretPart, textOf } from '../read/secret-reference.ts';
import type { SecretText } from './assembled.ts';
import type { LoadContext } from './load-context.ts';
import type { Sources } from './sources.ts';

/** All references of a configuration: each is read again and again. */
const mostReferences = 500;

/** `hasReferences`: whether there is any in the files; only then all texts are looked at. */
export function secretTextsOf(
  { providers, guardrails }: Pick<Config, 'providers' | 'guardrails'>,
  sources: Sources,
  hasReferences: boolean,
): SecretText[] {
  const ofProviders = Object.entries(providers).flatMap(([name, provider]) => {
    const place: Placing = { section: 'providers', name, entry: ['providers', name], sources };
    return [...filesOf(provider, place), ...(hasReferences ? referencesIn(provider, place) : [])];
  });
  if (!hasReferences) return ofProviders;
  const ofGuardrails = guardrails.flatMap((guardrail, index) => {
    const { name } = guardrail;
    return referencesIn(guardrail, { section: 'guardrails', name, entry: ['guardrails', index], sources });
  });
  return [...ofProviders, ...ofGuardrails];
}

/** What the texts beside the secrets make impossible, files of the gateway's own secrets, and whether there are too many references. */
export function checkSecretTexts(texts: readonly SecretText[], environment: LoadContext['environment']): Problem[] {
  const ownFiles = new Map(
    Object.entries(environment).flatMap(([name, path = '']) =>
      name.endsWith('_FILE') && isOwnVariable(name.slice(0, -'_FILE'.length)) && path !== ''
        ? [[resolve(path), name]]
        : [],
    ),
  );
  const written = texts.filter(({ holds }) => holds === 'text');
  const names = new Set(
    written.flatMap(({ parts }) => parts.flatMap((part) => (typeof part === 'string' ? [] : textOf(part)))),
  );
  const tooMany = `holds ${names.size} references to secrets in all, expected at most ${mostReferences}`;
  return [
    ...texts.flatMap(({ parts, place }) => {
      const own = parts.flatMap((part) =>
        typeof part === 'string' || part.scheme !== 'file' ? [] : (ownFiles.get(resolve(part.name)) ?? []),
      );
      const says = `names the file of ${own[0]}, which belongs to the gateway itself; the configuration cannot read it`;
      return own.length === 0 ? [] : [{ ...place, message: says }];
    }),
    ...(names.size > mostReferences ? [problemOfFile(written[0]?.place.file ?? '', tooMany)] : []),
    ...written
      .filter(({ parts }) => parts.some((part) => typeof part === 'string' && !/^[\t\u0020-\u007e]*$/.test(part)))
      .map(({ place }) => ({
        ...place,
        message: 'holds a line break or a character outside ASCII beside its reference',
      })),
  ];
}

/** Where an entry is, in the files and in the configuration. */
interface Placing extends Pick<SecretText, 'section' | 'name'> {
  readonly entry: Path;
  readonly sources: Sources;
}

function filesOf(
  { api_key_file: single, api_key_files: several = [], ca_file }: Provider,
  placing: Placing,
): SecretText[] {
  const file = (name: string): SecretPart[] => [{ scheme: 'file', name }];
  return [
    ...(single === undefined
      ? []
      : [textAt(['api_key_file'], file(single), { at: ['api_key'], holds: 'key' }, placing)]),
    ...several.map((name, index) =>
      textAt(['api_key_files', index], file(name), { at: ['api_keys', index], holds: 'key' }, placing),
    ),
    ...(ca_file === undefined
      ? []
      : [textAt(['ca_file'], file(ca_file), { at: ['ca_file'], holds: 'certificates' }, placing)]),
  ];
}

/** All texts below an entry that refer to secrets. */
function referencesIn(value: unknown, placing: Placing, at: Path = []): SecretText[] {
  if (isTree(value)) {
    const steps = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
    return steps.flatMap((step) =>
      referencesIn((value as Record<string | number, unknown>)[step], placing, [...at, step]),
    );
  }
  const path = [...placing.entry, ...at];
  if (typeof value !== 'string' || !isOpen(path)) return [];
  const parts = placing.sources.secretParts(path);
  return parts === undefined ? [] : [textAt(at, parts, { at, holds: 'text' }, placing)];
}

/** `written`: where it stands in the entry. */
function textAt(
  written: Path,
  parts: readonly SecretPart[],
  filled: Pick<SecretText, 'at' | 'holds'>,
  { section, name, entry, sources }: Placing,
): SecretText {
  const { message: _, ...place } = sources.problem([...entry, ...written], '');
  return { section, name, ...filled, parts, place };
}
