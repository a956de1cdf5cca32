// Turns errors of the YAML parser into sentences that say what to do.
import type { Document, YAMLError } from 'yaml';

/** A tag changes the type of a value. */
export const tagProblem = 'tags (! and !!) are not supported; write the value without one';

const sentences: Record<string, string> = {
  BAD_ALIAS: 'is not a valid alias name',
  BAD_DIRECTIVE: 'lines that begin with % are not supported; remove it',
  BAD_DQ_ESCAPE: 'the text in double quotes has an unknown escape; use single quotes, or write \\\\ for a backslash',
  BAD_SCALAR_START: 'text cannot begin with this character; put it in quotes',
  BLOCK_AS_IMPLICIT_KEY: 'a value cannot hold another "key: value" on the same line; put text with a colon in quotes',
  MISSING_CHAR: 'a quote, bracket or comma is missing before this place',
  MULTILINE_IMPLICIT_KEY: 'a key must be on one line and end with a colon; is a colon missing?',
  MULTIPLE_DOCS: 'a second document begins here (--- or ...); one file holds one document',
  RESOURCE_EXHAUSTION: 'is nested too deeply to be a configuration',
  TAG_RESOLVE_FAILED: tagProblem,
  TAB_AS_INDENT: 'a tab is used as indentation; use spaces',
};

/** The first error or warning of a parsed text, because it is mostly the cause of the others. Empty when there is none. */
export function explainSyntax(document: Document.Parsed, text: string): { offset: number; message: string }[] {
  const found: YAMLError[] = [...document.errors, ...document.warnings];
  const first = found.find(({ code }) => code === 'RESOURCE_EXHAUSTION') ?? found[0];
  if (first !== undefined) {
    const [offset] = first.pos;
    return [bareVariable(text, offset) ?? { offset, message: say(first) }];
  }
  const { explicit, version } = document.directives.yaml;
  if (explicit !== true || version === '1.2') return [];
  return [
    {
      offset: 0,
      message: 'is marked %YAML 1.1, which reads some values differently; remove the line, YAML 1.2 is meant',
    },
  ];
}

/** Between { } and [ ] the brace of a variable begins another mapping. Looked for in the line of the error, before it and outside of quotes. */
function bareVariable(text: string, at: number): { offset: number; message: string } | undefined {
  const start = text.lastIndexOf('\n', at - 1) + 1;
  const [line = ''] = text.slice(start).split('\n', 1);
  for (const { 0: variable, index } of line.matchAll(/\$\{[A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?\}/g)) {
    const before = line.slice(0, index);
    const isQuoted = [`"`, `'`].some((quote) => before.split(quote).length % 2 === 0);
    if (isQuoted || !/[{[]/.test(before)) continue;
    const name = variable.replace(/:-.*/s, '}');
    const message = `the variable ${name} between { } or [ ] needs quotes; it is filled in only in keys, addresses and headers, so elsewhere write the value itself`;
    return { offset: start + index, message };
  }
  return undefined;
}

function say({ code, message }: YAMLError): string {
  if (code !== 'BAD_INDENT') return sentences[code] ?? `is not valid YAML: ${message}`;
  return message.startsWith('Flow')
    ? 'a list [...] or mapping {...} is not closed before this place'
    : 'the indentation does not fit: keys of one mapping start in the same column';
}
