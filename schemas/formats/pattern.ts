// Regular expressions of guardrails: those of RE2, whose time is linear in the text, whatever the pattern and the text say.
import { RE2JS, RE2JSSyntaxException } from 're2js';

/** Instructions of one regular expression: in the worst case the time of each character grows with them. */
const mostInstructions = 20_000;
/** Of patterns of one guardrail, before those that begin alike become one. It bounds the time of a check. */
export const mostInAll = 25_000;

/** Of patterns of one guardrail, before they are compiled: that takes time for each character, and much for each class of Unicode. */
const mostCharacters = 65_536;
const mostClasses = 50;
const unicodeClass = /\\[pP]/g;

/** A pattern, or several together, would take too long. */
export class PatternTooLarge extends RangeError {}

/** Constructs of backtracking engines that this engine does not have. */
const unspeakable: readonly (readonly [form: RegExp, noun: string])[] = [
  [/\(\?<?[=!]/, 'a lookahead or lookbehind'],
  [/\\[1-9]|\\k[<{']/, 'a backreference'],
  [/\(\?>/, 'an atomic group'],
  [/[*+?}]\+/, 'a possessive quantifier'],
];

/** A regular expression in the syntax of RE2. Throws a RangeError that says what is wrong with it. */
export function compilePattern(pattern: string): RE2JS {
  const compiled = compile(pattern, pattern);
  // It may stand among others.
  compile(alternatives([pattern]), pattern);
  return compiled;
}

/** Why these together are not even compiled; undefined: they may be. */
export function tooLongToCompile(patterns: readonly string[]): string | undefined {
  let characters = 0;
  let classes = 0;
  for (const pattern of patterns) {
    characters += pattern.length;
    classes += pattern.match(unicodeClass)?.length ?? 0;
  }
  if (characters > mostCharacters) return `together are too long: more than ${mostCharacters} characters`;
  return classes > mostClasses ? `together have more than ${mostClasses} classes of Unicode such as \\pL` : undefined;
}

/** One for all of them; of several that match at one place, the first counts. Throws a RangeError. */
export function compilePatterns(patterns: readonly string[]): RE2JS {
  return compile(alternatives(patterns), '');
}

function alternatives(patterns: readonly string[]): string {
  return patterns.map((pattern) => `(?:${pattern})`).join('|');
}

function compile(text: string, pattern: string): RE2JS {
  const compiled = parsed(text, pattern);
  const size = compiled.programSize();
  if (size <= mostInstructions) return compiled;
  throw new PatternTooLarge(`is too large: ${size} instructions of RE2, of at most ${mostInstructions}`);
}

function parsed(text: string, pattern: string): RE2JS {
  try {
    return RE2JS.compile(text);
  } catch (error) {
    if (!(error instanceof RE2JSSyntaxException)) throw error;
    const found = unspeakable.find(([form]) => form.test(pattern));
    const reason = error.message.replace(/^error parsing regexp: /, '');
    throw new RangeError(
      found === undefined
        ? `is no regular expression of RE2: ${reason}`
        : `has ${found[1]}, which RE2 cannot match in linear time: ${reason}`,
    );
  }
}
