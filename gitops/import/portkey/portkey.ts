// Translates a gateway config of Portkey: its tree of targets becomes an alias, and an alias for each inner strategy.
import { foldCase } from '../../../domain/selector.ts';
import type { ParsedFile } from '../../read/parse.ts';
import { type DraftAlias, emptyDraft, literal, noCounterpart, note, type Translation } from '../draft.ts';
import { openBook } from '../provider-book.ts';
import { wholeShares } from '../shares.ts';
import { openSource, type Source, type TreePiece } from '../source.ts';
import { openVariables } from '../variables.ts';
import { addConditions } from './conditions.ts';
import { readGuardrails } from './guardrails.ts';
import { readRetry } from './retry.ts';
import { type Inherited, type Level, type Place, type Portkey, readLeaf, spelled } from './target.ts';

/** What else the file may be: an answer of Portkey's API, which has the config inside. */
const wrappings = ['data', 'config'];

/** portkey.ai/docs/api-reference/inference-api/config-object. `name`: of the alias that stands for the config. */
export function translatePortkey(parsed: ParsedFile, name: string): Translation {
  const source = openSource(parsed);
  const draft = emptyDraft();
  const portkey: Portkey = {
    source,
    draft,
    variables: openVariables(source, draft),
    find: openBook(draft, new Set([name.toLowerCase()])),
    keys: new Map(),
  };
  const node = configIn(source);
  if (node === undefined) {
    const hint = 'is this a gateway config of Portkey?';
    source.fail(source.root, `has no strategy with targets, no provider and no virtual_key: ${hint}`);
    return { draft, problems: source.problems };
  }
  const place = readLevel(portkey, { node, name, inherited: { timeoutMs: undefined } });
  if (place !== undefined) nameIt(portkey, node, { name, place });
  for (const piece of source.unread(source.root)) note(portkey, 'lost', piece, { text: noCounterpart });
  return { draft, problems: source.problems };
}

/** The config, which an answer of the API has inside; undefined: there is none. */
function configIn(source: Source): TreePiece | undefined {
  let node: TreePiece | undefined = source.root;
  for (const wrapping of ['', ...wrappings]) {
    if (wrapping !== '' && node !== undefined) node = source.tree(node, wrapping) ?? node;
    if (['strategy', 'targets', 'provider', 'virtual_key', 'virtualKey'].some((key) => key in (node?.value ?? {})))
      return node;
  }
  return undefined;
}

/** A config of one target has no alias yet. */
function nameIt(
  portkey: Portkey,
  node: TreePiece,
  { name, place }: { readonly name: string; readonly place: Place },
): void {
  const source = place.isFamily ? `${literal(name)}/*` : literal(name);
  if (portkey.draft.aliases.some((alias) => alias.source === source)) return;
  const retry = readRetry(portkey.source, node, 0);
  portkey.draft.aliases.push({ source, targets: [{ model: place.name }], retry });
}

/** Undefined: nothing that the gateway can ask. */
function readLevel(portkey: Portkey, level: Level): Place | undefined {
  const { node } = level;
  const { source } = portkey;
  const strategy = source.tree(node, 'strategy');
  const targets = source.trees(node, 'targets');
  readCache(portkey, level);
  readGuardrails(portkey, node);
  const timeoutMs = source.number(node, spelled(node, 'request_timeout')) ?? level.inherited.timeoutMs;
  const inherited: Inherited = { timeoutMs };
  let place: Place | undefined;
  if (targets.length === 0) {
    const leaf = readLeaf(portkey, node, inherited);
    place = leaf === undefined ? undefined : { name: leaf.selector, isFamily: leaf.isFamily };
  } else place = readStrategy(portkey, { ...level, inherited }, { strategy, targets });
  source.member(node, 'weight');
  source.member(node, 'name');
  source.member(node, 'retry');
  source.member(node, spelled(node, 'on_status_codes'));
  for (const piece of source.unread(node)) note(portkey, 'lost', piece, { text: wordsOf(String(piece.path.at(-1))) });
  return place;
}

function wordsOf(member: string): string {
  if (/^forward_?headers$/i.test(member)) return 'is forward_headers of a provider here';
  if (/^(metadata|trace_?id)$/i.test(member)) return `${noCounterpart}: keys have labels, and callers user paths`;
  if (/^override_?params$/i.test(member)) return `${noCounterpart} above targets: write the model of each target`;
  return noCounterpart;
}

interface Children {
  readonly strategy: TreePiece | undefined;
  readonly targets: readonly TreePiece[];
}

