// The configuration in force at each proxy, and the reason when it is behind.
import { duration } from '../../format.ts';
import { html, type View } from '../../html.ts';
import { Badge } from '../../parts/badge.ts';
import { Empty } from '../../parts/states.ts';
import { type Column, Table } from '../../parts/table.ts';
import { TimeText } from '../../parts/time-text.ts';
import { localTime, parseTime } from '../../time.ts';

interface Proxy {
  readonly instance: string;
  readonly instance_shared: boolean;
  readonly live: boolean;
  readonly converged: boolean;
  readonly heard_at: string;
  readonly config_revision: string;
  readonly config_source: string;
  readonly state_revision: number;
  readonly state_source: string;
  readonly environment_matches: boolean;
  readonly master_key_matches?: boolean;
  readonly limiter: 'enforcing' | 'off';
  readonly limit_store?: 'up' | 'lost' | 'recovering';
  readonly last_config_error: readonly string[] | null;
  readonly secret_problems: readonly string[];
  readonly left_out_providers: readonly string[];
  readonly rejected_config?: { readonly revision: string; readonly since: string };
}

/** A part of the answer of /admin/status. */
export interface Status {
  readonly converged: boolean;
  readonly lag_seconds: number;
  readonly desired: { readonly config_revision: string; readonly state_revision: number };
  readonly proxies: readonly Proxy[];
  readonly secret_problems: readonly string[];
  readonly last_rejected_config: {
    readonly revision?: string;
    readonly since?: string;
    readonly problems: readonly string[];
  } | null;
}

export function Proxies({ of }: { readonly of: Status }): View {
  const { converged, lag_seconds, proxies, desired, secret_problems, last_rejected_config: rejected } = of;
  const live = proxies.filter((proxy) => proxy.live);
  const behind = live.filter((proxy) => !proxy.converged).length;
  const text =
    live.length === 0
      ? 'No proxy is live'
      : converged
        ? 'Every proxy follows'
        : behind === 0
          ? 'What lies on disk is rejected'
          : `${behind} of ${live.length} behind`;
  const problems = [
    ...secret_problems.map((problem) => ['control plane', problem] as const),
    ...live.flatMap(({ instance, ...proxy }) =>
      troublesOf(proxy, rejected?.problems ?? []).map((problem) => [instance, problem] as const),
    ),
  ];
  return html`<section class="card">
    <div class="page-head">
      <h2>Proxies</h2>
      <div class="badges">
        <${Badge} tone=${converged ? 'good' : live.length === 0 ? 'bad' : 'warn'}>${text}</${Badge}>
        ${lag_seconds > 0 && html`<${Badge} tone="warn">${`behind for ${duration(lag_seconds * 1000)}`}</${Badge}>`}
      </div>
    </div>
    <p class="quiet small">Wanted: configuration <code>${desired.config_revision}</code>, state revision ${desired.state_revision}.</p>
    ${
      proxies.length === 0
        ? html`<${Empty} title="No proxy was heard within a day."><p>Start one with the same state store: it appears here within a second.</p></${Empty}>`
        : html`<${Table} label="Proxies" columns=${columnsFor(desired)} rows=${proxies} keyOf=${({ instance }: Proxy) => instance} markOf=${(proxy: Proxy) => (proxy.live ? '' : 'faded')} minWidth="52rem" />`
    }
    ${
      problems.length > 0 &&
      html`<ul class="list troubles">
        ${problems.map(([where, problem]) => html`<li key=${`${where} ${problem}`}><strong>${where}</strong> <span>${problem}</span></li>`)}
      </ul>`
    }
  </section>`;
}

/** `known`: mistakes on disk that the control plane finds as well, which are shown below. */
function troublesOf(proxy: Omit<Proxy, 'instance'>, known: readonly string[]): string[] {
  const mistakes = proxy.last_config_error ?? [];
  const others = mistakes.filter((each) => !known.includes(each));
  return [
    ...(mistakes.length === 0 ? [] : [`It rejects the configuration on disk${rejectedWords(proxy.rejected_config)}.`]),
    ...(proxy.instance_shared ? ['Two processes run under this name: give each its own GATEWAY_INSTANCE.'] : []),
    ...(proxy.environment_matches
      ? []
      : ['Its SET_* variables, entitlements or switches are not those of the control plane.']),
    ...(proxy.master_key_matches === false ? ['It works with another master key than the control plane.'] : []),
    ...(proxy.limiter === 'off' ? ['Rate limits are switched off there.'] : []),
    ...(proxy.limit_store === 'lost'
      ? ['The state store does not answer it for shared limits: on_store_loss says what it admits.']
      : []),
    ...(proxy.left_out_providers.length === 0
      ? []
      : [`It has left out providers, because they have no key: ${proxy.left_out_providers.join(', ')}.`]),
    ...proxy.secret_problems,
    ...others,
  ];
}

function rejectedWords(rejected: Proxy['rejected_config']): string {
  return rejected === undefined ? '' : `, revision ${rejected.revision}, since ${localTime(parseTime(rejected.since))}`;
}

function columnsFor({ config_revision: wanted, state_revision: state }: Status['desired']): readonly Column<Proxy>[] {
  return [
    {
      title: 'Proxy',
      sort: ({ instance }) => instance,
      cell: ({ instance }) => html`<span class="name">${instance}</span>`,
    },
    {
      title: 'State',
      sort: ({ live, converged }) => Number(live) + Number(converged),
      cell: ({ live, converged, heard_at }) =>
        live
          ? html`<${Badge} tone=${converged ? 'good' : 'warn'}>${converged ? 'follows' : 'behind'}</${Badge}>`
          : html`<${Badge} tone="bad">silent</${Badge}> <span class="quiet small">since <${TimeText} at=${heard_at} /></span>`,
    },
    {
      title: 'Configuration',
      cell: ({ config_revision, config_source }) => html`<span>
        <${Revision} text=${config_revision} isWanted=${config_revision === wanted} />
        ${config_source === 'pinned' && html` <${Badge} tone="warn" title="An operator has pinned this revision">pinned</${Badge}>`}
        ${config_source === 'rollout' && html` <${Badge} tone="info" title="It stays with this revision while another one is rolled out">before a rollout</${Badge}>`}
        ${config_source === 'last-good' && html` <${Badge} tone="warn" title="The directory was not usable when it started">last good copy</${Badge}>`}
      </span>`,
    },
    {
      title: 'State revision',
      isNumber: true,
      sort: ({ state_revision }) => state_revision,
      cell: ({ state_revision }) =>
        html`<${Revision} text=${String(state_revision)} isWanted=${state_revision >= state} />`,
    },
    {
      title: 'Rules and keys from',
      cell: ({ state_source }) =>
        state_source === 'store' ? 'the store' : html`<${Badge} tone="warn">${state_source}</${Badge}>`,
    },
  ];
}

function Revision({ text, isWanted }: { readonly text: string; readonly isWanted: boolean }): View {
  return html`<code class=${isWanted ? '' : 'other'} title=${isWanted ? 'As wanted' : 'Not what is wanted'}>${text}</code>`;
}
