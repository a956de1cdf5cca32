// The table of aliases: where each name leads, with the live share and speed of its targets.
import { latency, share } from '../../format.ts';
import { html, type View } from '../../html.ts';
import { Badge } from '../../parts/badge.ts';
import { ForRole } from '../../parts/for-role.ts';
import { RowButtons } from '../../parts/row-buttons.ts';
import { SourceCell } from '../../parts/source-cell.ts';
import { Empty } from '../../parts/states.ts';
import { type Column, Table } from '../../parts/table.ts';
import { weighted } from './draft.ts';
import { type Alias, isBlocked, meanFirstByte, type Target, targetsNamed } from './fleet.ts';

export type AliasAction = 'edit' | 'override' | 'yaml' | 'delete';

export interface AliasesProps {
  readonly aliases: readonly Alias[];
  readonly targets: readonly Target[];
  /** How many there are without filters. */
  readonly total: number;
  readonly onNew: () => void;
  readonly act: (action: AliasAction, alias: Alias) => void;
}

const strategies: Readonly<Record<string, string>> = {
  round_robin: 'in turn, by weight',
  failover: 'the first that works',
  least_latency: 'the fastest',
  cost: 'the cheapest',
  session_affinity: 'one for a conversation',
  least_busy: 'the least busy',
  quota: 'the most room left',
};

/** More targets than these are counted. */
const mostShown = 3;

export function Aliases({ aliases, targets, total, onNew, act }: AliasesProps): View {
  if (total === 0)
    return html`<${Empty} title="There are no aliases.">
      <p>An alias is a short name for one or several models, so that clients need not change when a model does. Declare it under <code>aliases</code> in the configuration, or make one here:</p>
      <${ForRole} needs="admin"><button class="primary" onClick=${onNew}>Make the first alias</button></${ForRole}>
    </${Empty}>`;
  if (aliases.length === 0) return html`<${Empty} title="No alias matches the filters." />`;
  const rows = Math.max(1, ...aliases.map((alias) => Math.min(alias.targets.length, mostShown + 1)));
  const columns: readonly Column<Alias>[] = [
    { title: 'Alias', width: '26%', sort: ({ source }) => source, cell: (of) => html`<${Name} of=${of} />` },
    { title: 'Leads to', width: '42%', cell: (of) => html`<${LeadsTo} of=${of} targets=${targets} />` },
    {
      title: 'Source',
      width: '24%',
      sort: ({ declared_at }) => declared_at,
      cell: (of) => html`<${SourceCell} of=${{ ...of, isDeclared: of.managed_by === 'config' }} />`,
    },
    {
      title: 'Actions',
      width: '8%',
      isUntitled: true,
      cell: (of) =>
        html`<${RowButtons} name=${of.source} offered=${of.managed_by === 'config' ? ofConfig : ofOperators} onChoose=${(action: AliasAction) => act(action, of)} />`,
    },
  ];
  return html`<${Table}
    label="Aliases"
    columns=${columns}
    rows=${aliases}
    keyOf=${({ source }: Alias) => source}
    sort="sort-aliases"
    rowHeight=${Math.max(52, 16 + rows * 22)}
    minWidth="60rem"
    markOf=${({ enforced, enabled }: Alias) => (enforced && enabled ? '' : 'faded')}
  />`;
}

interface OfAlias {
  readonly of: Alias;
}

function Name({
  of: {
    source,
    description,
    strategy,
    targets,
    enabled,
    enforced,
    unenforced_reason,
    user_paths,
    when,
    hedge,
    rescue,
    mirror,
  },
}: OfAlias): View {
  return html`<div class="cell">
    <span class="name" title=${description ?? source}>${source}</span>
    <span class="cell-line">
      ${targets.length > 1 && html`<span class="quiet small">${strategies[strategy] ?? strategy}</span>`}
      ${!enabled && html`<${Badge} tone="warn" title="Its name leads to the model of that name, if there is one">switched off</${Badge}>`}
      ${(!enforced || unenforced_reason !== undefined) && html`<${Badge} tone="warn" title=${unenforced_reason}>${enforced ? 'in part' : 'not enforced'}</${Badge}>`}
      ${user_paths !== undefined && html`<${Badge} title=${user_paths.join('\n')}>${`for ${user_paths[0] ?? ''}${user_paths.length > 1 ? ` +${user_paths.length - 1}` : ''}`}</${Badge}>`}
      ${when !== undefined && html`<${Badge} title=${when}>conditional</${Badge}>`}
      ${hedge && html`<${Badge} title="A second target is asked when the first is slow to begin">hedged</${Badge}>`}
      ${rescue && html`<${Badge} title="Another target tells the rest of a stream that breaks in the middle">rescued</${Badge}>`}
      ${mirror !== undefined && html`<${Badge} title=${`${share(mirror.share)} of its requests are copied to ${mirror.target}`}>mirrored</${Badge}>`}
    </span>
  </div>`;
}

/** A share is of the calls of all targets of the alias in the last minute, whoever asked for them. */
function LeadsTo({
  of: { targets: named, strategy },
  targets,
}: OfAlias & { readonly targets: readonly Target[] }): View {
  const hasWeights = weighted.has(strategy);
  const found = named.map(({ model, weight, tier, when }) => ({
    model,
    weight,
    tier,
    when,
    live: targetsNamed(model, targets),
  }));
  const calls = (live: readonly Target[]): number => live.reduce((sum, each) => sum + each.calls, 0);
  const all = found.reduce((sum, { live }) => sum + calls(live), 0);
  return html`<ul class="leads">
    ${found.slice(0, mostShown).map(({ model, weight, tier, when, live }) => {
      const isOut = live.length > 0 && live.every(({ drain }) => drain !== undefined);
      const areBlocked = live.length > 0 && live.every(isBlocked);
      const means = live.flatMap((each) => meanFirstByte(each) ?? []);
      const part = all === 0 ? 0 : calls(live) / all;
      return html`<li key=${model}>
        <span class="lead-name" title=${model}>${model}${hasWeights && named.length > 1 && html` <span class="quiet small" title="Weight">×${weight}</span>`}${tier !== undefined && html` <span class="quiet small" title="Lower tiers are asked first">tier ${tier}</span>`}${when !== undefined && html` <span class="quiet small" title=${when}>if …</span>`}</span>
        ${isOut ? html`<${Badge} tone="warn" title=${live[0]?.drain?.reason}>taken out</${Badge}>` : areBlocked && html`<${Badge} tone="bad">not usable</${Badge}>`}
        <span class="quiet small" title="Mean time to the first byte">${means[0] === undefined ? '' : latency(Math.min(...means) * 1e6)}</span>
        <span class="lead-share small" title="Share of the calls of these targets in the last minute">${all === 0 ? '' : share(part)}</span>
        <span class="lead-bar" aria-hidden="true"><span style=${{ width: `${(part * 100).toFixed(1)}%` }}></span></span>
      </li>`;
    })}
    ${named.length > mostShown && html`<li class="quiet small">and ${named.length - mostShown} more</li>`}
  </ul>`;
}

const ofConfig = [
  ['override', 'Override', 'admin'],
  ['yaml', 'YAML'],
] as const;
const ofOperators = [
  ['edit', 'Edit', 'admin'],
  ['yaml', 'YAML'],
  ['delete', 'Delete', 'admin'],
] as const;
