// The page of rate limits: every rule with its live use, where it comes from, and what can be done about it.
import { useMemo, useState } from 'preact/hooks';
import { useCell } from '../cell.ts';
import { count, plural } from '../format.ts';
import { html, type View } from '../html.ts';
import { ConfirmDialog, Dialog } from '../parts/dialog.ts';
import { type FilterField, FilterForm } from '../parts/filter-form.ts';
import { ForRole } from '../parts/for-role.ts';
import { Empty, Loaded } from '../parts/states.ts';
import { Table } from '../parts/table.ts';
import { TimeText } from '../parts/time-text.ts';
import { write } from '../parts/writes.ts';
import { YamlText } from '../parts/yaml-text.ts';
import { place } from '../router.ts';
import { session } from '../session-state.ts';
import { columnsFor, type RuleAction } from './rate-limits/columns.ts';
import { apiFilter, type Listed, type ListedRules, useListed } from './rate-limits/listed.ts';
import { isFull, isStop, keyOf, type Rule, titleOf } from './rate-limits/rule.ts';
import { RuleDialog } from './rate-limits/rule-dialog.ts';
import { ProxyParts } from './rate-limits/sharing.ts';
import { StopButton } from './rate-limits/stop.ts';
import { type Declared, yamlOf } from './rate-limits/yaml.ts';

const path = '/admin/rate-limits';

const filters: readonly FilterField[] = [
  { name: 'q', label: 'Subject, name or reason', type: 'search', placeholder: '/team-a', suggest: 'rules' },
  { name: 'covers', label: 'Counts requests of', placeholder: '/team-a/app', suggest: 'user_paths' },
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
      ['used_up', 'Used up'],
      ['refused', 'Have refused'],
      ['shadow', 'Shadow'],
      ['unenforced', 'Not enforced'],
      ['ending', 'With an end'],
    ],
  },
];

/** `rule` is in links to one rule; `sort` is asked for by the table. */
const filterNames = [...filters.map(({ name }) => name), 'rule', 'sort'];

interface Open {
  readonly action: RuleAction | 'new' | 'reset-all';
  readonly rule?: Rule;
}

export function view(): View {
  const { query } = useCell(place);
  const { who } = useCell(session);
  const rules = useListed(apiFilter(query, filterNames));
  const [open, setOpen] = useState<Open | undefined>(undefined);
  const columns = useMemo(() => columnsFor((action, rule) => setOpen({ action, rule })), []);
  const close = (isChanged = true): void => {
    setOpen(undefined);
    if (isChanged) rules.reload();
  };
  return html`<div class="page-head">
      <h1>Rate limits</h1>
      <div class="buttons">
        <${StopButton} userPath=${who?.scoped === true ? who.user_path : ''} onDone=${rules.reload} />
        <${ForRole} needs="operator" isWhole><button class="danger" onClick=${() => setOpen({ action: 'reset-all' })}>Reset all</button></${ForRole}>
        <${ForRole} needs="operator"><button class="primary" onClick=${() => setOpen({ action: 'new' })}>New rule</button></${ForRole}>
      </div>
    </div>
    <${FilterForm} fields=${filters} label="Filter rules" />
    <${Loaded} of=${rules} what="rate limits">
      ${(body: ListedRules) => html`<${Rules} of=${body} onView=${rules.onView} onNew=${() => setOpen({ action: 'new' })} columns=${columns} />`}
    </${Loaded}>
    ${open !== undefined && html`<${OpenDialog} open=${asListed(open, rules.body)} userPath=${who?.user_path ?? '/'} close=${close} />`}`;
}

/** With the rule as it stands now. */
function asListed(open: Open, listed: ListedRules | undefined): Open {
  const rule = listed?.listing.rate_limits.find(({ id }) => id === open.rule?.id);
  return open.action === 'proxies' && rule !== undefined ? { ...open, rule } : open;
}

interface RulesProps {
  readonly of: ListedRules;
  readonly onView: Listed['onView'];
  readonly onNew: () => void;
  readonly columns: ReturnType<typeof columnsFor>;
}

function Rules({ of: { filter, listing }, onView, onNew, columns }: RulesProps): View {
  const { rate_limits: rows, total, offset, unfiltered_total, stale, stale_since: since } = listing;
  if (unfiltered_total === 0)
    return html`<${Empty} title="There are no rules, so nothing is limited.">
      <p>A rule bounds the requests and tokens of a user path, a provider or a model. Declare rules under <code>rate_limits</code> in the configuration, or write one here:</p>
      <${ForRole} needs="operator"><button class="primary" onClick=${onNew}>Write the first rule</button></${ForRole}>
    </${Empty}>`;
  if (total === 0)
    return html`<${Empty} title="No rule matches the filters."><p>Clear some of them to see more.</p></${Empty}>`;
  return html`${stale && html`<p class="note warning" role="status">The state store does not answer${since && html` since <${TimeText} at=${since} />`}: the rules in force are shown, without their use. They cannot be changed now.</p>`}
    <p class="quiet small">${total === unfiltered_total ? plural(total, 'rule') : `${count(total)} of ${plural(unfiltered_total, 'rule')}`}</p>
    <${Table}
      key=${filter}
      label="Rate limits"
      columns=${columns}
      rows=${rows}
      part=${{ offset, length: total, onView }}
      keyOf=${({ id }: Rule) => id}
      rowHeight=${96}
      minWidth="64rem"
      markOf=${(rule: Rule) => (isFull(rule) && rule.mode === 'enforce' ? 'marked' : rule.enforced ? '' : 'faded')}
    />`;
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
  if (action === 'proxies')
    return html`<${Dialog} title=${`Proxies of ${title}`} onClose=${() => close(false)}><${ProxyParts} rule=${rule} /></${Dialog}>`;
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
  if (isStop(rule))
    return html`<${ConfirmDialog} title=${`Allow requests of ${rule.subject}`} action="Allow requests" onClose=${close}
      onConfirm=${() => write(`${rule.subject}: allowed again`, path, { method: 'DELETE', body: keyOf(rule) })}>
      <p>They were stopped${rule.reason !== undefined && html`: ${rule.reason}`}. The other rules hold for them.</p>
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

function declaredIn(rule: Rule): Declared {
  const { scope, subject, per_child, period_seconds, max_requests, max_tokens, mode, name, on_store_loss } = rule;
  const caps = { maxRequests: max_requests, maxTokens: max_tokens };
  const key = { scope, subject, perChild: per_child, periodSeconds: period_seconds };
  return { ...key, ...caps, mode, name, onStoreLoss: on_store_loss };
}

function resetBody({ scope, subject, period_seconds }: Rule): object {
  return { scope, subject, ...(period_seconds === 0 ? { period: 'concurrent' } : { period_seconds }) };
}
