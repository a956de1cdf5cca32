// The tables of providers and of targets.
import { compact, share } from '../../format.ts';
import { html, type View } from '../../html.ts';
import { Badge } from '../../parts/badge.ts';
import { Place } from '../../parts/place.ts';
import { Empty } from '../../parts/states.ts';
import { type Column, Table } from '../../parts/table.ts';
import { YamlText } from '../../parts/yaml-text.ts';
import { linkTo } from '../../router.ts';
import { type Drainable, DrainButton, DrainMark } from './drain.ts';
import { type Drain, drainOfProvider, isBlocked, meanFirstByte, nameOf, type Provider, type Target } from './fleet.ts';
import { Calls, Limits, Speed, Standing } from './target-cells.ts';

/** How many models each provider that is asked for them has. */
export type Discovered = ReadonlyMap<string, number>;

const firstProvider = `providers:
  openai:
    type: openai
    api_key: \${OPENAI_API_KEY}
`;

export interface ProvidersProps {
  readonly providers: readonly Provider[];
  readonly targets: readonly Target[];
  readonly discovered: Discovered;
  readonly drains: readonly Drain[];
  /** Takes one out, or gives it back. */
  readonly onDrain: (chosen: Drainable) => void;
}

export function Providers({ providers, targets, discovered, drains, onDrain }: ProvidersProps): View {
  if (providers.length === 0)
    return html`<${Empty} title="There are no providers, so no model can be asked.">
      <p>Declare one in the configuration; it is in force within a second:</p>
      <${YamlText} text=${firstProvider} />
    </${Empty}>`;
  const byProvider = Map.groupBy(targets, ({ provider }) => provider);
  const of = ({ name }: Provider): readonly Target[] => byProvider.get(name) ?? [];
  const drainOf = ({ name }: Provider): Drain | undefined => drainOfProvider(name, drains);
  const columns: readonly Column<Provider>[] = [
    {
      title: 'Provider',
      width: '24%',
      sort: ({ name }) => name,
      cell: (provider) => html`<${Name} provider=${provider} />`,
    },
    {
      title: 'Models',
      width: '12%',
      isLargestFirst: true,
      sort: ({ name, models }) => (models === 'discovered' ? discovered.get(name) : models.length),
      cell: (provider) => modelsOf(provider, discovered),
    },
    {
      title: 'Targets',
      width: '22%',
      cell: (provider) => html`<${Usable} targets=${of(provider)} drain=${drainOf(provider)} />`,
    },
    {
      title: 'Calls, last minute',
      width: '14%',
      isLargestFirst: true,
      sort: (provider) => of(provider).reduce((sum, { calls }) => sum + calls, 0),
      cell: (provider) => html`<${Traffic} targets=${of(provider)} />`,
    },
    {
      title: 'Declared',
      width: '16%',
      sort: ({ declared_at }) => declared_at,
      cell: ({ declared_at }) => html`<${Place} at=${declared_at} />`,
    },
    {
      title: 'Actions',
      width: '12%',
      isUntitled: true,
      cell: (provider) =>
        html`<${DrainButton} subject=${{ provider: provider.name }} drain=${drainOf(provider)} onChoose=${onDrain} />`,
    },
  ];
  return html`<${Table} label="Providers" sort="sort-providers" columns=${columns} rows=${providers} keyOf=${({ name }: Provider) => name} rowHeight=${52} minWidth="56rem" />`;
}

function Name({ provider: { name, type, origin, keys, left_out_by: without } }: { readonly provider: Provider }): View {
  const address = origin ?? 'address from a variable';
  return html`<div class="cell">
    <span class="cell-line"><span class="name">${name}</span>
      ${without.length > 0 && html`<${Badge} tone="bad" title=${`It has no key on ${without.join(', ')}`}>left out</${Badge}>`}
      ${keys > 1 && html`<${Badge} title="API keys that take turns">${`${keys} keys`}</${Badge}>`}
    </span>
    <span class="quiet small" title=${address}>${type} · ${address}</span>
  </div>`;
}

function modelsOf({ name, models }: Provider, discovered: Discovered): View {
  if (models !== 'discovered')
    return html`<span title=${models.slice(0, 50).join('\n')}>${compact(models.length)}</span>`;
  const count = discovered.get(name);
  return html`<span>${count === undefined ? '–' : compact(count)} <span class="quiet small">discovered</span></span>`;
}

interface UsableProps {
  readonly targets: readonly Target[];
  readonly drain: Drain | undefined;
}

function Usable({ targets, drain }: UsableProps): View {
  if (drain !== undefined) return html`<div class="cell"><${DrainMark} drain=${drain} /></div>`;
  if (targets.length === 0) return html`<span class="quiet">not asked yet</span>`;
  const blocked = targets.filter(isBlocked);
  if (blocked.length === 0) return html`<${Badge} tone="good">${`${targets.length} usable`}</${Badge}>`;
  return html`<${Badge} tone=${blocked.length === targets.length ? 'bad' : 'warn'} title=${blocked.map(nameOf).join('\n')}>${`${blocked.length} of ${targets.length} not usable`}</${Badge}>`;
}

function Traffic({ targets }: { readonly targets: readonly Target[] }): View {
  const calls = targets.reduce((sum, each) => sum + each.calls, 0);
  const failures = targets.reduce((sum, each) => sum + each.failures, 0);
  if (calls === 0) return html`<span class="quiet">none</span>`;
  return html`<span>${compact(calls)} ${failures > 0 && html`<span class="small failed">${share(failures / calls)} failed</span>`}</span>`;
}

export interface TargetsProps {
  readonly targets: readonly Target[];
  /** How many there are without filters. */
  readonly total: number;
  /** Takes one out, or gives it back. */
  readonly onDrain: (chosen: Drainable) => void;
}

export function Targets({ targets, total, onDrain }: TargetsProps): View {
  if (total === 0)
    return html`<${Empty} title="No model was asked yet.">
      <p>The targets of the last requests are here, with their speed and state.</p>
      <p><a class="button" href=${linkTo('/playground')}>Ask a model in the playground</a></p>
    </${Empty}>`;
  if (targets.length === 0) return html`<${Empty} title="No target matches the filters." />`;
  const all = targets.reduce((sum, { calls }) => sum + calls, 0);
  const columns: readonly Column<Target>[] = [
    {
      title: 'Target',
      width: '24%',
      sort: nameOf,
      cell: (of) => html`<span class="name" title=${nameOf(of)}>${nameOf(of)}</span>`,
    },
    {
      title: 'State',
      width: '20%',
      isLargestFirst: true,
      sort: (of) => Number(isBlocked(of)),
      cell: (of) => html`<${Standing} of=${of} />`,
    },
    {
      title: 'Calls, last minute',
      width: '12%',
      isLargestFirst: true,
      sort: ({ calls }) => calls,
      cell: (of) => html`<${Calls} of=${of} all=${all} />`,
    },
    {
      title: 'First byte',
      width: '12%',
      isLargestFirst: true,
      sort: meanFirstByte,
      cell: (of) => html`<${Speed} of=${of} />`,
    },
    { title: 'Limits of the provider', width: '20%', cell: (of) => html`<${Limits} of=${of} />` },
    {
      title: 'Actions',
      width: '12%',
      isUntitled: true,
      cell: (of) => html`<${DrainButton} subject=${of} drain=${of.drain} onChoose=${onDrain} />`,
    },
  ];
  return html`<${Table} label="Targets" columns=${columns} rows=${targets} keyOf=${nameOf} rowHeight=${60} minWidth="60rem" />`;
}
