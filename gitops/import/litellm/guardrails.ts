// Reads the guardrails of LiteLLM that the gateway has too: personal data by its forms, and words that block.
import { noCounterpart, note } from '../draft.ts';
import type { TreePiece } from '../source.ts';
import type { Translator } from '../traits.ts';

/** Entities of Presidio that `pii` finds. */
const entities: Readonly<Record<string, string>> = {
  EMAIL_ADDRESS: 'email',
  PHONE_NUMBER: 'phone',
  CREDIT_CARD: 'card',
  IBAN_CODE: 'iban',
};

interface Found {
  readonly piece: TreePiece;
  readonly params: TreePiece;
  readonly name: string;
}

/** Each entry of `guardrails`; those without a counterpart have a note. */
export function readGuardrails(translator: Translator): void {
  const { source, draft } = translator;
  const names = new Set<string>();
  for (const piece of source.trees(source.root, 'guardrails')) {
    const given = source.text(piece, 'guardrail_name') ?? 'guardrail';
    const params = source.tree(piece, 'litellm_params') ?? piece;
    const base =
      given
        .replaceAll(/[^A-Za-z0-9._-]+/g, '-')
        .replace(/^[^A-Za-z0-9]+/, '')
        .slice(0, 56) || 'guardrail';
    let name = base;
    for (let count = 2; names.has(name.toLowerCase()); count += 1) name = `${base}-${count}`;
    names.add(name.toLowerCase());
    const guardrail = readOne(translator, { piece, params, name });
    if (guardrail === undefined) continue;
    draft.guardrails.push(guardrail);
    for (const part of [params, piece])
      for (const left of source.unread(part)) note(translator, 'lost', left, { about: guardrail, text: noCounterpart });
  }
}

function readOne(translator: Translator, found: Found): Record<string, unknown> | undefined {
  const { source } = translator;
  const { params, piece } = found;
  const kind = source.text(params, 'guardrail');
  if (kind === 'presidio') return withPhases(translator, found, readPresidio(translator, found));
  if (kind === 'hide-secrets') return withPhases(translator, found, { pii: { kinds: ['key'], action: 'redact' } });
  if (kind === 'litellm_content_filter') {
    const words = wordsOf(translator, params);
    if (words.length > 0) return withPhases(translator, found, { keywords: { words, action: 'block' } });
  }
  note(translator, 'lost', piece, {
    text: `${noCounterpart}: the gateway has no guardrail of this product; a webhook can ask one, or llm a model`,
  });
  return undefined;
}

/** The phases, and shadow for one that only requests which ask for it would meet. */
function withPhases(translator: Translator, { params, name, piece }: Found, block: Record<string, unknown>) {
  const { source } = translator;
  const modes = source.texts(params, 'mode');
  const on = [
    ...(modes.some((mode) => mode === 'pre_call' || mode === 'during_call') ? ['input'] : []),
    ...(modes.includes('post_call') ? ['output'] : []),
  ];
  const isAlways = source.flag(params, 'default_on') === true;
  const isLog = modes.length > 0 && on.length === 0;
  const guardrail: Record<string, unknown> = {
    name,
    ...(on.length === 0 ? {} : { on }),
    ...(isAlways && !isLog ? {} : { mode: 'shadow' }),
    ...block,
  };
  if (!isAlways)
    note(translator, 'decide', piece, {
      about: guardrail,
      text: 'holds there for requests that ask for it (default_on is not true), here for all callers of user_paths: it is in shadow until you remove mode',
    });
  return guardrail;
}

function readPresidio(translator: Translator, { params }: Found): Record<string, unknown> {
  const { source } = translator;
  const config = source.tree(params, 'pii_entities_config');
  const kinds: string[] = [];
  const actions = new Set<string>();
  for (const name of config === undefined ? [] : Object.keys(config.value)) {
    const piece = config === undefined ? undefined : source.member(config, name);
    if (config === undefined || piece === undefined) continue;
    const kind = Object.hasOwn(entities, name) ? entities[name] : undefined;
    if (kind === undefined)
      note(translator, 'lost', piece, {
        text: `${noCounterpart}: pii finds what has a form (email, phone, card, iban, key); a regex may find it`,
      });
    else {
      kinds.push(kind);
      actions.add(String(source.text(config, name)).toLowerCase());
    }
  }
  const action = actions.has('block') ? 'block' : 'mask';
  if (actions.size > 1)
    note(translator, 'decide', params, {
      text: 'masks some entities and blocks others; one guardrail has one action, which is block here',
    });
  const usable = kinds.length === 0 ? {} : { kinds };
  return { pii: { ...usable, action } };
}

function wordsOf(translator: Translator, params: TreePiece): string[] {
  const { source } = translator;
  const words = source.items(params, 'blocked_words').flatMap((item) => {
    if (typeof item.value === 'string') return [item.value];
    const tree = typeof item.value === 'object' && item.value !== null ? (item as TreePiece) : undefined;
    const word = tree === undefined ? undefined : source.text(tree, 'keyword');
    return word === undefined ? [] : [word];
  });
  return [...new Set(words.filter((word) => /\S/.test(word) && word.length <= 256))].slice(0, 20_000);
}
