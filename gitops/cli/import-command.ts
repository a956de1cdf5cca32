// Reads the arguments of `import`, and says what is wrong with them.
import { parseArgs } from 'node:util';
import { didYouMean } from '../../schemas/validation/suggest.ts';

export const sources = ['litellm', 'portkey', 'env'] as const;
type SourceName = (typeof sources)[number];

export interface ImportCommand {
  readonly source: SourceName;
  /** The file to read; empty for env. */
  readonly file: string;
  /** The directory to write to; absent: the text is printed. */
  readonly out?: string;
  readonly force: boolean;
  /** The answer of LiteLLM with its virtual keys. */
  readonly keys?: string;
  /** Of the alias that a config of Portkey becomes. */
  readonly name?: string;
}

const options = {
  out: { type: 'string' },
  keys: { type: 'string' },
  name: { type: 'string' },
  force: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;
const needs = { out: 'a directory', keys: 'a file', name: 'a name such as chat' } as const;

/** The command, `help`, or a sentence without a full stop that says what is wrong with it. */
export function readImportCommand(args: readonly string[]): ImportCommand | 'help' | { readonly problem: string } {
  const { tokens, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    strict: false,
    tokens: true,
    options,
  });
  const given = new Map<string, string>();
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const { name, rawName, value } = token;
    if (!Object.hasOwn(options, name))
      return { problem: `the option ${rawName} is unknown${didYouMean(rawName, flags)}` };
    const isForgotten = value === undefined || value === '' || (!token.inlineValue && value.startsWith('-'));
    const need = Object.hasOwn(needs, name) ? needs[name as keyof typeof needs] : undefined;
    if (need !== undefined && isForgotten) return { problem: `${rawName} needs a value: ${need}` };
    if (need === undefined && value !== undefined) return { problem: `${rawName} takes no value` };
    given.set(name, value ?? '');
  }
  if (given.has('help')) return 'help';
  const [source, file = '', another] = positionals;
  const known = sources.find((each) => each === source);
  if (source === undefined) return { problem: `no source is named: ${sources.join(', ')}` };
  if (known === undefined)
    return {
      problem: `the source ${JSON.stringify(source)} is unknown${didYouMean(source, sources)}; known are ${sources.join(', ')}`,
    };
  if (known !== 'env' && file === '') return { problem: `no file is named: ${known} needs the one to read` };
  const extra = known === 'env' ? positionals[1] : another;
  if (extra !== undefined) return { problem: `${JSON.stringify(extra)} is too many` };
  if (given.has('name') && known !== 'portkey') return { problem: '--name is for portkey' };
  if (given.has('keys') && known !== 'litellm') return { problem: '--keys is for litellm' };
  const [out, keys, name] = [given.get('out'), given.get('keys'), given.get('name')];
  return {
    source: known,
    file,
    force: given.has('force'),
    ...(out === undefined ? {} : { out }),
    ...(keys === undefined ? {} : { keys }),
    ...(name === undefined ? {} : { name }),
  };
}

const flags = Object.keys(options).map((name) => `--${name}`);
