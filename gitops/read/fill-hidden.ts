// The text of a file in force, as the admin API shows it, made into one that can be loaded: what is hidden is taken from a file of one's own.
import { parse } from 'yaml';

const hidden = '[hidden]';
/** The members that name an entry of a list. */
const names = ['name', 'source', 'path', 'label', 'model', 'id'];
/** Where nothing is known: nothing is sent there, and nobody is let in by it. */
const placeholders: Readonly<Record<string, string>> = {
  base_url: 'https://unset.invalid/v1',
  url: 'https://unset.invalid/',
  hash: `sha256:${'0'.repeat(64)}`,
  digest: '0'.repeat(64),
};

/** JSON, which is YAML. `shown`: see `shownText`. `own`: the file of the same name, as far as there is one. Throws for a text that is no YAML. */
export function fillHidden(shown: string, own: string): string {
  return JSON.stringify(filled(parse(shown, settings), parsed(own), ''));
}

/** Members that may repeat are a matter of the check. */
const settings = { uniqueKeys: false, maxAliasCount: 1_000 };

function parsed(text: string): unknown {
  try {
    return parse(text, settings);
  } catch {
    return undefined;
  }
}

/** Undefined: nothing can stand there, so the member is left out. */
function filled(shown: unknown, own: unknown, key: string): unknown {
  if (shown === hidden) return typeof own === 'object' ? placeholders[key] : (own ?? placeholders[key]);
  if (Array.isArray(shown)) {
    const others = Array.isArray(own) ? own : [];
    return shown.map((each, at) => filled(each, twinOf(each, others, at), key)).filter((each) => each !== undefined);
  }
  if (!isMapping(shown)) return shown;
  const members = isMapping(own) ? own : {};
  return Object.fromEntries(Object.entries(shown).map(([name, value]) => [name, filled(value, members[name], name)]));
}

/** The entry of the same name, else the one at the same place. */
function twinOf(entry: unknown, others: readonly unknown[], at: number): unknown {
  if (!isMapping(entry)) return others[at];
  const name = names.find((each) => typeof entry[each] === 'string' && entry[each] !== hidden);
  return name === undefined ? others[at] : others.find((each) => isMapping(each) && each[name] === entry[name]);
}

function isMapping(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
