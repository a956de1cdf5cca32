// The page of rate limits: every rule with its live use, where it comes from, and what can be done about it.
import { useMemo, useState } from 'preact/hooks';
import { useCell } from '../cell.ts';
import { count, plural } from '../format.ts';
import { html, type View } from '../html.ts';
import { useLoad } from '../load.ts';
import { ConfirmDialog, Dialog } from '../parts/dialog.ts';
import { type FilterField, FilterForm } from '../parts/filter-form.ts';
import type { ManagedAction } from '../parts/row-actions.ts';
import { Empty, Loaded } from '../parts/states.ts';
import { Table } from '../parts/table.ts';
import { write } from '../parts/writes.ts';
import { YamlText } from '../parts/yaml-text.ts';
import { place } from '../router.ts';
import { session } from '../session-state.ts';
import { columnsFor } from './rate-limits/columns.ts';
import { isFull, keyOf, type Rule, type RuleListing, titleOf } from './rate-limits/rule.ts';
import { RuleDialog } from './rate-limits/rule-dialog.ts';
import { yamlOf } from './rate-limits/yaml.ts';

const path = '/admin/rate-limits';
const everyMs = 1_000;

const filters: readonly FilterField[] = [
  { name: 'q', label: 'Subject, name or reason', type: 'search', placeholder: '/team-a' },
  { name: 'covers', label: 'Counts requests of', placeholder: '/team-a/app' },
  {
    name: 'scope',
    label: 'Scope',
    options: [
      ['', 'Every scope'],
      ['user_path', 'User paths'],
      ['provider', 'Providers'],
      ['model', 'Models'],
    ],
  },
  {
    name: 'source',
    label: 'Source',
    options: [
      ['', 'Every source'],
      ['config', 'Config'],
      ['manual', 'Manual'],
      ['override', 'Overrides'],
    ],
  },
  {
    name: 'show',
    label: 'Show',
    options: [
      ['', 'All rules'],
      ['full', 'Used up'],
      ['refused', 'Have refused'],
      ['shadow', 'Shadow'],
      ['unenforced', 'Not enforced'],
      ['ending', 'With an end'],
    ],
  },
];

interface Open {
  readonly action: ManagedAction | 'new' | 'reset-all';
  readonly rule?: Rule;
}

export function view(): View {
  const { query } = useCell(place);
  const { who } = useCell(session);
  const covers = query.get('covers') ?? '';
  const rules = useLoad<RuleListing>(covers === '' ? path : `${path}?${new URLSearchParams({ covers })}`, everyMs);
  const [open, setOpen] = useState<Open | undefined>(undefined);
  const columns = useMemo(() => columnsFor((action, rule) => setOpen({ action, rule })), []);
  const close = (isChanged = true): void => {
    setOpen(undefined);
    if (isChanged) rules.reload();
  };
  return html`<div class="page-head">
      <h1>Rate limits</h1>
      <div class="buttons">
        ${who?.scoped === false && html`<button class="danger" onClick=${() => setOpen({ action: 'reset-all' })}>Reset all</button>`}
        <button class="primary" onClick=${() => setOpen({ action: 'new' })}>New rule</button>
      </div>
    </div>
    <${FilterForm} fields=${filters} label="Filter rules" />
    <${Loaded} of=${rules} what="rate limits">
      ${(listing: RuleListing) => html`<${Rules} listing=${listing} query=${query} columns=${columns} />`}
    </${Loaded}>
    ${open !== undefined && html`<${OpenDialog} open=${open} userPath=${who?.user_path ?? '/'} close=${close} />`}`;
}

interface RulesProps {
  readonly listing: RuleListing;
  readonly query: URLSearchParams;
  readonly columns: ReturnType<typeof columnsFor>;
}

function Rules({ listing: { rate_limits: all, stale }, query, columns }: RulesProps): View {
  const shown = useMemo(() => all.filter(filterOf(query)), [all, query]);
  if (all.length === 0 && !query.has('covers'))
    return html`<${Empty} title="There are no rules, so nothing is limited.">
      <p>Write one with <strong>New rule</strong>, or declare rules under <code>rate_limits</code> in the configuration.</p>
    </${Empty}>`;
  if (shown.length === 0)
    return html`<${Empty} title="No rule matches the filters."><p>Clear some of them to see more.</p></${Empty}>`;
  return html`${stale && html`<p class="note warning" role="status">The state store does not answer: the rules in force are shown, without their use. They cannot be changed now.</p>`}
    <p class="quiet small">${shown.length === all.length ? plural(all.length, 'rule') : `${count(shown.length)} of ${plural(all.length, 'rule')}`}</p>
    <${Table}
      label="Rate limits"
      columns=${columns}
      rows=${shown}
      keyOf=${({ id }: Rule) => id}
      rowHeight=${64}
      minWidth="64rem"
      markOf=${(rule: Rule) => (isFull(rule) && rule.mode === 'enforce' ? 'marked' : rule.enforced ? '' : 'faded')}
    />`;
}

