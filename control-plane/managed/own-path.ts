// Decides which limits a scoped operator may write: any below its own path, only tightening ones at the path itself, because other operators
// limit it there. Pure.
import { type BudgetMode, compareStrictness } from '../../domain/budgets/mode.ts';
import { isSamePath, isWithin } from '../../domain/user-path.ts';
import { isInScope, isScoped, type Operator } from '../authenticate.ts';
import { type Refusal, refusal } from '../errors.ts';
import type { Known } from './known.ts';
import { scopesOf } from './scopes.ts';

/** The limit that a request names. */
export interface NamedLimit {
  readonly key: string;
  readonly scope: string;
  /** To compare. */
  readonly matchSubject: string;
}

/** The members of a limit that operators have written. */
interface WrittenLimit extends NamedLimit {
  readonly mode: BudgetMode;
  readonly perChild?: boolean;
  readonly tightens?: true;
}

/** The limits of a kind, and what messages call one: `rule`. */
interface Limits<Declared> {
  readonly known: Pick<Known<Declared, WrittenLimit>, 'config' | 'manual' | 'isUnreadable'>;
  readonly noun: 'rule' | 'budget';
}

/** The user path of a limit; undefined: it is about something of the whole gateway. */
export function userPathOf({ scope, matchSubject }: Pick<NamedLimit, 'scope' | 'matchSubject'>): string | undefined {
  return scope === 'user_path' ? matchSubject : undefined;
}

/** Whether the operator may see a limit. */
export function isVisible(operator: Operator, limit: Pick<NamedLimit, 'scope' | 'matchSubject'>): boolean {
  return isInScope(operator, userPathOf(limit));
}

/**
 * The write that this operator may make at its own path: marked `tightens`, so that it cannot loosen what the configuration declares later.
 * Throws 403 `admin_scope_denied` naming the member that would loosen a limit of others. `check` throws for the members of the kind.
 */
export function tightened<Declared extends Omit<WrittenLimit, 'tightens'>, Write extends WrittenLimit>(
  { known, noun }: Limits<Declared>,
  write: Write,
  operator: Operator,
  check: (declared: Declared) => void,
): Write {
  if (!isOwnPath(write, operator)) return write;
  refuseOthers({ known, noun }, write);
  const declared = known.config.get(write.key);
  if (declared === undefined) return { ...write, tightens: true };
  check(declared);
  if (compareStrictness(write.mode, declared.mode) < 0) {
    const enforces = declared.mode === 'hard' ? 'declares as "hard"' : 'enforces';
    throw denied(`send mode "${write.mode}" for a ${noun} that the configuration ${enforces}`, 'mode');
  }
  if ((write.perChild ?? declared.perChild) !== declared.perChild)
    throw denied(`change per_child of a ${noun} of the configuration`, 'per_child');
  return { ...write, tightens: true };
}

export function isOwnPath({ scope, matchSubject }: NamedLimit, operator: Operator): boolean {
  return isScoped(operator) && scope === 'user_path' && isSamePath(matchSubject, operator.userPath);
}

/**
 * Throws 403 for a limit of others at the own path. One without `tightens` was set by an operator with more rights; an unreadable one may
 * have been.
 */
export function refuseOthers<Declared>({ known, noun }: Limits<Declared>, { key }: NamedLimit): void {
  const standing = known.manual.get(key);
  const isOfOthers = standing === undefined ? known.isUnreadable(key) : standing.tightens !== true;
  if (isOfOthers) throw denied(`change a ${noun} of its own path that an operator with more rights has set`);
}

/** For each scope of the operator: its name in messages, and how many of these paths lie in it. */
export function countsInScopes(
  operator: Operator,
  known: Pick<Known<unknown, unknown>, 'keys'>,
  paths: readonly (string | undefined)[],
): { readonly where: string; readonly count: number }[] {
  return scopesOf(operator, known.keys()).map((scope) => ({
    where: `at and below ${scope}`,
    count: paths.filter((path) => path !== undefined && isWithin(path, scope)).length,
  }));
}

/** The 403 of a write that an operator may not make; `what` continues "This key may not …". */
export function denied(what: string, param?: string): Refusal {
  return refusal('admin_scope_denied', { ...(param === undefined ? {} : { param }), fill: { what } });
}
