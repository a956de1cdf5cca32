// The page of models: providers, targets as the proxies see them, aliases, and how their mirrors compare.
import { useMemo, useState } from 'preact/hooks';
import { useCell } from '../cell.ts';
import { html, type View } from '../html.ts';
import { useLoad } from '../load.ts';
import { ConfirmDialog, Dialog } from '../parts/dialog.ts';
import { type FilterField, FilterForm } from '../parts/filter-form.ts';
import { ForRole } from '../parts/for-role.ts';
import { Loaded } from '../parts/states.ts';
import { write } from '../parts/writes.ts';
import { place } from '../router.ts';
import { AliasDialog, AliasYaml, aliasesPath } from './models/alias-dialog.ts';
import { type AliasAction, Aliases } from './models/aliases.ts';
import { draftOf } from './models/draft.ts';
import { type Drainable, DrainDialog } from './models/drain.ts';
import { type Alias, type AliasListing, isBlocked, nameOf, type Provider, type TargetListing } from './models/fleet.ts';
import { type MirrorListing, Mirrors, mirrorsPath } from './models/mirrors.ts';
import { Providers, Targets } from './models/tables.ts';

const liveMs = 2_000;
const slowMs = 10_000;
/** A report over many records. */
const reportMs = 60_000;

const filters: readonly FilterField[] = [
  { name: 'q', label: 'Provider, model or alias', type: 'search', placeholder: 'gpt-4o' },
  {
    name: 'show',
    label: 'Show',
    options: [
      ['', 'Everything'],
      ['blocked', 'What is not usable'],
      ['manual', 'Aliases of operators'],
    ],
  },
];

interface Config {
  readonly providers: readonly Provider[];
}

interface Status {
  readonly proxies: readonly {
    readonly live: boolean;
    readonly discovered_models: readonly { readonly provider: string; readonly count: number }[];
  }[];
}

interface Open {
  readonly action: AliasAction | 'new';
  readonly alias?: Alias;
}

