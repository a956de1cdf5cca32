// The log lines of config and managed state, the same in both planes.
import type { ConfigChange } from '../gitops/diff/config-change.ts';
import type { ConfigEvent } from '../gitops/follow/config-status.ts';
import { formatProblem, problemFields } from '../gitops/read/problem.ts';
import type { StateEvent } from '../store/state/state-status.ts';

type Level = 'info' | 'warn' | 'error';

/** The part of a logger that these lines need. */
export type Log = Record<Level, (fields: object | string, text?: string) => void>;

const configTexts: Readonly<Record<ConfigEvent['kind'], string>> = {
  applied: 'config applied',
  recovered: 'config good again, nothing changed',
  rejected: 'config rejected',
  'key-renewed': 'provider key renewed',
  'certificates-renewed': 'provider certificates renewed',
  'secret-renewed': 'secret renewed',
  'client-key-renewed': 'key of a client renewed',
  'listener-renewed': 'certificate of the listener renewed',
  'last-good-used': 'serving the last good config',
  given: 'config applied in place of the directory',
  'given-unusable': 'config given in place of the directory cannot be used: nothing changed',
  waiting: 'config of the directory waits: another one is given in its place',
  warning: 'config warning',
};

/** Of the others: `info`. */
const levels: ReadonlyMap<ConfigEvent['kind'], Level> = new Map([
  ['rejected', 'error'],
  ['given-unusable', 'error'],
  ['given', 'warn'],
  ['last-good-used', 'warn'],
  ['warning', 'warn'],
]);

/** One line for each problem, then one for the event itself. */
export function logConfigEvent(log: Log, { kind, revision, problems, changes }: ConfigEvent): void {
  const level = levels.get(kind) ?? 'info';
  if (kind !== 'last-good-used') {
    for (const problem of problems) log[level](problemFields(problem), formatProblem(problem));
  }
  if (kind !== 'warning') log[level]({ config_revision: revision, ...changeFields(changes) }, configTexts[kind]);
}

const stateTexts: Readonly<Record<StateEvent['kind'], readonly [Level, string]>> = {
  applied: ['info', 'managed state applied'],
  unavailable: ['error', 'the state store is not available: what is in force stays in force'],
  available: ['info', 'the state store is available again'],
  'copy-used': ['warn', 'started on the copy of the managed state'],
  emptied: ['error', 'the state store was emptied: what is in force stays in force'],
  behind: ['error', 'the state store went back to an older state: what is in force stays in force'],
  reseeded: ['warn', 'the managed state was written back into the store'],
  lost: ['error', 'the state store has lost documents that proxies know'],
  replaced: ['error', 'another state store is in the place of the one before: its managed state is in force now'],
  evicts: ['error', 'the state store may drop keys by itself'],
  keeps: ['info', 'the state store drops no keys by itself any more'],
  warning: ['warn', 'managed state warning'],
};

/** One line for the event. */
export function logStateEvent(log: Log, { kind, revision, problem }: StateEvent): void {
  const [level, text] = stateTexts[kind];
  const fields = { state_revision: revision };
  if (typeof problem === 'string') log[level](fields, problem);
  else log[level]({ ...fields, ...(problem === undefined ? {} : { err: problem }) }, text);
}

/** The most names in one field, and the most sentences. */
const mostNamed = 20;

/**
 * Up to five lists of names (`added`, `removed`, `loosened`, `tightened`, `changed`), and `changes`, the same in words. Each has the
 * first 20, then how many more there are. No fields when nothing changed.
 */
function changeFields(changes: readonly ConfigChange[] = []): Record<string, string | string[]> {
  const names: Record<string, string[]> = {};
  for (const { change, kind, name } of changes) {
    names[change] ??= [];
    names[change].push(`${kind} ${name}`);
  }
  const fields = Object.entries(names).map(([change, named]) => [change, firstOf(named)] as const);
  if (fields.length === 0) return {};
  return { ...Object.fromEntries(fields), changes: firstOf(changes.map(({ words }) => words)).join('; ') };
}

function firstOf(texts: readonly string[]): string[] {
  const more = texts.length - mostNamed;
  return more > 0 ? [...texts.slice(0, mostNamed), `and ${more} more`] : [...texts];
}
