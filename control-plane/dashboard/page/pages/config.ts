// The page of the configuration: what is in force on each proxy, what is on disk, why the two differ, and the files in force.
import { useCell } from '../cell.ts';
import { compact } from '../format.ts';
import { html, type View } from '../html.ts';
import { useLoad } from '../load.ts';
import { ForRole } from '../parts/for-role.ts';
import { Loaded } from '../parts/states.ts';
import { linkTo, place } from '../router.ts';
import { type DiskState, OnDisk } from './config/differences.ts';
import { type Drift, DriftCard } from './config/drift.ts';
import { FilesInForce } from './config/files.ts';
import { RollBack } from './config/pin.ts';
import { Proxies, type Status } from './config/proxies.ts';
import { Revisions } from './config/revisions.ts';
import { RolloutCard } from './config/rollout.ts';

interface Managed {
  readonly managed_by?: string;
  readonly source?: string;
}

/** Of the answer of /admin/rate-limits: the rules are many, so they are only counted. */
interface RuleCount {
  readonly total: number;
  readonly unfiltered_total: number;
}

/** A part of the answer of /admin/config. */
interface InForce {
  readonly providers: readonly object[];
  readonly aliases: readonly Managed[];
  readonly rate_limits_enabled: boolean;
  readonly budgets: readonly Managed[];
  readonly budgets_enabled: boolean;
}

export function view(): View {
  const { query } = useCell(place);
  const status = useLoad<Status>('/admin/status', 2_000);
  const disk = useLoad<DiskState>('/admin/config/differences', 2_000);
  const drift = useLoad<Drift>('/admin/config/drift', 5_000);
  const config = useLoad<InForce>('/admin/config?lists=providers,aliases,budgets', 10_000);
  const manual = useLoad<RuleCount>('/admin/rate-limits?source=manual&limit=1', 10_000);
  return html`<h1>Configuration</h1>
    <${Loaded} of=${config} what="the configuration in force">${(body: InForce) => html`<${Counts} of=${body} rules=${manual.body} />`}</${Loaded}>
    <${Loaded} of=${status} what="the proxies">${(body: Status) => html`<${Proxies} of=${body} />`}</${Loaded}>
    <${RolloutCard} />
    ${status.body !== undefined && html`<${RollBack} revision=${status.body.desired.config_revision} />`}
    <${Loaded} of=${disk} what="the directory">${(body: DiskState) => html`<${OnDisk} of=${body} />`}</${Loaded}>
    <${Loaded} of=${drift} what="what differs from git">${(body: Drift) => html`<${DriftCard} of=${body} onDisk=${disk.body?.disk_revision} />`}</${Loaded}>
    <${Revisions} from=${query.get('from') ?? undefined} to=${query.get('to') ?? undefined} isWhole=${query.get('revisions') === 'all'} />
    <${ForRole} needs="operator"><${FilesInForce} file=${query.get('file') ?? undefined} line=${Number(query.get('line')) || undefined} /></${ForRole}>`;
}

interface CountsProps {
  readonly of: InForce;
  readonly rules: RuleCount | undefined;
}

function Counts({ of, rules }: CountsProps): View {
  const { providers, aliases, rate_limits_enabled, budgets, budgets_enabled } = of;
  return html`<dl class="tiles">
    <${Tile} name="Providers" href=${linkTo('/models')} count=${providers.length} note="declared" />
    <${Tile} name="Aliases" href=${linkTo('/models')} count=${aliases.length} note=${manualOf(aliases.filter(({ managed_by }) => managed_by === 'manual').length)} />
    <${Tile} name="Rate limits" href=${linkTo('/rate-limits')} count=${rules?.unfiltered_total} note=${rate_limits_enabled ? manualOf(rules?.total ?? 0) : 'switched off'} />
    <${Tile} name="Budgets" href=${linkTo('/budgets')} count=${budgets.length} note=${budgets_enabled ? manualOf(budgets.filter(({ source }) => source === 'manual').length) : 'switched off'} />
  </dl>`;
}

function manualOf(count: number): string {
  return count === 0 ? 'declared' : `${compact(count)} of operators`;
}

interface TileProps {
  readonly name: string;
  readonly href: string;
  /** Undefined: not known yet. */
  readonly count: number | undefined;
  readonly note: string;
}

function Tile({ name, href, count, note }: TileProps): View {
  return html`<div class="tile">
    <dt><a href=${href}>${name}</a></dt>
    <dd>${count === undefined ? '–' : compact(count)} <span class="small quiet">${note}</span></dd>
  </div>`;
}
