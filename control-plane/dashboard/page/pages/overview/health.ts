// Whether all is well: what is degraded and since when, the stores, and every proxy.
import { duration, plural } from '../../format.ts';
import { html, type View } from '../../html.ts';
import { useLoad } from '../../load.ts';
import { Badge } from '../../parts/badge.ts';
import { Loaded } from '../../parts/states.ts';
import { type Column, Table } from '../../parts/table.ts';
import { TimeText } from '../../parts/time-text.ts';
import { linkTo } from '../../router.ts';
import { parseTime, useSecond } from '../../time.ts';
import { type Drain, drainName } from '../models/fleet.ts';
import { FailedBadge, FailingList, failedShare, type LastHours, useLastHours } from './failing.ts';

interface Proxy {
  readonly instance: string;
  readonly live: boolean;
  readonly converged: boolean;
  readonly heard_at: string;
  readonly heard_from: 'store' | 'proxy';
  readonly started_at: string;
  readonly config_revision: string;
  readonly state_revision: number;
  readonly unusable_target_count: number;
}

interface Degraded {
  readonly where: string;
  readonly reason: string;
  readonly since: string;
  readonly cause?: string;
}

interface Status {
  readonly converged: boolean;
  readonly degraded: readonly Degraded[];
  readonly desired: { readonly config_revision: string; readonly state_revision: number };
  readonly proxies: readonly Proxy[];
  readonly drained_targets: readonly Drain[];
  readonly last_rejected_config: { readonly problems: readonly string[] } | null;
  readonly store: { readonly engine: string; readonly status: 'up' | 'down' | 'emptied' | 'behind' };
}

/** The meaning of each problem, and the advice. */
const words: Readonly<Record<string, string>> = {
  config_pinned: 'An operator has pinned an earlier revision of the configuration: what git holds waits until the end.',
  config_pin_unusable:
    'The pinned revision of the configuration cannot be put in force there: what was in force stays.',
  config_last_good: 'The configuration on disk was not usable at the start, so the last good one is in force.',
  config_rejected: 'The configuration on disk has mistakes, so the one before it stays in force.',
  config_rejected_by_proxy: 'Some proxy rejects the configuration on its disk, which is good here.',
  provider_key_unusable: 'The key of a provider cannot be used.',
  guardrail_unusable: 'A guardrail cannot work: it refuses what it is for, or never judges.',
  provider_key_file_unreadable: 'The file with the key of a provider cannot be read.',
  secret_reference_unreadable:
    'A secret that the configuration refers to cannot be read: what was read last stays in force.',
  secret_file_unusable: 'A file with a secret cannot be used, so the secret before it stays in force.',
  state_store_unavailable: 'The state store does not answer: limits hold as they are, nothing can be changed.',
  state_store_emptied: 'The state store has lost what was in it.',
  state_store_behind: 'The state store went back to an older state. What was in force stays, and is written back.',
  state_store_evicts: 'The state store may drop rules and keys by itself: set maxmemory-policy of Redis to noeviction.',
  record_store_unavailable: 'The record store does not answer: records wait in the journal.',
  journal_unreadable: 'The journal of records cannot be read, so audit and usage lack what is newest.',
  disk_full: 'The disk of GATEWAY_DATA is full: records stop, rules and keys are still written. Remove what fills it.',
  records_begun_anew:
    'The file of records was new at the start: earlier audit and usage are not in it. Keep it on a disk that lasts.',
  state_documents_unsealed: 'Some stored documents have no valid seal and are ignored.',
  no_proxy_is_live: 'No proxy is heard: none runs, or none can be heard.',
  silent: 'Sends no heartbeat, neither through the state store nor to the control plane: it has ended, or is cut off.',
  behind: 'Does not enforce the latest rules and configuration.',
  instance_shared: 'Two processes run under this name. Give each its own GATEWAY_INSTANCE.',
  environment_differs: 'Has other SET_* variables, entitlements or switches than the control plane.',
  shared_limits_unavailable: 'The state store does not answer for shared limits: on_store_loss says what is admitted.',
  control_plane_unavailable: 'Does not reach the control plane.',
  memory_nearly_full: 'Is short of memory, so it refuses requests.',
  provider_credential_missing: 'A provider with a cloud identity has no valid credential, so no request is sent to it.',
  provider_models_unknown: 'A provider has never said what models it has.',
  provider_key_refused: 'A provider serves nothing for a key of the gateway.',
  providers_left_out: 'Has left out providers, because they have no key.',
  targets_unusable: 'Some models fail or rest, so others are asked in their place.',
};

