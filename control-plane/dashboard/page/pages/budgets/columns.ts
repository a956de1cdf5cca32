// The columns of the table of budgets.
import { dollars, share } from '../../format.ts';
import { html, type View } from '../../html.ts';
import { Badge } from '../../parts/badge.ts';
import { Place } from '../../parts/place.ts';
import { type ManagedAction, RowActions } from '../../parts/row-actions.ts';
import type { Column } from '../../parts/table.ts';
import { Countdown, TimeText } from '../../parts/time-text.ts';
import { linkTo } from '../../router.ts';
import { parseTime } from '../../time.ts';
import { type Budget, forecastOf, periodWords, titleOf } from './budget.ts';
import { ModeBadge } from './mode-badge.ts';

export interface Row {
  readonly budget: Budget;
  /** The time of the listing. Unix milliseconds. */
  readonly nowMs: number;
}

interface OfRow {
  readonly row: Row;
}

export function columnsFor(act: (action: ManagedAction, budget: Budget) => void): readonly Column<Row>[] {
  return [
    {
      title: 'Subject',
      width: '24%',
      sort: ({ budget }) => budget.subject,
      cell: (row) => html`<${Subject} row=${row} />`,
    },
    {
      title: 'Spent',
      width: '22%',
      isLargestFirst: true,
      sort: ({ budget: { spent, amount } }) => (spent === undefined ? undefined : spent / amount),
      cell: (row) => html`<${Spent} row=${row} />`,
    },
    {
      title: 'Forecast',
      width: '20%',
      isLargestFirst: true,
      sort: ({ budget, nowMs }) => forecastShare(budget, nowMs),
      cell: (row) => html`<${ForecastText} row=${row} />`,
    },
    {
      title: 'Window ends',
      width: '11%',
      sort: ({ budget }) => parseTime(budget.period_end),
      cell: ({ budget }) => html`<${Countdown} at=${budget.period_end} over="now" />`,
    },
    {
      title: 'Source',
      width: '17%',
      sort: ({ budget }) => budget.source,
      cell: (row) => html`<${Source} row=${row} />`,
    },
    {
      title: 'Actions',
      width: '6%',
      isUntitled: true,
      cell: ({ budget }) =>
        html`<${RowActions} source=${budget.source} title=${titleOf(budget)} act=${(action: ManagedAction) => act(action, budget)} />`,
    },
  ];
}

/** Of the amount, at the end of the window. */
function forecastShare(budget: Budget, nowMs: number): number | undefined {
  const forecast = forecastOf(budget, nowMs);
  return forecast === undefined ? undefined : forecast.atEnd / budget.amount;
}

function Subject({ row: { budget } }: OfRow): View {
  const { id, subject, scope, period_label, per_child, mode, enforced, unenforced_reason } = budget;
  return html`<div class="cell">
    <a class="name" href=${linkTo(`/budgets/${id}`)} title=${subject}>${subject}</a>
    <span class="cell-line"><span class="quiet small">${scope === 'label' ? 'Label' : 'User path'}, ${periodWords(period_label)}</span>
      ${per_child && html`<${Badge} title="Every direct child has a budget of its own">each child</${Badge}>`}
      <${ModeBadge} mode=${mode} />
      ${!enforced && html`<${Badge} tone="warn" title=${unenforced_reason}>not enforced</${Badge}>`}</span>
  </div>`;
}

/** Money of a whole, as a bar. */
export function Spent({ row: { budget } }: OfRow): View {
  const { spent, amount } = budget;
  if (spent === undefined)
    return html`<span>${dollars(amount)} <span class="quiet small">${budget.per_child ? 'for each child' : 'spend is not known now'}</span></span>`;
  const part = Math.min(1, spent / amount);
  const level = part >= 1 ? 'full' : part >= 0.8 ? 'high' : 'low';
  const text = `${dollars(spent)} of ${dollars(amount)}`;
  return html`<div class="meter-line">
    <div class=${`meter ${level}`} role="meter" aria-label=${`${titleOf(budget)}: spent`} aria-valuemin="0" aria-valuemax=${amount} aria-valuenow=${Math.min(spent, amount)} aria-valuetext=${text}>
      <div class="meter-fill" style=${{ width: `${(part * 100).toFixed(2)}%` }}></div>
    </div>
    <span class="meter-text" aria-hidden="true">${text} (${share(spent / amount)})</span>
  </div>`;
}

export function ForecastText({ row: { budget, nowMs } }: OfRow): View {
  const forecast = forecastOf(budget, nowMs);
  if (budget.exceeded)
    return html`<div><${Badge} tone="bad">${budget.mode === 'shadow' ? 'spent' : 'spent, refuses'}</${Badge}></div>`;
  if (forecast === undefined) return html`<span class="quiet">–</span>`;
  const { atEnd, spentMs } = forecast;
  return html`<div class="cell">
    <span><${Badge} tone=${spentMs === undefined ? 'good' : 'warn'}>${spentMs === undefined ? 'lasts' : 'runs out'}</${Badge}></span>
    <span class="quiet small">${spentMs === undefined ? html`${dollars(atEnd)} at the end` : html`<${TimeText} ms=${spentMs} />`}</span>
  </div>`;
}

function Source({ row: { budget } }: OfRow): View {
  const { source, declared_at, overrides_config, updated_by, reason, expires_at } = budget;
  if (source === 'config')
    return html`<div class="cell"><span>Config</span><span><${Place} at=${declared_at} /></span></div>`;
  const who = updated_by === 'master_key' ? 'master key' : updated_by;
  return html`<div class="cell">
    <span class="cell-line">${overrides_config ? 'Override' : 'Manual'}${expires_at !== undefined && html`<${Badge} tone="info">ends in <${Countdown} at=${expires_at} over="a moment" /></${Badge}>`}</span>
    <span class="quiet small" title=${reason}>${reason === undefined ? '' : `“${reason}” – `}${who}</span>
  </div>`;
}
