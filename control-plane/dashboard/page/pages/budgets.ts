// The page of budgets: what each has spent, when it runs out at this pace, and what can be done about it; one of them with its curve.
import { useMemo, useState } from 'preact/hooks';
import { useCell } from '../cell.ts';
import { plural } from '../format.ts';
import { html, type View } from '../html.ts';
import { useLoad } from '../load.ts';
import { ConfirmDialog, Dialog } from '../parts/dialog.ts';
import { type FilterField, FilterForm } from '../parts/filter-form.ts';
import { ForRole } from '../parts/for-role.ts';
import { type ManagedAction, RowActions } from '../parts/row-actions.ts';
import { Empty, Loaded } from '../parts/states.ts';
import { Table } from '../parts/table.ts';
import { write } from '../parts/writes.ts';
import { YamlText } from '../parts/yaml-text.ts';
import { linkTo, place } from '../router.ts';
import { session } from '../session-state.ts';
import { parseTime } from '../time.ts';
import { type Budget, type BudgetListing, keyOf, titleOf } from './budgets/budget.ts';
import { BudgetDialog } from './budgets/budget-dialog.ts';
import { BurnDown } from './budgets/burn-down.ts';
import { columnsFor, ForecastText, type Row, Spent } from './budgets/columns.ts';
import { draftOf, yamlOf } from './budgets/draft.ts';
import { WindowsDialog } from './budgets/windows-dialog.ts';

const path = '/admin/budgets';
const everyMs = 3_000;

const filters: readonly FilterField[] = [
  { name: 'covers', label: 'Pays for requests of', placeholder: '/team-a/app', suggest: 'user_paths' },
  {
    name: 'scope',
    label: 'Scope',
    options: [
      ['', 'Every scope'],
      ['user_path', 'User paths'],
      ['label', 'Labels'],
    ],
  },
  {
    name: 'show',
    label: 'Show',
    options: [
      ['', 'All budgets'],
      ['spent', 'Spent'],
      ['running-out', 'Spent or running out'],
      ['hard', 'Hard'],
      ['shadow', 'Shadow'],
      ['manual', 'Set by operators'],
    ],
  },
];

interface Open {
  readonly action: ManagedAction | 'new' | 'reset-all' | 'windows';
  readonly budget?: Budget;
}

export function view(): View {
  const { query, path: address } = useCell(place);
  const { who } = useCell(session);
  const one = address.split('/')[2];
  const asked = new URLSearchParams(
    ['covers', 'scope'].flatMap((name) => (query.get(name) ? [[name, query.get(name) ?? '']] : [])),
  );
  const listing = useLoad<BudgetListing>(asked.size === 0 ? path : `${path}?${asked}`, everyMs);
  const [open, setOpen] = useState<Open | undefined>(undefined);
  const act = (action: ManagedAction, budget: Budget): void => setOpen({ action, budget });
  const close = (isChanged = true): void => {
    setOpen(undefined);
    if (isChanged) listing.reload();
  };
  return html`${
    one === undefined
      ? html`<div class="page-head">
            <h1>Budgets</h1>
            <div class="buttons">
              <${ForRole} needs="admin" isWhole><button onClick=${() => setOpen({ action: 'windows' })}>Windows</button></${ForRole}>
              <${ForRole} needs="operator" isWhole><button class="danger" onClick=${() => setOpen({ action: 'reset-all' })}>Reset all</button></${ForRole}>
              <${ForRole} needs="operator"><button class="primary" onClick=${() => setOpen({ action: 'new' })}>New budget</button></${ForRole}>
            </div>
          </div>
          <${FilterForm} fields=${filters} label="Filter budgets" />`
      : html`<nav class="trail small" aria-label="Where you are"><a href=${linkTo('/budgets')}>Budgets</a></nav>
          ${listing.body === undefined && html`<h1>Budget</h1>`}`
  }
    <${Loaded} of=${listing} what="budgets">
      ${(body: BudgetListing) => html`
        ${body.stale && html`<p class="note warning" role="status">A store does not answer: the budgets in force are shown, without what is not known now. They cannot be changed.</p>`}
        ${body.warnings?.map((warning) => html`<p class="note warning" role="status" key=${warning}>${warning}</p>`)}
        ${one === undefined ? html`<${Budgets} listing=${body} query=${query} act=${act} onNew=${() => setOpen({ action: 'new' })} />` : html`<${OneBudget} listing=${body} id=${one} act=${act} />`}
      `}
    </${Loaded}>
    ${open !== undefined && html`<${OpenDialog} open=${open} userPath=${who?.user_path ?? '/'} close=${close} />`}`;
}

interface BudgetsProps {
  readonly listing: BudgetListing;
  readonly query: URLSearchParams;
  readonly act: (action: ManagedAction, budget: Budget) => void;
  readonly onNew: () => void;
}