/** The pages that show more of it. */
const configuration = linkTo('/config');
const unusable = linkTo('/models', { show: 'blocked' });
const pages: Readonly<Record<string, string>> = {
  config_pinned: configuration,
  config_pin_unusable: configuration,
  config_last_good: configuration,
  config_rejected: configuration,
  secret_file_unusable: configuration,
  secret_reference_unreadable: configuration,
  silent: configuration,
  behind: configuration,
  instance_shared: configuration,
  environment_differs: configuration,
  providers_left_out: linkTo('/models'),
  targets_unusable: unusable,
  provider_key_refused: unusable,
  config_rejected_by_proxy: configuration,
};

export function Health(): View {
  const status = useLoad<Status>('/admin/status', 2_000);
  const { body: hours } = useLastHours();
  return html`<section class="card" aria-labelledby="health">
    <${Loaded} of=${status} what="the health of the gateway">${(body: Status) => html`<${Body} status=${body} hours=${hours} />`}</${Loaded}>
  </section>`;
}

interface BodyProps {
  readonly status: Status;
  /** Undefined until they are known. */
  readonly hours: LastHours | undefined;
}

function Body({ status, hours }: BodyProps): View {
  const { degraded, proxies, store, last_rejected_config: rejected, drained_targets: drained } = status;
  const troubles = troublesOf(degraded);
  const live = proxies.filter((proxy) => proxy.live).length;
  const failed = hours && failedShare(hours);
  const isWell = degraded.length === 0 && hours !== undefined && failed === undefined;
  const engine = store.engine === 'redis' ? 'Redis' : 'SQLite file';
  return html`<div class="page-head">
      <h2 id="health">Health</h2>
      <div class="badges">
        ${isWell && html`<${Badge} tone="good">All is well</${Badge}>`}
        ${degraded.length > 0 && html`<${Badge} tone="warn">${`${troubles.length} degraded`}</${Badge}>`}
        ${failed !== undefined && html`<${FailedBadge} of=${failed} />`}
        ${drained.length > 0 && html`<${Badge} tone="warn" title=${drained.map((each) => `${drainName(each)}: ${each.reason}`).join('\n')}><a href=${unusable}>${plural(drained.length, 'target')} taken out</a></${Badge}>`}
        <${Badge} tone=${live === 0 ? 'bad' : status.converged ? 'good' : 'warn'}>${`${live} of ${proxies.length} ${proxies.length === 1 ? 'proxy' : 'proxies'} live, ${status.converged ? 'converged' : 'not converged'}`}</${Badge}>
        <${Badge} tone=${store.status === 'up' ? 'good' : 'bad'}>${`State store (${engine}) ${store.status}`}</${Badge}>
      </div>
    </div>
    ${
      degraded.length > 0 &&
      html`<ul class="list troubles">
      ${troubles.map((each) => html`<${Trouble} key=${each.reason} trouble=${each} />`)}
    </ul>`
    }
    ${hours !== undefined && failed !== undefined && html`<${FailingList} failing=${hours.failing} />`}
    ${rejected !== null && html`<details><summary>Mistakes in the configuration on disk</summary><pre tabindex="0">${rejected.problems.join('\n')}</pre></details>`}
    ${proxies.length > 0 && html`<${Proxies} of=${proxies} isOpen=${live < proxies.length || !status.converged} />`}`;
}

