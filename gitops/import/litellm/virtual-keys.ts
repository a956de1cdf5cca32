// Limits and budgets of LiteLLM's virtual keys: they become rules of a user path for each key, and a command that issues the key there.
import { normaliseUserPath } from '../../../domain/user-path.ts';
import type { ParsedFile } from '../../read/parse.ts';
import type { Problem } from '../../read/problem.ts';
import { type Draft, type DraftLimit, noCounterpart, note, type Work } from '../draft.ts';
import { openSource, type TreePiece } from '../source.ts';
import { addBudget } from './settings.ts';

/** Words of LiteLLM that stand for all models. */
const allModels = new Set(['all-team-models', 'all-proxy-models', '*']);
/** Limits that a rule of a user path cannot say. */
const others = ['model_max_budget', 'model_rpm_limit', 'model_tpm_limit', 'soft_budget'] as const;

/**
 * Adds the rules of the keys in an answer of `GET /key/list?return_full_object=true` (docs.litellm.ai/docs/proxy/virtual_keys); gives the problems
 * of the file. Secrets and hashes of keys are not read.
 */
export function addVirtualKeys(draft: Draft, parsed: ParsedFile): readonly Problem[] {
  const source = openSource(parsed);
  const work: Work = { source, draft };
  if (source.member(source.root, 'keys') === undefined)
    source.fail(source.root, 'has no list "keys": is this the answer of GET /key/list?return_full_object=true?');
  const taken = new Set<string>();
  source.trees(source.root, 'keys').forEach((key, index) => {
    addKey(work, key, { taken, index });
  });
  return source.problems;
}

function addKey(
  work: Work,
  key: TreePiece,
  { taken, index }: { readonly taken: Set<string>; readonly index: number },
): void {
  const { source, draft } = work;
  const name = source.text(key, 'key_alias') ?? `key-${index + 1}`;
  const team = source.text(key, 'team_alias') ?? source.text(key, 'team_id');
  const path = pathOf([team, name], taken);
  const limits = limitsOf(work, key);
  if (limits.length > 0) draft.pathLimits.set(path, limits);
  const amount = source.member(key, 'max_budget');
  const spent = source.number(key, 'max_budget');
  if (amount !== undefined && spent !== undefined)
    addBudget(work, path, { piece: amount, amount: spent, period: source.text(key, 'budget_duration') });
  const about = draft.budgets.get(path) ?? (limits.length > 0 ? limits : undefined);
  if (source.flag(key, 'blocked') === true) {
    note(work, 'decide', key, { about, text: 'is of a key that is blocked: issue none' });
    return;
  }
  const models = source.texts(key, 'models').filter((model) => !allModels.has(model));
  const words = ['model-gateway keys issue', quoted(name), '--user-path', quoted(path)];
  if (models.length > 0 && models.length <= 100) words.push('--models', quoted(models.join(',')));
  const end = source.member(key, 'expires') === undefined ? '' : '; it ends there on a day, here after --expires-in';
  note(work, 'decide', key, { about, text: `is of a key that has to be issued anew: ${words.join(' ')}${end}` });
  for (const member of others) {
    const piece = source.member(key, member);
    const isEmpty = piece === undefined || JSON.stringify(piece.value) === '{}';
    if (!isEmpty) note(work, 'lost', piece, { about, text: noCounterpart });
  }
}

/** `/team/key`, of letters that a path may have; no two keys share one. */
function pathOf(names: readonly (string | undefined)[], taken: Set<string>): string {
  const segments = names.flatMap((name) =>
    name === undefined ? [] : [name.replaceAll(/[^\p{L}\p{N}._-]+/gu, '-').slice(0, 60)],
  );
  const { path: found = '/keys' } = normaliseUserPath(`/${segments.join('/')}`);
  const base = found === '/' ? '/keys' : found;
  let path = base;
  for (let count = 2; taken.has(path.toLowerCase()); count += 1) path = `${base}-${count}`;
  taken.add(path.toLowerCase());
  return path;
}

function limitsOf({ source }: Work, key: TreePiece): DraftLimit[] {
  const figure = (member: string): number | undefined => {
    const value = source.number(key, member);
    return value === undefined || value < 1 || value > Number.MAX_SAFE_INTEGER ? undefined : Math.floor(value);
  };
  const [requests, tokens, open] = [figure('rpm_limit'), figure('tpm_limit'), figure('max_parallel_requests')];
  const perMinute: DraftLimit = {
    period: 'minute',
    ...(requests === undefined ? {} : { max_requests: requests }),
    ...(tokens === undefined ? {} : { max_tokens: tokens }),
  };
  return [
    ...(requests === undefined && tokens === undefined ? [] : [perMinute]),
    ...(open === undefined ? [] : [{ period: 'concurrent', max_requests: open }]),
  ];
}

/** A word of a shell. */
function quoted(text: string): string {
  return /^[\w./,:@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
