// Reads the arguments of `check-config`, and says what is wrong with them.
import { didYouMean } from '../../schemas/validation/suggest.ts';
import { readOptions } from './read-options.ts';

export interface Command<Format extends string> {
  readonly directory: string;
  readonly format: Format;
  readonly strict: boolean;
  readonly rules: boolean;
  readonly help: boolean;
  /** Its tests are run, too. */
  readonly test: boolean;
  /** As given; absent without `--diff`. */
  readonly diff?: string;
  /** As given; absent without `--token`. */
  readonly token?: string;
}

const options = {
  format: { type: 'string' },
  strict: { type: 'boolean' },
  diff: { type: 'string' },
  rules: { type: 'boolean' },
  token: { type: 'string' },
  test: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

/** Which value an option needs, for the sentence about one without. */
const needs = {
  format: 'text, json, github or markdown; with --test also junit',
  diff: 'a directory, or a branch, tag or commit of git',
  token: 'a file with a token of an identity provider',
} as const;

/** The command; or a sentence without a full stop that says what is wrong with it. `formats`: the first one is the default. */
export function readCommand<Format extends string>(
  args: readonly string[],
  formats: readonly [Format, ...Format[]],
): Command<Format> | string {
  const read = readOptions(args, options, needs);
  if (typeof read === 'string') return read;
  const { given, positionals } = read;
  const [format = formats[0], help] = [given.get('format'), given.has('help')];
  const known = formats.find((each) => each === format);
  if (known === undefined)
    return `the format ${JSON.stringify(format)} is unknown${didYouMean(format, formats)}; known are ${formats.join(', ')}`;
  const [directory, another] = positionals;
  if (directory === undefined && !help) return 'no directory is named';
  if (another !== undefined) return `only one directory is checked at a time; ${JSON.stringify(another)} is too many`;
  const [diff, token] = [given.get('diff'), given.get('token')];
  const [strict, rules] = [given.has('strict'), given.has('rules')];
  return {
    directory: directory ?? '',
    format: known,
    strict,
    rules,
    help,
    test: given.has('test'),
    ...(diff === undefined ? {} : { diff }),
    ...(token === undefined ? {} : { token }),
  };
}
