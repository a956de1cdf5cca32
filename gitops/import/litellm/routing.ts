// Reads how LiteLLM routes: strategy, retries, fallbacks and other names of groups, from router_settings and litellm_settings.
import { foldCase } from '../../../domain/selector.ts';
import aliasSchema from '../../../schemas/config/aliases.schema.json' with { type: 'json' };
import { type DraftAlias, note } from '../draft.ts';
import type { Piece, TreePiece } from '../source.ts';
import type { Translator } from '../traits.ts';

export interface Routing {
  readonly strategy: string | undefined;
  /** By name of the group in lower case: the names of the groups behind it. */
  readonly fallbacks: ReadonlyMap<string, readonly string[]>;
  /** Where the file names the groups behind others. */
  readonly named: readonly { readonly key: string; readonly names: readonly string[]; readonly piece: Piece }[];
  /** Behind each group without fallbacks of its own. */
  readonly defaults: readonly string[];
  /** The fallbacks for prompts that are too long, by name of the group in lower case. */
  readonly forLength: ReadonlyMap<string, Piece>;
  readonly renamed: readonly { readonly name: string; readonly target: string; readonly piece: Piece }[];
  /** `behind`: how many targets follow the first ones. */
  retry(behind: number, most: number): DraftAlias['retry'];
}

const strategies: Readonly<Record<string, string | undefined>> = {
  'simple-shuffle': undefined,
  'latency-based-routing': 'least_latency',
  'cost-based-routing': 'cost',
};

/** Kinds of failures of the configuration, by the names of LiteLLM's `retry_policy`. */
const failures: Readonly<Record<string, string>> = {
  AuthenticationErrorRetries: 'account',
  TimeoutErrorRetries: 'timeout',
  RateLimitErrorRetries: 'rate_limit',
  InternalServerErrorRetries: 'server_error',
};
const allFailures = aliasSchema.$defs.alias.properties.retry.properties.on.default;

/** `settings`: router_settings, then litellm_settings; the first that says something counts. */
export function readRouting(translator: Translator, settings: readonly TreePiece[]): Routing {
  const { source } = translator;
  const fallbacks = new Map<string, string[]>();
  const named: { key: string; names: string[]; piece: Piece }[] = [];
  const forLength = new Map<string, Piece>();
  for (const parent of settings) {
    for (const { key, names, piece } of readFallbacks(translator, parent, 'fallbacks')) {
      if (!fallbacks.has(key)) fallbacks.set(key, names);
      named.push({ key, names, piece });
    }
  }
  for (const parent of settings) {
    for (const { key, names, piece } of readFallbacks(translator, parent, 'context_window_fallbacks')) {
      fallbacks.set(key, [...(fallbacks.get(key) ?? []), ...names]);
      forLength.set(key, piece);
      named.push({ key, names, piece });
    }
  }
  const first = <Value>(read: (parent: TreePiece) => Value | undefined): Value | undefined =>
    settings.map(read).find((value) => value !== undefined);
  const defaults = settings.flatMap((parent) => source.texts(parent, 'default_fallbacks'));
  return {
    strategy: first((parent) => readStrategy(translator, parent)),
    fallbacks,
    named,
    defaults: [...new Set(defaults)],
    forLength,
    renamed: settings.flatMap((parent) => readRenamed(translator, parent)),
    retry: retryOf(translator, settings),
  };
}

function readStrategy(translator: Translator, parent: TreePiece): string | undefined {
  const { source } = translator;
  const piece = source.member(parent, 'routing_strategy');
  const name = piece === undefined ? undefined : source.text(parent, 'routing_strategy');
  if (piece === undefined || name === undefined || Object.hasOwn(strategies, name)) return strategies[name ?? ''];
  const text =
    'has no counterpart: requests are spread by weight (round_robin). Caps of a target that are used up, and limits that its provider tells, lead requests to the others';
  note(translator, 'lost', piece, { text });
  return undefined;
}

interface Fallback {
  readonly key: string;
  readonly names: string[];
  readonly piece: Piece;
}

/** A list of mappings from a group to the names of others. */
function readFallbacks(translator: Translator, parent: TreePiece, member: string): Fallback[] {
  const { source } = translator;
  return source.trees(parent, member).flatMap((tree) =>
    Object.keys(tree.value).flatMap((name) => {
      const piece = source.member(tree, name);
      if (piece === undefined) return [];
      const names = source.items(tree, name).flatMap((item) => {
        if (typeof item.value === 'string') return [item.value];
        note(translator, 'lost', item, {
          text: 'is a fallback with parameters of its own, which have no counterpart: make it a model of model_list',
        });
        return [];
      });
      return [{ key: foldCase(name), names, piece }];
    }),
  );
}

function readRenamed(translator: Translator, parent: TreePiece): Routing['renamed'] {
  const { source } = translator;
  const all = source.tree(parent, 'model_group_alias');
  if (all === undefined) return [];
  return Object.keys(all.value).flatMap((name) => {
    const piece = source.member(all, name);
    if (piece === undefined) return [];
    const tree = typeof piece.value === 'string' ? undefined : source.tree(all, name);
    const target = tree === undefined ? source.text(all, name) : source.text(tree, 'model');
    const hidden = tree === undefined ? undefined : source.flag(tree, 'hidden');
    if (hidden === true)
      note(translator, 'lost', piece, {
        text: 'is hidden there; every alias is listed in /v1/models for those who may use it',
      });
    return target === undefined ? [] : [{ name, target, piece }];
  });
}

function retryOf(translator: Translator, settings: readonly TreePiece[]): Routing['retry'] {
  const { source } = translator;
  let retries: number | undefined;
  const without = new Set<string>();
  for (const parent of settings) {
    const policy = source.tree(parent, 'retry_policy');
    const given = source.number(parent, 'num_retries');
    retries ??= given;
    for (const [name, failure] of Object.entries(failures)) {
      const count = policy === undefined ? undefined : source.number(policy, name);
      if (count === 0) without.add(failure);
      else if (count !== undefined) retries = Math.max(retries ?? 0, count);
    }
    for (const piece of policy === undefined ? [] : source.unread(policy))
      note(translator, 'lost', piece, { text: 'has no counterpart: after such a failure no other call is made' });
  }
  const on = without.size === 0 ? {} : { on: allFailures.filter((failure) => !without.has(failure)) };
  return (behind, most) => {
    if (retries === undefined) return without.size === 0 ? undefined : on;
    return { attempts: Math.min(Math.max(1, Math.floor(retries) + 1 + behind), most), ...on };
  };
}
