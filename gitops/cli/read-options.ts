// Reads the options of a command, and says what is wrong with them.
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util';
import { didYouMean } from '../../schemas/validation/suggest.ts';

export interface GivenOptions {
  /** By name, empty without a value. */
  readonly given: ReadonlyMap<string, string>;
  readonly positionals: readonly string[];
}

/**
 * The options as they were given, or a sentence without a full stop that says what is wrong. `needs`: what an option needs as its value; the
 * others take none.
 */
export function readOptions(
  args: readonly string[],
  options: ParseArgsOptionsConfig,
  needs: Readonly<Record<string, string>>,
): GivenOptions | string {
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
    const flags = Object.keys(options).map((each) => `--${each}`);
    if (!Object.hasOwn(options, name)) return `the option ${rawName} is unknown${didYouMean(rawName, flags)}`;
    // With a blank between, `--diff --strict` forgets the value; `--diff=-x` means it.
    const isForgotten = value === undefined || value === '' || (!token.inlineValue && value.startsWith('-'));
    const need = Object.hasOwn(needs, name) ? needs[name] : undefined;
    if (need !== undefined && isForgotten) return `${rawName} needs a value: ${need}`;
    if (need === undefined && value !== undefined) return `${rawName} takes no value`;
    given.set(name, value ?? '');
  }
  return { given, positionals };
}
