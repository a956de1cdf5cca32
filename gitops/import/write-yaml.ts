// Writes a draft as YAML: the configuration, with a comment above each part that something is to be said about.
import { Document, isMap, isPair, isScalar, isSeq, type Node, type Pair } from 'yaml';
import { withoutKeys } from '../../schemas/formats/key-shapes.ts';
import { escaped } from '../../schemas/validation/path.ts';
import type { Draft, DraftProvider, Note } from './draft.ts';
import { isDiscovering } from './provider-book.ts';

/** The most comments: a file that needs more is better read beside its report. */
const mostComments = 1_000;

/** What parts of the draft became, to find the places of comments: path by part. */
type Places = Map<object, readonly (string | number)[]>;

/** The YAML text. `head`: lines of a comment at the top. */
export function writeYaml(draft: Draft, head: readonly string[]): string {
  const places: Places = new Map();
  const document = new Document(contentOf(draft, places), { aliasDuplicateObjects: false });
  const texts = new Map<object | undefined, string[]>();
  for (const note of draft.notes.slice(0, mostComments)) {
    const about = note.about !== undefined && places.has(note.about) ? note.about : undefined;
    const lines = texts.get(about) ?? [];
    texts.set(about, lines);
    lines.push(commentOf(note));
  }
  for (const [about, lines] of texts) {
    const path = about === undefined ? undefined : places.get(about);
    if (path !== undefined) comment(document, path, lines);
  }
  const general = texts.get(undefined) ?? [];
  const more = draft.notes.length - mostComments;
  const rest = more > 0 ? [`and ${more} more, which the report has`] : [];
  document.commentBefore = asComment(trimmed([...head, '', ...general, ...rest]));
  const { contents } = document;
  if (isMap(contents))
    for (const pair of contents.items.slice(1)) if (isPair(pair) && isScalar(pair.key)) pair.key.spaceBefore = true;
  return document.toString({ lineWidth: 0 });
}

/** `config.yaml:12 router_settings.cooldown_time: is not needed …` */
export function commentOf({ where, what, text }: Note): string {
  return sayable([where, what === '' ? '' : `${what}:`, text].filter((part) => part !== '').join(' '));
}

/** On one line, and without anything that looks like a key: names of the source may be one. */
export function sayable(text: string): string {
  return withoutKeys(escaped(text));
}

/** Without empty lines at its end, and without two in a row. */
function trimmed(lines: readonly string[]): string[] {
  const kept = lines.filter((line, index) => line !== '' || lines[index - 1] !== '');
  return kept.at(-1) === '' ? kept.slice(0, -1) : kept;
}

function asComment(lines: readonly string[]): string {
  return lines.map((line) => (line === '' ? '' : ` ${line}`)).join('\n');
}

/** Above the key of a mapping, or above the entry of a list. */
function comment(document: Document, path: readonly (string | number)[], lines: readonly string[]): void {
  const parent = document.getIn(path.slice(0, -1), true);
  const last = path.at(-1);
  let node: Node | undefined;
  if (isMap(parent)) {
    const pair = parent.items.find((item: Pair) => isScalar(item.key) && item.key.value === last);
    if (isPair(pair) && isScalar(pair.key)) node = pair.key;
  } else if (isSeq(parent)) node = parent.items[Number(last)] as Node;
  if (node !== undefined) node.commentBefore = asComment(lines);
}

/** The configuration as a tree of plain values; empty sections are left out. */
function contentOf(draft: Draft, places: Places): Map<string, unknown> {
  const content = new Map<string, unknown>();
  if (draft.providers.length > 0) {
    const providers = new Map<string, unknown>();
    for (const provider of draft.providers) {
      places.set(provider, ['providers', provider.name]);
      providers.set(provider.name, providerOf(provider));
    }
    content.set('providers', providers);
  }
  if (draft.aliases.length > 0) {
    for (const [index, alias] of draft.aliases.entries()) places.set(alias, ['aliases', index]);
    content.set('aliases', draft.aliases.map(aliasOf));
  }
  for (const [index, [, all]] of [...draft.pathLimits].entries()) places.set(all, ['rate_limits', 'user_paths', index]);
  const limits = limitsOf(draft);
  if (limits !== undefined) content.set('rate_limits', limits);
  if (draft.budgets.size > 0) {
    const budgets = [...draft.budgets];
    for (const [index, [, all]] of budgets.entries()) places.set(all, ['budgets', 'user_paths', index]);
    content.set('budgets', { user_paths: budgets.map(([path, all]) => ({ path, limits: all })) });
  }
  const prices = pricesOf(draft);
  if (prices.size > 0) content.set('usage', { prices });
  for (const section of ['cache', 'server'] as const) {
    const value = draft[section];
    if (value === undefined) continue;
    places.set(value, [section]);
    content.set(section, value);
  }
  if (draft.guardrails.length > 0) {
    for (const [index, guardrail] of draft.guardrails.entries()) places.set(guardrail, ['guardrails', index]);
    content.set('guardrails', draft.guardrails);
  }
  return content;
}

function providerOf(provider: DraftProvider): Map<string, unknown> {
  const { traits, models, patterns, dialects } = provider;
  const content = new Map<string, unknown>(Object.entries(traits).filter(([, value]) => value !== undefined));
  if (dialects.size > 0) content.set('dialects', ['chat', 'embeddings', ...dialects]);
  if (!isDiscovering(provider))
    content.set(
      'models',
      [...models.values()].map(({ id, pricing }) => (pricing === undefined ? id : { id, pricing })),
    );
  else if (patterns.size > 0 && !patterns.has('*'))
    content.set('discovery', { include: [...patterns, ...models.keys()] });
  return content;
}

function aliasOf({ source, targets, strategy, retry }: Draft['aliases'][number]): Record<string, unknown> {
  const [only, another] = targets;
  const isSingle = only !== undefined && another === undefined && only.weight === undefined;
  return {
    source,
    ...(isSingle ? { target: only.model } : { targets }),
    ...(strategy === undefined ? {} : { strategy }),
    ...(retry === undefined ? {} : { retry }),
  };
}

function limitsOf({ pathLimits, modelLimits }: Draft): Record<string, unknown> | undefined {
  if (pathLimits.size + modelLimits.size === 0) return undefined;
  return {
    ...(pathLimits.size === 0 ? {} : { user_paths: [...pathLimits].map(([path, limits]) => ({ path, limits })) }),
    ...(modelLimits.size === 0 ? {} : { models: [...modelLimits.values()] }),
  };
}

/** A provider that is asked for its models has no list for prices: they stand under its type. */
function pricesOf({ providers }: Draft): Map<string, Map<string, unknown>> {
  const prices = new Map<string, Map<string, unknown>>();
  for (const provider of providers) {
    if (!isDiscovering(provider)) continue;
    for (const { id, pricing } of provider.models.values()) {
      if (pricing === undefined) continue;
      const ofType = prices.get(provider.traits.type) ?? new Map<string, unknown>();
      prices.set(provider.traits.type, ofType);
      if (!ofType.has(id)) ofType.set(id, pricing);
    }
  }
  return prices;
}
