// Translates config.yaml of LiteLLM's proxy into a configuration.
import { foldCase } from '../../../domain/selector.ts';
import type { ParsedFile } from '../../read/parse.ts';
import { emptyDraft, noCounterpart, note, type Translation } from '../draft.ts';
import { openBook } from '../provider-book.ts';
import { openSource, type Source, type TreePiece } from '../source.ts';
import type { Translator } from '../traits.ts';
import { openVariables } from '../variables.ts';
import { addAliases } from './aliases.ts';
import { readDeployments } from './deployments.ts';
import { sectionWords } from './explanations.ts';
import { readGuardrails } from './guardrails.ts';
import { type Defaults, impliedKeys, timeoutsOf } from './read-provider.ts';
import { type Routing, readRouting } from './routing.ts';
import { noteUnread, readBudget, readCache, readGeneral } from './settings.ts';

/** docs.litellm.ai/docs/proxy/configs and docs.litellm.ai/docs/proxy/config_settings */
export function translateLitellm(parsed: ParsedFile): Translation {
  const source = openSource(parsed);
  const draft = emptyDraft();
  const models = glanceAtModels(source);
  const variables = openVariables(source, draft, impliedKeys(models));
  const translator: Translator = { source, draft, variables };
  const section = (name: string): TreePiece => source.tree(source.root, name) ?? { path: [name], value: {} };
  const [router, litellm, general] = [
    section('router_settings'),
    section('litellm_settings'),
    section('general_settings'),
  ];
  const routing = readRouting(translator, [router, litellm]);
  const deployments = readDeployments({
    translator,
    find: openBook(draft, reservedNames(models, routing)),
    defaults: readDefaults(translator, router, litellm),
    credentials: readCredentials(source),
  });
  // Those of patterns that could not be taken over have nothing to be asked for.
  const asked = draft.providers.filter((provider) => provider.models.size + provider.patterns.size > 0);
  draft.providers.splice(0, draft.providers.length, ...asked);
  addAliases(translator, deployments, routing);
  readCache(translator, litellm);
  readBudget(translator, litellm);
  readGeneral(translator, general);
  readGuardrails(translator);
  for (const settings of [router, litellm, general]) noteUnread(translator, settings);
  noteVariables(translator);
  for (const piece of source.unread(source.root)) {
    const name = String(piece.path[0]);
    // By custom a place for anchors.
    if (name.startsWith('x-')) continue;
    note(translator, 'lost', piece, {
      text: Object.hasOwn(sectionWords, name) ? (sectionWords[name] ?? noCounterpart) : noCounterpart,
    });
  }
  if (!('model_list' in parsed.value) && source.problems.length === 0)
    source.fail(source.root, 'has no model_list: is this the config.yaml of a LiteLLM proxy?');
  return { draft, problems: source.problems };
}

interface Glance {
  readonly group: string;
  readonly model: string;
  readonly custom: string | undefined;
  readonly hasKey: boolean;
}

/** What is needed of all deployments before the first is read; mistakes are found when they are. */
function glanceAtModels({ root }: Source): Glance[] {
  const list = root.value['model_list'];
  return (Array.isArray(list) ? list : []).flatMap((entry: unknown) => {
    const { model_name: group, litellm_params: params } = (entry ?? {}) as Record<string, unknown>;
    const { model, custom_llm_provider: custom, api_key: key } = (params ?? {}) as Record<string, unknown>;
    if (typeof group !== 'string' || typeof model !== 'string') return [];
    return [{ group, model, custom: typeof custom === 'string' ? custom : undefined, hasKey: typeof key === 'string' }];
  });
}

/**
 * First parts of names of groups that need an alias: an alias `openai/gpt-4o` would lead to itself if the provider were called `openai`. Others,
 * such as `openai/*`, are better served by a provider of this name.
 */
function reservedNames(models: readonly Glance[], routing: Routing): Set<string> {
  const renamed = routing.renamed.filter(({ name }) => name.includes('/')).map(({ name }) => foldCase(name));
  const reserved = new Set(renamed.map((name) => name.slice(0, name.indexOf('/'))));
  for (const [group, all] of Map.groupBy(models, (each) => foldCase(each.group))) {
    const slash = group.indexOf('/');
    if (slash === -1) continue;
    const needsAlias =
      routing.fallbacks.has(group) ||
      routing.fallbacks.has('*') ||
      routing.defaults.length > 0 ||
      routing.retry(0, 10) !== undefined;
    const isItself = all.length === 1 && foldCase(all[0]?.model ?? '') === group;
    if (!isItself || (needsAlias && !group.includes('*'))) reserved.add(group.slice(0, slash));
  }
  return reserved;
}

function readDefaults(translator: Translator, router: TreePiece, litellm: TreePiece): Defaults {
  const { source } = translator;
  return {
    timeouts: { ...timeoutsOf(translator, litellm), ...timeoutsOf(translator, router) },
    drops: source.flag(litellm, 'drop_params') === true,
    hasBreaker: source.flag(router, 'disable_cooldowns') !== true,
  };
}

function readCredentials(source: Source): Map<string, TreePiece> {
  const found = source.trees(source.root, 'credential_list').flatMap((entry): [string, TreePiece][] => {
    const name = source.text(entry, 'credential_name');
    const values = source.tree(entry, 'credential_values');
    source.member(entry, 'credential_info');
    return name === undefined || values === undefined ? [] : [[name, values]];
  });
  return new Map(found);
}

/** Names alone: the values may be secrets. */
function noteVariables(translator: Translator): void {
  const { source } = translator;
  const all = source.tree(source.root, 'environment_variables');
  if (all === undefined) return;
  for (const piece of source.unread(all))
    note(translator, 'decide', piece, {
      text: 'is a variable with its value in the file: set it where the proxy runs, if something still reads it',
    });
}