function filterOf(query: URLSearchParams): (rule: Rule) => boolean {
  const [words, scope, source, show, one] = ['q', 'scope', 'source', 'show', 'rule'].map(
    (name) => query.get(name) ?? '',
  );
  const sought = (words ?? '').trim().toLowerCase();
  const isShown: Readonly<Record<string, (rule: Rule) => boolean>> = {
    full: isFull,
    refused: ({ refused = 0 }) => refused > 0,
    shadow: ({ mode }) => mode === 'shadow',
    unenforced: ({ enforced }) => !enforced,
    ending: ({ expires_at }) => expires_at !== undefined,
  };
  return (rule) =>
    (one === '' || rule.id === one || rule.name === one) &&
    (scope === '' || rule.scope === scope) &&
    (source === '' || (source === 'override' ? rule.overrides_config : rule.source === source)) &&
    (isShown[show ?? '']?.(rule) ?? true) &&
    (sought === '' ||
      [rule.subject, rule.name, rule.reason, rule.declared_at].some((text) => text?.toLowerCase().includes(sought)));
}

interface OpenProps {
  readonly open: Open;
  readonly userPath: string;
  readonly close: (isChanged?: boolean) => void;
}

function OpenDialog({ open: { action, rule }, userPath, close }: OpenProps): View {
  if (action === 'reset-all')
    return html`<${ConfirmDialog} title="Reset all counters" action="Reset all counters" word="reset" onClose=${close}
      onConfirm=${() => write('All counters: reset', `${path}/reset`, { method: 'POST', body: { confirmation: 'reset' } })}>
      <p>Every rule begins to count at zero, on every proxy. Requests in flight stay counted. This cannot be undone.</p>
    </${ConfirmDialog}>`;
  if (rule === undefined || action === 'new' || action === 'edit' || action === 'override')
    return html`<${RuleDialog} rule=${rule} userPath=${userPath} onClose=${close} />`;
  const title = titleOf(rule);
  if (action === 'yaml')
    return html`<${Dialog} title=${`YAML of ${title}`} onClose=${() => close(false)}>
      <p class="small">Declared at <code>${rule.declared_at}</code>. Change it there, and it is in force within a second of the merge.</p>
      <${YamlText} text=${yamlOf(declaredIn(rule))} />
    </${Dialog}>`;
  if (action === 'reset')
    return html`<${ConfirmDialog} title=${`Reset ${title}`} action="Reset counters" onClose=${close}
      onConfirm=${() => write(`${title}: counters reset`, `${path}/reset-one`, { method: 'POST', body: resetBody(rule) })}>
      <p>The rule begins to count at zero, on every proxy. ${rule.per_child && 'The counters of every child are cleared.'}</p>
    </${ConfirmDialog}>`;
  return html`<${ConfirmDialog} title=${`Delete ${title}`} action="Delete rule" onClose=${close}
    onConfirm=${() => write(`${title}: deleted`, path, { method: 'DELETE', body: keyOf(rule) })}>
    <p>${
      rule.overrides_config
        ? html`The rule of the configuration (<code>${rule.declared_at}</code>) is in force again, with counters at zero.`
        : 'Nothing limits this subject in this period any more. The counters are cleared.'
    }</p>
  </${ConfirmDialog}>`;
}

function declaredIn({ scope, subject, per_child, period_seconds, max_requests, max_tokens, mode, name }: Rule) {
  const caps = { maxRequests: max_requests, maxTokens: max_tokens };
  return { scope, subject, perChild: per_child, periodSeconds: period_seconds, ...caps, mode, name };
}

function resetBody({ scope, subject, period_seconds }: Rule): object {
  return { scope, subject, ...(period_seconds === 0 ? { period: 'concurrent' } : { period_seconds }) };
}
