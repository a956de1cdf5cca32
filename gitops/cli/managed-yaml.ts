// The YAML that declares what operators have set: entries as the schemas of the configuration have them. Pure.
import { Document, isMap, isSeq, type YAMLSeq } from 'yaml';

/** Who set an entry, and why. */
interface Provenance {
  readonly updated_by?: string;
  readonly updated_at?: string;
  readonly reason?: string;
  readonly expires_at?: string;
  /** The line of the configuration that it stands in front of. */
  readonly declared_at?: string;
}

interface Counted extends Provenance {
  readonly source: string;
  readonly scope: string;
  readonly subject: string;
  readonly per_child: boolean;
  readonly mode: string;
  readonly period_label: string;
  readonly period_seconds: number;
}

interface Rule extends Counted {
  readonly name?: string;
  readonly max_requests?: number;
  readonly max_tokens?: number;
  readonly on_store_loss?: string;
}

interface Budget extends Counted {
  readonly amount: number;
}

/** The members of an alias that the configuration has, too. */
interface ManagedAlias extends Provenance {
  readonly managed_by: string;
  readonly [member: string]: unknown;
}

interface ManagedGuardrail extends Provenance {
  readonly source: string;
  readonly name: string;
  readonly kind: string;
  readonly settings: object;
  readonly [member: string]: unknown;
}

/** The rows of the admin API, those of the configuration among them. */
export interface Managed {
  readonly rate_limits: readonly Rule[];
  readonly budgets: readonly Budget[];
  readonly aliases: readonly ManagedAlias[];
  readonly guardrails: readonly ManagedGuardrail[];
}

/** A list of a section, and the key that names the subject in it. */
const lists: Readonly<Record<string, readonly [list: string, key: string]>> = {
  user_path: ['user_paths', 'path'],
  provider: ['providers', 'name'],
  model: ['models', 'model'],
  label: ['labels', 'label'],
};
const periods = new Set(['minute', 'hour', 'day', 'concurrent', 'daily', 'weekly', 'monthly', 'hourly']);
const aliasMembers = [
  'source',
  'target',
  'targets',
  'strategy',
  'user_paths',
  'when',
  'enabled',
  'description',
  'retry',
  'hedge',
  'rescue',
  'mirror',
];
const guardrailMembers = ['name', 'user_paths', 'models', 'on', 'roles', 'mode', 'order'];

/** A file of the configuration; a comment alone when operators have set nothing. A block (a cap of 0) becomes a comment. */
export function managedYaml({ rate_limits, budgets, aliases, guardrails }: Managed): string {
  const document = new Document({});
  document.commentBefore = ' What operators have set outside git.';
  const isManual = ({ source }: { readonly source: string }): boolean => source === 'manual';
  const rules = rate_limits.filter(isManual);
  addCounted(
    document,
    'rate_limits',
    rules.filter((rule) => !isBlock(rule)),
    capsOf,
  );
  addCounted(document, 'budgets', budgets.filter(isManual), ({ amount }) => ({ amount }));
  addEntries(
    document,
    'aliases',
    aliases.filter(({ managed_by: origin }) => origin === 'manual'),
    aliasOf,
  );
  addEntries(document, 'guardrails', guardrails.filter(isManual), (row) => ({
    ...pick(row, guardrailMembers),
    [row.kind]: row.settings,
  }));
  const blocks = rules
    .filter(isBlock)
    .map(({ subject, ...row }) => ` ${subject} is blocked: ${wordsOf(row).join('; ')}`);
  if (blocks.length > 0)
    document.comment = ['', ' A block is for a night: the configuration has none.', ...blocks].join('\n');
  const isEmpty = blocks.length === 0 && isMap(document.contents) && document.contents.items.length === 0;
  return isEmpty ? '# Operators have set nothing outside git.\n{}\n' : document.toString({ lineWidth: 120 });
}

function isBlock({ max_requests: most }: Rule): boolean {
  return most === 0;
}

function capsOf({ max_requests, max_tokens, on_store_loss, name }: Rule): object {
  return withoutAbsent({ max_requests, max_tokens, on_store_loss, name });
}

type Caps<Row> = (row: Row) => object;

function addCounted<Row extends Counted>(
  document: Document,
  section: string,
  rows: readonly Row[],
  caps: Caps<Row>,
): void {
  const bySubject = Map.groupBy(rows, ({ scope, subject, per_child }) => JSON.stringify([scope, subject, per_child]));
  for (const [first, ...others] of bySubject.values()) {
    if (first === undefined) continue;
    const [list, key] = lists[first.scope] ?? [first.scope, 'name'];
    const path = [section, list];
    if (!document.hasIn(path)) document.setIn(path, document.createNode([]));
    const subject = document.createNode({
      [key]: first.subject,
      ...(first.per_child ? { per_child: true } : {}),
      limits: [first, ...others].map((row) => limitOf(row, caps)),
    });
    const limits = subject.get('limits');
    if (isSeq(limits)) for (const [index, row] of [first, ...others].entries()) comment(limits.items[index], row);
    (document.getIn(path) as YAMLSeq).add(subject);
  }
}

function limitOf<Row extends Counted>(row: Row, caps: Caps<Row>): object {
  const { period_label: label, period_seconds: seconds, mode } = row;
  const period = periods.has(label) ? { period: label } : { period_seconds: seconds };
  return { ...period, ...caps(row), ...(mode === 'enforce' ? {} : { mode }) };
}

function addEntries<Row extends Provenance>(
  document: Document,
  section: string,
  rows: readonly Row[],
  read: Caps<Row>,
): void {
  if (rows.length === 0) return;
  const entries = document.createNode(rows.map(read)) as unknown as YAMLSeq;
  for (const [index, row] of rows.entries()) comment(entries.items[index], row);
  document.set(section, entries);
}

function comment(node: unknown, row: Provenance): void {
  const words = wordsOf(row);
  if (words.length > 0 && isMap(node)) node.commentBefore = words.map((each) => ` ${each}`).join('\n');
}

function wordsOf({
  updated_by: author,
  updated_at: since,
  reason,
  expires_at: end,
  declared_at: line,
}: Provenance): string[] {
  return [
    author === undefined ? '' : `set by ${author}${since === undefined ? '' : ` on ${since}`}`,
    reason ?? '',
    end === undefined ? '' : `ends on ${end}; an entry of the configuration has no end`,
    line === undefined ? '' : `stands in front of ${line}`,
  ].flatMap((words) => (words === '' ? [] : [words.replaceAll(/\s+/g, ' ')]));
}

function aliasOf(row: ManagedAlias): object {
  const { enabled, hedge, target, targets, ...others } = pick(row, aliasMembers);
  // The listing has a single target in both forms.
  const leadsTo = Array.isArray(targets) && targets.length > 0 ? { targets } : { target };
  return { ...others, ...leadsTo, ...(enabled === false ? { enabled } : {}), ...(hedge ? { hedge } : {}) };
}

function pick(row: Readonly<Record<string, unknown>>, members: readonly string[]): Record<string, unknown> {
  return withoutAbsent(Object.fromEntries(members.map((name) => [name, row[name]])));
}

function withoutAbsent(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