export function view(): View {
  const { query } = useCell(place);
  const config = useLoad<Config>('/admin/config?lists=providers', slowMs);
  const status = useLoad<Status>('/admin/status', slowMs);
  const targets = useLoad<TargetListing>('/admin/targets', liveMs);
  const aliases = useLoad<AliasListing>(aliasesPath, slowMs);
  const mirrors = useLoad<MirrorListing>(mirrorsPath, reportMs);
  const [open, setOpen] = useState<Open | undefined>(undefined);
  const [drain, setDrain] = useState<Drainable | undefined>(undefined);
  const [sought, show] = [(query.get('q') ?? '').trim().toLowerCase(), query.get('show') ?? ''];
  const live = targets.body?.targets ?? [];
  const discovered = useMemo(() => discoveredBy(status.body), [status.body]);
  const done = (): void => {
    setOpen(undefined);
    aliases.reload();
  };
  const drained = (): void => {
    setDrain(undefined);
    targets.reload();
  };
  const hasMirrors =
    (mirrors.body?.mirrors.length ?? 0) > 0 || aliases.body?.virtual_models.some(({ mirror }) => mirror !== undefined);
  const isSought = (...texts: (string | undefined)[]): boolean =>
    sought === '' || texts.some((text) => text?.toLowerCase().includes(sought) === true);
  return html`<div class="page-head">
      <h1>Models and aliases</h1>
      <${ForRole} needs="admin"><div class="buttons"><button class="primary" onClick=${() => setOpen({ action: 'new' })}>New alias</button></div></${ForRole}>
    </div>
    <${FilterForm} fields=${filters} label="Filter models" />
    ${
      show !== 'manual' &&
      html`<section class="section"><h2>Providers</h2>
        <${Loaded} of=${config} what="providers">${({ providers }: Config) => html`<${Providers} providers=${providers.filter(({ name, type }) => isSought(name, type) || live.some((each) => each.provider === name && isSought(nameOf(each))))} targets=${live} discovered=${discovered} drains=${targets.body?.drains ?? []} onDrain=${setDrain} />`}</${Loaded}>
      </section>`
    }
    <section class="section"><h2>Aliases</h2>
      <${Loaded} of=${aliases} what="aliases">${({ virtual_models: all, stale }: AliasListing) => html`
        ${stale && html`<p class="note warning" role="status">The state store does not answer: the aliases in force are shown. They cannot be changed now.</p>`}
        <${Aliases} aliases=${all.filter((each) => isShown(each, show) && isSought(each.source, each.description, ...each.targets.map(({ model }) => model)))} total=${all.length} targets=${live} onNew=${() => setOpen({ action: 'new' })} act=${(action: AliasAction, alias: Alias) => setOpen({ action, alias })} />`}</${Loaded}>
    </section>
    ${
      hasMirrors &&
      show === '' &&
      html`<section class="section"><h2>Mirrors</h2>
        <p class="quiet small">Would this other model do? It gets copies of requests, unseen by clients; both answers of the last 30 days, side by side.</p>
        <${Loaded} of=${mirrors} what="mirrors">${({ mirrors: all, truncated }: MirrorListing) => html`<${Mirrors} mirrors=${all.filter(({ alias, primary, mirror }) => isSought(alias, primary.model, mirror.model))} truncated=${truncated} />`}</${Loaded}>
      </section>`
    }
    ${
      show !== 'manual' &&
      html`<section class="section"><h2>Targets</h2>
        <${Loaded} of=${targets} what="targets">${({ targets: all, complete }: TargetListing) => html`
          ${!complete && html`<p class="note small">A proxy tells of two hundred targets at most, and has asked more: some are not here.</p>`}
          <${Targets} targets=${all.filter((each) => (show !== 'blocked' || isBlocked(each)) && isSought(nameOf(each)))} total=${all.length} onDrain=${setDrain} />`}</${Loaded}>
      </section>`
    }
    ${drain !== undefined && html`<${DrainDialog} of=${drain} onDone=${drained} onClose=${() => setDrain(undefined)} />`}
    ${open !== undefined && html`<${OpenDialog} open=${open} done=${done} close=${() => setOpen(undefined)} />`}`;
}

function isShown({ managed_by, enforced, unenforced_reason }: Alias, show: string): boolean {
  if (show === 'manual') return managed_by === 'manual';
  return show !== 'blocked' || !enforced || unenforced_reason !== undefined;
}

/** The most that any live proxy has found. */
function discoveredBy(status: Status | undefined): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { live, discovered_models: found } of status?.proxies ?? []) {
    if (live) for (const { provider, count } of found) counts.set(provider, Math.max(count, counts.get(provider) ?? 0));
  }
  return counts;
}

interface OpenProps {
  readonly open: Open;
  readonly done: () => void;
  readonly close: () => void;
}

function OpenDialog({ open: { action, alias }, done, close }: OpenProps): View {
  if (alias === undefined || action === 'new' || action === 'edit' || action === 'override')
    return html`<${AliasDialog} of=${alias} onDone=${done} onClose=${close} />`;
  if (action === 'yaml')
    return html`<${Dialog} title=${`YAML of ${alias.source}`} onClose=${close}>
      ${alias.managed_by === 'config' && html`<p class="small">Declared at <code>${alias.declared_at}</code>. Change it there, and it is in force within a second of the merge.</p>`}
      <${AliasYaml} draft=${draftOf(alias)} />
    </${Dialog}>`;
  const remove = async (): Promise<void> => {
    await write(`Alias ${alias.source}: deleted`, aliasesPath, { method: 'DELETE', body: { source: alias.source } });
    done();
  };
  return html`<${ConfirmDialog} title=${`Delete ${alias.source}`} action="Delete alias" onConfirm=${remove} onClose=${close}>
    <p>${
      alias.overrides_config
        ? html`The alias of the configuration (<code>${alias.declared_at}</code>) is in force again.`
        : 'Clients that ask for this name get 404, unless there is a model of that name.'
    }</p>
  </${ConfirmDialog}>`;
}
