// The text of a configuration file as operators may see it: line by line as it is written, without comments, and without what may be a secret.
// References to variables stay.
import { isScalar, Lexer, type Node, parseDocument, visit } from 'yaml';
import { withoutSecrets } from '../../schemas/formats/key-shapes.ts';
import type { Path } from '../../schemas/validation/path.ts';
import type { SourceFile } from './read.ts';
import { maySayText } from './said-values.ts';

/** Stands for a value that is not shown. */
export const hiddenValue = '"[hidden]"';

/** A longer file takes too long in the thread that answers. Bytes. */
export const longestShown = 256 * 1024;

const reference = /^\$\{\w+\}$/;
/** Without a user, a query, or a path that may be a key. */
const plainAddress = /^https?:\/\/[\w.-]+(:\d+)?(\/v\d+)?\/?$/;
/** The marks of the lexer: what comes is a text; the file begins; a mapping in braces is not closed. */
const [textFollows, fileBegins, isUnclosed] = ['\x1f', '\x02', '\x18'];

/** Undefined: the file is too long. `secrets`: those that are known, which are taken out wherever they stand. */
export function shownText({ bytes }: Pick<SourceFile, 'bytes'>, secrets: readonly string[]): string | undefined {
  if (bytes.length > longestShown) return undefined;
  const text = new TextDecoder().decode(bytes);
  return withoutSecrets(withoutComments(withoutValues(text)), secrets);
}

/** Every value that may be a secret is hidden; a text with a name of its own (`&name`) may be repeated anywhere. */
function withoutValues(text: string): string {
  const hidden: (readonly [from: number, to: number])[] = [];
  visit(parseDocument(text, { uniqueKeys: false }), {
    Scalar(key, node, ancestors) {
      if (key === 'key' || node.range === undefined || node.range === null) return;
      const { value } = node;
      const nodes = [...ancestors, node] as Node[];
      const isNamed = nodes.some((each) => 'anchor' in each && each.anchor !== undefined);
      const path = isNamed ? [] : pathOf(nodes);
      if (!maySayText(path, value) && !isHarmless(value, path)) hidden.push([node.range[0], node.range[1]]);
    },
  });
  let shown = text;
  for (const [from, to] of hidden.toReversed()) {
    const lines = text.slice(from, to).split('\n').length - 1;
    shown = shown.slice(0, from) + hiddenValue + '\n'.repeat(lines) + shown.slice(to);
  }
  return shown;
}

/** Of the words of guardrails the admin API shows all but those of webhooks. */
function isHarmless(value: unknown, [section, , kind, member]: Path): boolean {
  if (typeof value !== 'string') return false;
  if (reference.test(value)) return true;
  if (section === 'providers' && (kind === 'base_url' || kind === 'ca_file'))
    return plainAddress.test(value) || kind === 'ca_file';
  return section === 'guardrails' && kind !== 'webhook' && member !== undefined;
}

/** The keys and indexes that lead to the last of the nodes. */
function pathOf(nodes: readonly Node[]): Path {
  return nodes.slice(1).flatMap((node, at): (string | number)[] => {
    const parent = nodes[at] as { readonly items?: readonly unknown[] } & Node;
    if ('key' in node && isScalar(node.key)) return [String(node.key.value)];
    if ('key' in parent || parent.items === undefined || 'key' in node) return [];
    return [parent.items.indexOf(node)];
  });
}

function withoutComments(text: string): string {
  let shown = '';
  let isText = false;
  for (const token of new Lexer().lex(text)) {
    if (token === fileBegins || token === isUnclosed) continue;
    if (!(token === textFollows || (token.startsWith('#') && !isText))) shown += token;
    isText = token === textFollows;
  }
  return shown.replace(/[ \t]+$/gm, '');
}
