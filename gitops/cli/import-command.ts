// Reads the arguments of `import`, and says what is wrong with them.
import { didYouMean } from '../../schemas/validation/suggest.ts';
import { readOptions } from './read-options.ts';

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
  const read = readOptions(args, options, needs);
  if (typeof read === 'string') return { problem: read };
  const { given, positionals } = read;
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
