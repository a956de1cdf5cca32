// The columns of the table of rules.
import { compact } from '../../format.ts';
import { html, type View } from '../../html.ts';
import { Badge } from '../../parts/badge.ts';
import { Meter } from '../../parts/meter.ts';
import { Place } from '../../parts/place.ts';
import { type ManagedAction, RowActions } from '../../parts/row-actions.ts';
import { RowButtons } from '../../parts/row-buttons.ts';
import type { Column } from '../../parts/table.ts';
import { Countdown, TimeText } from '../../parts/time-text.ts';
import { capsOf, isStop, periodWords, type Rule, scopeWords, titleOf } from './rule.ts';
import { lossWords, Sharing } from './sharing.ts';

/** What can be done about a rule, or shown of it. */
export type RuleAction = ManagedAction | 'proxies';

export function columnsFor(act: (action: RuleAction, rule: Rule) => void): readonly Column<Rule>[] {
  return [
    {
      title: 'Subject',
      width: '24%',
      sort: ({ subject }) => subject,
      cell: (rule) => html`<${Subject} rule=${rule} />`,
    },
    {
      title: 'Use',
      width: '26%',
      isLargestFirst: true,
      sort: ({ requests_used }) => requests_used,
      cell: (rule) => html`<${Use} rule=${rule} onShow=${() => act('proxies', rule)} />`,
    },
    {
      title: 'Refused',
      width: '7rem',
      isNumber: true,
      sort: ({ refused }) => refused,
      cell: (rule) => html`<${Refused} rule=${rule} />`,
    },
    { title: 'Source', sort: ({ declared_at }) => declared_at, cell: (rule) => html`<${Source} rule=${rule} />` },
    {
      title: 'Actions',
      width: '5rem',
      isUntitled: true,
      cell: (rule) =>
        html`<${isStop(rule) ? StopActions : RowActions} source=${rule.source} title=${titleOf(rule)} act=${(action: ManagedAction) => act(action, rule)} />`,
    },
  ];
}

const ofStop = [
  ['edit', 'Edit', 'operator'],
  ['delete', 'Allow again', 'operator'],
] as const;

function StopActions({ title, act }: { readonly title: string; readonly act: (action: ManagedAction) => void }): View {
  return html`<${RowButtons} name=${title} offered=${ofStop} onChoose=${act} />`;
}

interface OfRule {
  readonly rule: Rule;
}

function Subject({ rule }: OfRule): View {
  const { scope, subject, name, mode, per_child, enforced, unenforced_reason, period_label, on_store_loss } = rule;
  return html`<div class="cell">
    <span class="name" title=${subject}>${subject}</span>
    <span class="cell-line">
      <span class="quiet small">${scopeWords[scope]}, ${periodWords(period_label)}</span>
      ${per_child && html`<${Badge} title="Every direct child has counters of its own">each child</${Badge}>`}
      ${mode === 'shadow' && html`<${Badge} tone="info" title="Counts and refuses nothing">shadow</${Badge}>`}
      ${!enforced && html`<${Badge} tone="warn" title=${unenforced_reason}>not enforced</${Badge}>`}
      ${on_store_loss !== undefined && html`<${Badge} title=${`While the state store does not answer: ${lossWords[on_store_loss]}`}>${on_store_loss} without store</${Badge}>`}
      ${name !== undefined && html`<${Badge} title="Its name">${name}</${Badge}>`}
    </span>
  </div>`;
}

function Use({ rule, onShow }: OfRule & { readonly onShow: () => void }): View {
  const { per_child, period_seconds, max_requests, max_tokens, requests_used, tokens_used, tokens_reserved } = rule;
  const label = titleOf(rule);
  if (isStop(rule)) return html`<${Badge} tone="bad">stopped: refuses every request</${Badge}>`;
  if (per_child || requests_used === undefined) {
    const caps = [
      ...(max_requests === undefined ? [] : [`${compact(max_requests)} requests`]),
      ...(max_tokens === undefined ? [] : [`${compact(max_tokens)} tokens`]),
    ];
    const why = per_child ? 'for each child' : 'use is not known now';
    return html`<div class="cell">
      <span>${caps.join(', ')} <span class="quiet small">${why}</span></span>
      <${Sharing} rule=${rule} onShow=${onShow} />
    </div>`;
  }
  const used = period_seconds === 0 ? rule.in_flight : requests_used;
  const unit = period_seconds === 0 ? 'in flight' : 'requests';
  const { requests, tokens } = capsOf(rule);
  return html`<div class="cell">
    ${requests !== undefined && html`<${Meter} used=${used ?? 0} cap=${requests} unit=${unit} label=${label} />`}
    ${tokens !== undefined && html`<${Meter} used=${tokens_used ?? 0} reserved=${tokens_reserved} cap=${tokens} unit="tokens" label=${label} />`}
    <${Sharing} rule=${rule} onShow=${onShow} />
  </div>`;
}

function Refused({ rule: { refused, mode } }: OfRule): View {
  if (refused === undefined) return html`<span class="quiet">–</span>`;
  const title = 'On the live proxies, since each of them has started';
  return html`<span title=${title} class=${refused === 0 ? 'quiet' : undefined}>
    ${compact(refused)}${mode === 'shadow' && html`<br /><span class="quiet small">would have</span>`}
  </span>`;
}

function Source({ rule }: OfRule): View {
  const { source, declared_at, overrides_config, updated_by, updated_at, reason, expires_at } = rule;
  if (source === 'config')
    return html`<div class="cell">
      <span>Config</span>
      <span><${Place} at=${declared_at} /></span>
    </div>`;
  const who = updated_by === 'master_key' ? 'master key' : updated_by;
  return html`<div class="cell">
    <span class="cell-line">
      ${overrides_config ? 'Override' : 'Manual'}
      ${expires_at !== undefined && html`<${Badge} tone="info">ends in <${Countdown} at=${expires_at} over="a moment" /></${Badge}>`}
      ${overrides_config && html`<span class="small shrinks"><${Place} at=${declared_at} /></span>`}
    </span>
    <span class="quiet small" title=${reason}>${reason === undefined ? '' : `“${reason}” – `}${who}, <${TimeText} at=${updated_at} /></span>
  </div>`;
}