function Budgets({ listing: { budgets, server_time }, query, act, onNew }: BudgetsProps): View {
  const columns = useMemo(() => columnsFor(act), []);
  const nowMs = parseTime(server_time);
  const shown = budgets.filter(filterOf(query.get('show') ?? '')).map((budget): Row => ({ budget, nowMs }));
  if (budgets.length === 0 && query.size === 0)
    return html`<${Empty} title="There are no budgets, so spending is not limited.">
      <p>A budget bounds what a user path or a label spends in a day, a week or a month. Declare budgets under <code>budgets</code> in the configuration, or write one here. Models need <code>pricing</code> to cost anything.</p>
      <${ForRole} needs="operator"><button class="primary" onClick=${onNew}>Write the first budget</button></${ForRole}>
    </${Empty}>`;
  if (shown.length === 0)
    return html`<${Empty} title="No budget matches the filters."><p>Clear some of them to see more.</p></${Empty}>`;
  return html`<p class="quiet small">${plural(shown.length, 'budget')}</p>
    <${Table}
      label="Budgets"
      columns=${columns}
      rows=${shown}
      keyOf=${({ budget }: Row) => `${budget.id} ${budget.source}`}
      rowHeight=${56}
      markOf=${({ budget }: Row) => (budget.exceeded && budget.mode !== 'shadow' ? 'marked' : budget.enforced ? '' : 'faded')}
    />`;
}

function filterOf(show: string): (budget: Budget) => boolean {
  if (show === 'spent') return ({ exceeded }) => exceeded === true;
  if (show === 'running-out') return ({ spent = 0, amount }) => spent >= amount * 0.8;
  if (show === 'hard' || show === 'shadow') return ({ mode }) => mode === show;
  return show === 'manual' ? ({ source }) => source === 'manual' : () => true;
}

interface OneProps {
  readonly listing: BudgetListing;
  readonly id: string;
  readonly act: (action: ManagedAction, budget: Budget) => void;
}

function OneBudget({ listing: { budgets, server_time }, id, act }: OneProps): View {
  const budget = budgets.find((each) => each.id === id);
  if (budget === undefined)
    return html`<${Empty} title="This budget is not there."><p>It was deleted or has ended, or it is not yours to see. <a href=${linkTo('/budgets')}>Show all budgets</a></p></${Empty}>`;
  const nowMs = parseTime(server_time);
  const row: Row = { budget, nowMs };
  const spending = budget.scope === 'label' ? { label: budget.subject, by: 'model' } : { user_path: budget.subject };
  return html`<div class="page-head"><h1 class="foreign">${titleOf(budget)}</h1><${RowActions} source=${budget.source} title=${titleOf(budget)} act=${(action: ManagedAction) => act(action, budget)} /></div>
    <section class="card one-budget">
      <div class="one-facts"><${Spent} row=${row} /><${ForecastText} row=${row} /></div>
      <${BurnDown} budget=${budget} nowMs=${nowMs} />
      <p class="small"><a href=${linkTo('/usage', spending)}>Show who spent it</a></p>
    </section>`;
}

interface OpenProps {
  readonly open: Open;
  readonly userPath: string;
  readonly close: (isChanged?: boolean) => void;
}

function OpenDialog({ open: { action, budget }, userPath, close }: OpenProps): View {
  if (action === 'windows') return html`<${WindowsDialog} onClose=${close} />`;
  if (action === 'reset-all')
    return html`<${ConfirmDialog}
      title="Reset every budget"
      action="Reset all budgets"
      word="reset"
      onConfirm=${() => write('Every budget: reset', `${path}/reset`, { method: 'POST', body: { confirmation: 'reset' } })}
      onClose=${close}
    ><p>The spend of every budget counts from now on. The amounts stay, and so do the records of what was spent.</p></${ConfirmDialog}>`;
  if (action === 'new' || budget === undefined) return html`<${BudgetDialog} userPath=${userPath} onClose=${close} />`;
  const title = titleOf(budget);
  if (action === 'reset')
    return html`<${ConfirmDialog}
      title=${`Reset ${title}`}
      action="Reset budget"
      onConfirm=${() => write(`${title}: reset`, `${path}/reset-one`, { method: 'POST', body: resetBody(budget) })}
      onClose=${close}
    ><p>Its spend counts from now on: the whole amount may be spent again in this window.</p></${ConfirmDialog}>`;
  if (action === 'delete')
    return html`<${ConfirmDialog}
      title=${`Delete ${title}`}
      action="Delete budget"
      onConfirm=${() => write(`${title}: deleted`, path, { method: 'DELETE', body: keyOf(budget) })}
      onClose=${close}
    ><p>${budget.overrides_config ? html`The budget of the configuration at <code>${budget.declared_at}</code> is in force again.` : 'Nothing limits this spending any more.'}</p></${ConfirmDialog}>`;
  if (action === 'yaml')
    return html`<${Dialog} title=${`${title} as YAML`} onClose=${() => close(false)}><${YamlText} text=${yamlOf(draftOf(budget, userPath))} /></${Dialog}>`;
  return html`<${BudgetDialog} budget=${budget} userPath=${userPath} onClose=${close} />`;
}

function resetBody({ scope, subject, period_seconds }: Budget): object {
  return { scope, subject, period_seconds };
}
