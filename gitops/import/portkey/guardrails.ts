// Reads guardrails that a config of Portkey describes itself; those that it names by an id are kept elsewhere.
import { isTree } from '../../../schemas/validation/value-at.ts';
import { noCounterpart, note } from '../draft.ts';
import type { Piece, TreePiece } from '../source.ts';
import { type Portkey, spelled } from './target.ts';

const members = [
  ['input_guardrails', 'input'],
  ['output_guardrails', 'output'],
  ['before_request_hooks', 'input'],
  ['after_request_hooks', 'output'],
] as const;

type Phase = 'input' | 'output';

/** portkey.ai/docs/product/guardrails. They hold for all models here, wherever they stand in the config. */
export function readGuardrails(portkey: Portkey, node: TreePiece): void {
  const { source } = portkey;
  for (const [member, phase] of members) {
    for (const item of source.items(node, spelled(node, member))) {
      if (isTree(item.value) && !Array.isArray(item.value)) readOne(portkey, item as TreePiece, phase);
      else
        note(portkey, 'lost', item, {
          text: 'is the id of a guardrail that Portkey keeps: write it anew under guardrails',
        });
    }
  }
}

/** A mapping of checks with their parameters beside `deny`; or a hook with a list of checks. */
function readOne(portkey: Portkey, piece: TreePiece, phase: Phase): void {
  const { source } = portkey;
  const isDenying = source.flag(piece, 'deny') === true;
  for (const member of ['id', 'type', 'async', 'on_success', 'on_fail', 'onSuccess', 'onFail'])
    source.member(piece, member);
  for (const check of source.trees(piece, 'checks')) {
    const id = source.text(check, 'id') ?? '';
    add(portkey, { piece: check, id, params: source.tree(check, 'parameters') }, { phase, isDenying });
  }
  for (const found of source.unread(piece)) {
    const id = String(found.path.at(-1));
    add(portkey, { piece: found, id, params: source.tree(piece, id) }, { phase, isDenying });
  }
}

interface Check {
  readonly piece: Piece;
  readonly id: string;
  readonly params: TreePiece | undefined;
}

function add(
  portkey: Portkey,
  check: Check,
  { phase, isDenying }: { readonly phase: Phase; readonly isDenying: boolean },
): void {
  const { draft } = portkey;
  const block = blockOf(portkey, check, phase, isDenying ? 'block' : 'flag');
  if (block === undefined) {
    note(portkey, 'lost', check.piece, {
      text: `${noCounterpart}: a webhook can ask a service of yours, or llm a model`,
    });
    return;
  }
  const [kind = 'check'] = Object.keys(block);
  const named = draft.guardrails.filter(({ name }) => String(name).startsWith(`${kind}-${phase}`)).length;
  const name = `${kind.replace('_', '-')}-${phase}${named === 0 ? '' : `-${named + 1}`}`;
  draft.guardrails.push({ name, on: [phase], ...block });
}

/** Undefined: the gateway has no such check. */
function blockOf(
  { source }: Portkey,
  { id, params }: Check,
  phase: Phase,
  action: 'block' | 'flag',
): Record<string, unknown> | undefined {
  if (params === undefined) return undefined;
  const check = id.replace(/^default\./, '');
  if (check === 'contains' && source.text(params, 'operator') === 'none') {
    const words = source.texts(params, 'words').filter((word) => /\S/.test(word) && word.length <= 256);
    return words.length === 0 ? undefined : { keywords: { words, action } };
  }
  if (check === 'regexMatch') {
    const rule = source.text(params, 'rule');
    // Without `not` the check wants a match; a pattern here names what must not be there.
    return rule === undefined || source.flag(params, 'not') !== true
      ? undefined
      : { regex: { patterns: [rule], action } };
  }
  const characters =
    check === 'characterCount' && phase === 'input'
      ? source.number(params, spelled(params, 'max_characters'))
      : undefined;
  if (characters !== undefined && characters >= 1 && action === 'block')
    return { limits: { max_prompt_characters: Math.floor(characters) } };
  const schema = check === 'jsonSchema' && phase === 'output' ? source.tree(params, 'schema') : undefined;
  return schema === undefined ? undefined : { schema: { schema: schema.value, action } };
}
