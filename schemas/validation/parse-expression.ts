// Expressions in CEL, parsed and checked for their types. The package takes some 30 ms to load, so it is loaded only for a configuration that has one.
import type { ASTNode, Environment } from '@marcbachmann/cel-js';
import { quote } from './path.ts';

/** A part of an expression, as the package gives it: `op`, `args`, and `start` as an offset in the text. */
export type ExpressionNode = ASTNode;

/** The words of an expression. */
export interface Vocabulary {
  /** The types of names, as CEL writes them: `string`, `list<string>`. */
  readonly names: Readonly<Record<string, string>>;
  /** Signatures of methods besides those of CEL, such as `string.within(string): bool`. */
  readonly methods: readonly string[];
}

/** A mistake in an expression: a sentence without its end, and the offset of the mistake in the text. */
export class ExpressionMistake extends Error {
  readonly at: number;

  constructor(message: string, at: number) {
    super(message);
    this.name = 'ExpressionMistake';
    this.at = at;
  }
}

/** An expression longer than this is a program. Characters. */
export const longestExpression = 1_000;
/** The length of an expression bounds how deep signs nest, which the package does not count. */
const limits = { maxAstNodes: 400, maxDepth: 32, maxListElements: 200, maxMapEntries: 1, maxCallArguments: 8 };

let loaded: typeof Environment | undefined;

/** Makes it possible to parse expressions. */
export async function loadExpressionParser(): Promise<void> {
  loaded ??= (await import('@marcbachmann/cel-js')).default.Environment;
}

/** By vocabulary: the environment that checks its types. */
const environments = new WeakMap<Vocabulary, Environment>();

/**
 * The tree of an expression. `inspect` is shown it before its types are checked, and may throw, too. Throws an ExpressionMistake for what is no
 * expression, or gives something else than true or false; also before `loadExpressionParser` has ended.
 */
export function parseExpression(
  text: string,
  vocabulary: Vocabulary,
  inspect: (root: ExpressionNode) => void,
): ExpressionNode {
  const parsed = parse(text, vocabulary);
  inspect(parsed.ast);
  const { valid, type, error } = parsed.check();
  if (!valid) throw mistakeOf(error);
  if (type !== 'bool') throw new ExpressionMistake(`it gives ${type ?? 'something else'}, not true or false`, 0);
  return parsed.ast;
}

/** The tree of an expression whose types the caller checks. Throws as `parseExpression` does. */
export function parseTree(text: string): ExpressionNode {
  return parse(text, noWords).ast;
}

const noWords: Vocabulary = { names: {}, methods: [] };

function parse(text: string, vocabulary: Vocabulary): ReturnType<Environment['parse']> {
  if (loaded === undefined) throw new ExpressionMistake('cannot be read; write its key plainly, as in when: …', 0);
  if (text.length > longestExpression)
    throw new ExpressionMistake(`an expression may have ${longestExpression} characters`, longestExpression);
  const environment = environmentOf(vocabulary, loaded);
  return inPackage(() => environment.parse(text));
}

/** The end of a sentence about an expression: where the mistake is, what stands there, and what is wrong. Characters are counted from 1. */
export function sayMistake(text: string, { at, message }: ExpressionMistake): string {
  const rest = text.slice(at, at + 20).split('\n')[0] ?? '';
  const place = rest === '' ? 'its end' : `character ${at + 1} (${quote(rest)})`;
  return `has a mistake at ${place}: ${message}`;
}

function environmentOf(vocabulary: Vocabulary, Kind: NonNullable<typeof loaded>): Environment {
  let environment = environments.get(vocabulary);
  if (environment === undefined) {
    environment = new Kind({ limits });
    for (const [name, type] of Object.entries(vocabulary.names)) environment.registerVariable(name, type);
    // What they do is not the package's concern: it evaluates nothing.
    for (const signature of vocabulary.methods) environment.registerFunction(signature, () => undefined);
    environments.set(vocabulary, environment);
  }
  return environment;
}

function inPackage<Result>(step: () => Result): Result {
  try {
    return step();
  } catch (error) {
    throw mistakeOf(error);
  }
}

/** What the package throws, in its own words. */
function mistakeOf(error: unknown): ExpressionMistake {
  const { summary, range, message } = (error ?? {}) as {
    readonly summary?: string;
    readonly range?: { readonly start: number };
    readonly message?: string;
  };
  const words = (summary ?? message ?? 'it cannot be read')
    .replace('Unexpected token: EOF', 'it ends too early')
    .replace('no such overload', 'the types do not fit');
  return new ExpressionMistake(words.charAt(0).toLowerCase() + words.slice(1), range?.start ?? 0);
}