interface ProxiesProps {
  readonly of: readonly Proxy[];
  /** Some of them needs to be looked at. */
  readonly isOpen: boolean;
}

function Proxies({ of, isOpen }: ProxiesProps): View {
  return html`<details class="proxies" open=${isOpen}><summary class="quiet small">Proxies</summary>
    <${Table} label="Proxies" minWidth="52rem" columns=${columns} rows=${of} keyOf=${({ instance }: Proxy) => instance} markOf=${({ live }: Proxy) => (live ? '' : 'faded')} />
  </details>`;
}

/** The same of several parts, said once. */
interface SharedTrouble extends Omit<Degraded, 'where' | 'cause'> {
  readonly where: readonly Degraded[];
  readonly causes: readonly string[];
}

/** So many names and causes are written out. */
const mostNames = 3;

/** In their order. One outage of a store or a provider, and one rejected configuration, is told by every process. */
function troublesOf(degraded: readonly Degraded[]): readonly SharedTrouble[] {
  return [...Map.groupBy(degraded, ({ reason }) => reason).values()].map((each) => {
    const [{ reason, since }] = each as [Degraded];
    const causes = Map.groupBy(each, ({ cause }) => cause);
    const said = [...causes].flatMap(([cause, of]) => {
      if (cause === undefined) return [];
      return [causes.size === 1 ? cause : `${namesOf(of)}: ${cause}`];
    });
    return { reason, since, where: each, causes: said.slice(0, mostNames) };
  });
}

function namesOf(degraded: readonly Degraded[]): string {
  const names = degraded.map(({ where }) => (where === 'control-plane' ? 'Control plane' : where));
  const more = names.length - mostNames;
  return names.slice(0, mostNames).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

function Trouble({ trouble: { where, reason, since, causes } }: { readonly trouble: SharedTrouble }): View {
  const lasting = duration(useSecond() - parseTime(since));
  const [text, page] = [reason.replaceAll('_', ' '), pages[reason]];
  return html`<li>
    <${Badge} tone="warn">${page === undefined ? text : html`<a href=${page}>${text}</a>`}</${Badge}>
    <strong title=${where.map((each) => each.where).join(', ')}>${namesOf(where)}</strong> <span>${words[reason] ?? ''}</span>
    <span class="quiet small">since <${TimeText} at=${since} />, for ${lasting}</span>
    ${causes.map((cause) => html`<span class="cause small" key=${cause}>${cause}</span>`)}
  </li>`;
}

const columns: readonly Column<Proxy>[] = [
  {
    title: 'Proxy',
    sort: ({ instance }) => instance,
    cell: ({ instance }) => html`<span class="name">${instance}</span>`,
  },
  {
    title: 'State',
    cell: ({ live, converged, heard_from }) =>
      live
        ? html`<${Badge} tone=${converged ? 'good' : 'warn'}>${converged ? 'live' : 'live, behind'}</${Badge}>${heard_from === 'proxy' && html` <span class="quiet small" title="The state store does not take its heartbeats, so it tells the control plane itself">says so itself</span>`}`
        : html`<${Badge} tone="bad">silent</${Badge}>`,
  },
  { title: 'Config', cell: ({ config_revision }) => html`<code>${config_revision}</code>` },
  { title: 'State revision', isNumber: true, cell: ({ state_revision }) => String(state_revision) },
  {
    title: 'Targets not usable',
    isNumber: true,
    sort: ({ unusable_target_count: count }) => count,
    cell: ({ unusable_target_count: count }) => (count === 0 ? '0' : html`<a href=${unusable}>${count}</a>`),
  },
  { title: 'Heard', sort: ({ heard_at }) => heard_at, cell: ({ heard_at }) => html`<${TimeText} at=${heard_at} />` },
  {
    title: 'Started',
    sort: ({ started_at }) => started_at,
    cell: ({ started_at }) => html`<${TimeText} at=${started_at} />`,
  },
];