function readStrategy(portkey: Portkey, level: Level, { strategy, targets }: Children): Place | undefined {
  const { source } = portkey;
  const { name, node, inherited } = level;
  const mode = strategy === undefined ? 'single' : (source.text(strategy, 'mode') ?? 'single');
  const places = targets.flatMap((target, index) => {
    const own = source.text(target, 'name') ?? String(index + 1);
    const weight = source.number(target, 'weight');
    const place = readLevel(portkey, { node: target, name: `${name}-${own}`, inherited });
    return place === undefined ? [] : [{ ...place, weight, own, target }];
  });
  if (mode === 'conditional') return addConditions(portkey, level, { strategy, places });
  const used =
    mode === 'single' ? places.slice(0, 1) : places.filter(({ weight }) => mode !== 'loadbalance' || weight !== 0);
  if (!['single', 'loadbalance', 'fallback'].includes(mode))
    note(portkey, 'lost', strategy ?? node, {
      text: `${noCounterpart}: its targets were taken over, to be asked in turn`,
    });
  for (const { target } of places.filter((place) => mode === 'loadbalance' && place.weight === 0))
    note(portkey, 'decide', target, { text: 'has a weight of 0: it is no target of the alias' });
  const families = used.filter(({ isFamily }) => isFamily);
  const isFamily = families.length === used.length;
  const fitting = isFamily ? used : used.filter((place) => !place.isFamily);
  for (const lost of isFamily ? [] : families)
    note(portkey, 'lost', lost.target, {
      text: `${lost.name} takes the model that a client names, and stands beside targets that say theirs: add a target for a model of it to the alias`,
    });
  if (fitting.length === 0) return undefined;
  const shares = mode === 'loadbalance' ? wholeShares(fitting.map(({ weight }) => Math.max(weight ?? 1, 0))) : [];
  const areEqual = shares.every((share) => share === shares[0]);
  const alias: DraftAlias = {
    source: freeName(portkey, literal(name), isFamily ? '/*' : ''),
    targets: distinct(
      fitting.map((place, index) => ({ model: place.name, ...(areEqual ? {} : { weight: shares[index] ?? 1 }) })),
    ),
    strategy: mode === 'fallback' && fitting.length > 1 ? 'failover' : undefined,
    retry: readRetry(source, node, fitting.length - 1, strategy),
  };
  if (strategy !== undefined) readRest(portkey, strategy, alias);
  portkey.draft.aliases.push(alias);
  return { name: alias.source, isFamily };
}

/** Levels may have names that others get by their number. */
function freeName({ draft }: Portkey, name: string, end: string): string {
  const taken = new Set(draft.aliases.map(({ source }) => foldCase(source)));
  for (let count = 1; ; count += 1) {
    const free = `${name}${count === 1 ? '' : `-${count}`}${end}`;
    if (!taken.has(foldCase(free))) return free;
  }
}

/** Targets that are the same here, because only their keys' names differed, or their parameters. */
function distinct(targets: DraftAlias['targets']): DraftAlias['targets'] {
  const seen = new Map(targets.map((target) => [target.model, target]));
  return [...seen.values()].slice(0, 100);
}

function readRest(portkey: Portkey, strategy: TreePiece, alias: DraftAlias): void {
  const { source } = portkey;
  const sticky = source.tree(strategy, spelled(strategy, 'sticky_session'));
  if (sticky !== undefined && source.flag(sticky, 'enabled') !== false) {
    alias.strategy = 'session_affinity';
    note(portkey, 'decide', sticky, {
      about: alias,
      text: 'is session_affinity: a conversation stays with its target, whatever metadata says',
    });
  }
  for (const piece of source.unread(strategy)) note(portkey, 'lost', piece, { about: alias, text: noCounterpart });
}

/** There is one cache for all here: the first that the file describes. */
function readCache(portkey: Portkey, { node }: Level): void {
  const { source, draft } = portkey;
  const piece = source.member(node, 'cache');
  if (piece === undefined) return;
  const tree = typeof piece.value === 'string' ? undefined : source.tree(node, 'cache');
  const mode = tree === undefined ? String(piece.value) : source.text(tree, 'mode');
  const age = tree === undefined ? undefined : source.number(tree, spelled(tree, 'max_age'));
  if (draft.cache !== undefined) {
    note(portkey, 'lost', piece, { about: draft.cache, text: `${noCounterpart}: there is one cache for all targets` });
    return;
  }
  const ttl = age !== undefined && age >= 1 && age <= 31_536_000 ? { ttl: `${Math.floor(age)}s` } : {};
  const cache: Record<string, unknown> = { enabled: true, ...ttl };
  draft.cache = cache;
  const text = 'there is one cache for all models here; answers are shared within a user path (scope)';
  note(portkey, 'decide', piece, { about: cache, text });
  if (mode === 'semantic')
    note(portkey, 'decide', piece, {
      about: cache,
      text: 'is semantic: add semantic with the model that makes the embeddings',
    });
}
