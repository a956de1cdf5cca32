// Which environment variables the configuration refers to: those that the source names, and new ones for secrets that it has written out.
import { isTree } from '../../schemas/validation/value-at.ts';
import { isOwnVariable } from '../read/expand.ts';
import type { Draft } from './draft.ts';
import type { Piece, Source } from './source.ts';

/** `os.environ/NAME` of LiteLLM; `${NAME}` and `$NAME` of templates; `env.NAME`. */
const reference = /^(?:os\.environ\/|env\.|\$)([A-Za-z_][A-Za-z0-9_]*)$|^\$\{([A-Za-z_][A-Za-z0-9_]*)\}$/;
/** What people write where a server wants no key. */
const placeholders = new Set(
  'none null empty dummy fake fake-key dummy-key no-key nokey not-needed not-used anything placeholder sk-no-key-required'.split(
    ' ',
  ),
);

/** The name of the variable that a text stands for; undefined: it stands for itself. */
export function referredTo(text: string): string | undefined {
  const [, name, braced] = reference.exec(text.trim()) ?? [];
  return name ?? braced;
}

/** Whether a text says that there is no key. */
export function isPlaceholder(key: string): boolean {
  const word = key.trim().toLowerCase();
  return word === '' || placeholders.has(word) || /^(x+|\*+|\.+)$/.test(word);
}

export interface Variables {
  /** `${NAME}` for a name that the source refers to. */
  refer(name: string, piece: Piece): string;
  /** `${NAME}` for a name that a program reads without being told; another one where the secret of another has this name. */
  imply(name: string, piece: Piece): string;
  /** `${NAME}` in place of a secret; equal secrets share a variable. `wanted`: its name, unless that is taken. */
  hide(secret: string, wanted: string, piece: Piece): string;
  /** A text that may stand for a variable: `${NAME}`, or undefined when it stands for itself. */
  referenceOf(text: string, piece: Piece): string | undefined;
}

/** `implied`: names that the source uses without saying so. */
export function openVariables(source: Source, draft: Draft, implied: ReadonlySet<string> = new Set()): Variables {
  const taken = new Set([...namesIn(source.root.value), ...implied]);
  const hidden = new Map<string, string>();
  const variables: Variables = {
    refer(name, piece) {
      // The configuration cannot read the variables of the gateway itself.
      taken.add(name);
      const usable = isOwnVariable(name) ? `UPSTREAM_${name}` : name;
      if (!draft.variables.has(usable))
        draft.variables.set(usable, { where: source.where(piece), isWrittenOut: false });
      return `\${${usable}}`;
    },
    imply(name, piece) {
      const isOfSecret = draft.variables.get(name)?.isWrittenOut === true;
      return variables.refer(isOfSecret ? freeName(name) : name, piece);
    },
    hide(secret, wanted, piece) {
      const known = hidden.get(secret);
      if (known !== undefined) return `\${${known}}`;
      const upper = wanted.toUpperCase().replaceAll(/[^A-Z0-9]+/g, '_');
      const base = isOwnVariable(upper) || !/^[A-Z_]/.test(upper) ? `UPSTREAM_${upper}` : upper;
      const name = freeName(base);
      taken.add(name);
      hidden.set(secret, name);
      draft.variables.set(name, { where: source.where(piece), isWrittenOut: true });
      return `\${${name}}`;
    },
    referenceOf(text, piece) {
      const name = referredTo(text);
      return name === undefined ? undefined : variables.refer(name, piece);
    },
  };
  return variables;

  function freeName(base: string): string {
    let name = base;
    for (let count = 2; taken.has(name); count += 1) name = `${base}_${count}`;
    return name;
  }
}

/** Every variable that a text of the source refers to. A value that aliases repeat is looked at once. */
function namesIn(root: unknown): Set<string> {
  const names = new Set<string>();
  const seen = new Set<unknown>();
  const open: unknown[] = [root];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value === 'string') names.add(referredTo(value) ?? '');
    else if (isTree(value) && !seen.has(value)) {
      seen.add(value);
      for (const inner of Object.values(value)) if (inner !== null && inner !== undefined) open.push(inner);
    }
  }
  return names;
}
