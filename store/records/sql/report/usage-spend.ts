// Sums the spend since a moment, for many budgets at once (spec: What the service does 8).
import type { SpendQuestion } from '../../record-store.ts';
import { condition } from '../condition.ts';
import type { Statements } from '../database.ts';
import { plainMoment, plainText } from '../plain-values.ts';
import { dictionaries } from '../write/usage-names.ts';
import type { SoughtUsage } from './usage-filter.ts';
import { joinSums, partSums } from './usage-parts.ts';

/** The start of the year 10000, after every moment that a record may have (see `plainMoment`), and the start of a day. */
const endMs = 253_402_300_800_000;

type Amounts = readonly (readonly [key: string, cost: number])[];

/**
 * In the order of the questions. Time is cut at the moments that are asked for, and each piece is summed once, the latest first, so that a
 * thousand questions cost as much as one where their moments are few.
 */
export async function spendSince(
  statements: Statements,
  questions: readonly SpendQuestion[],
  untilMs: number | null = null,
): Promise<readonly Amounts[]> {
  const answers = new Map<SpendQuestion, Amounts>();
  for (const [scope, ofScope] of Map.groupBy(questions, (question) => question.scope)) {
    const byMoment = Map.groupBy(ofScope, ({ fromMs }) => plainMoment(fromMs));
    const tree = new Map<string, Spent>();
    let toMs = untilMs ?? endMs;
    for (const [fromMs, ofMoment] of [...byMoment].sort(([a], [b]) => b - a)) {
      const amounts = await spentBetween(statements, scope, { fromMs, toMs });
      for (const [key, cost] of amounts) grow(tree, scope === 'label' ? [key] : lineage(key), cost);
      for (const question of ofMoment) answers.set(question, answer(tree, question));
      toMs = fromMs;
    }
  }
  return questions.map((question) => answers.get(question) ?? []);
}

/** Of a path and all below it, or of a label. */
interface Spent {
  cost: number;
  readonly children: Set<string>;
}

async function spentBetween(
  statements: Statements,
  scope: SpendQuestion['scope'],
  span: SoughtUsage['span'],
): Promise<Amounts> {
  const column = scope === 'label' ? 'label' : 'path';
  const all = { model: undefined, path: undefined, label: undefined, sessionId: undefined };
  const wanted = { columns: [column], measures: ['total_cost'] } as const;
  const sums = joinSums(partSums(statements, { ...all, span, cacheMode: 'uncached', isRecent: false }, wanted), wanted);
  const { table, columns } = dictionaries[column];
  const { sql, values } = condition(
    `SELECT ${table}.${columns[0]} AS key, sums.total_cost FROM (${sums.sql}) AS sums
     JOIN ${table} ON ${table}.id = sums.${column} WHERE sums.total_cost <> 0`,
    ...sums.values,
  );
  const rows = await statements.all(sql, ...values);
  return rows.map((row) => [String(row['key']), Number(row['total_cost'])]);
}

/** The root, and every path from there down to this one. */
function lineage(path: string): string[] {
  const paths = ['/'];
  for (let end = path.indexOf('/', 1); end !== -1; end = path.indexOf('/', end + 1)) paths.push(path.slice(0, end));
  return path === '/' ? paths : [...paths, path];
}

/** Adds a cost to each of these, of which each is a child of the one before it. */
function grow(tree: Map<string, Spent>, keys: readonly string[], cost: number): void {
  for (const [depth, key] of keys.entries()) {
    const spent = tree.get(key) ?? { cost: 0, children: new Set<string>() };
    tree.set(key, spent);
    spent.cost += cost;
    const parent = keys[depth - 1];
    if (parent !== undefined) tree.get(parent)?.children.add(key);
  }
}

function answer(tree: ReadonlyMap<string, Spent>, { scope, subject, perChild }: SpendQuestion): Amounts {
  const spent = tree.get(plainText(subject));
  const keys = perChild && scope === 'user_path' ? [...(spent?.children ?? [])] : [subject];
  return keys.flatMap((key) => {
    const cost = tree.get(plainText(key))?.cost ?? 0;
    return cost === 0 ? [] : [[key, cost] as const];
  });
}
