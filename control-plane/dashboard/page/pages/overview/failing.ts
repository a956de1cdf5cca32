// What fails now: the share of all requests, and each model and provider with since when.
import { useCell } from '../../cell.ts';
import { duration, plural, share } from '../../format.ts';
import { html, type View } from '../../html.ts';
import { type Load, useLoad } from '../../load.ts';
import { Badge } from '../../parts/badge.ts';
import { TimeText } from '../../parts/time-text.ts';
import { linkTo } from '../../router.ts';
import { session } from '../../session-state.ts';
import { nowMs, parseTime, useSecond } from '../../time.ts';

interface FailingModel {
  readonly requested_model: string;
  readonly provider_name: string;
  readonly requests: number;
  readonly failed: number;
  readonly since: string;
}

/** Of the answer of /admin/audit/stats. */
export interface LastHours {
  readonly buckets: readonly { readonly start: string; readonly requests: number; readonly server_errors: number }[];
  readonly failing: readonly FailingModel[];
}

/** As many as the API shows minute by minute: so far back it can say since when. */
const minutes = 360;
/** As the API counts them. Milliseconds. */
const nowSpanMs = 10 * 60_000;
/** More is bad, less is a warning. Of the requests. */
const badShare = 0.05;

export function useLastHours(): Load<LastHours> {
  return useLoad<LastHours>(`/admin/audit/stats?minutes=${minutes}`, 10_000);
}

/** The share of the requests of the last ten minutes that failed; undefined: no model fails. */
export function failedShare({ buckets, failing }: LastHours): number | undefined {
  if (failing.length === 0) return undefined;
  const recent = buckets.filter(({ start }) => parseTime(start) > nowMs() - nowSpanMs);
  const sum = (name: 'requests' | 'server_errors'): number => recent.reduce((total, each) => total + each[name], 0);
  return sum('server_errors') / Math.max(1, sum('requests'));
}

export function FailedBadge({ of }: { readonly of: number }): View {
  return html`<${Badge} tone=${of >= badShare ? 'bad' : 'warn'}>${`${share(of)} of requests fail`}</${Badge}>`;
}

/** One row for each model. */
export function FailingList({ failing }: Pick<LastHours, 'failing'>): View {
  return html`<ul class="list troubles" aria-label="What fails now">
    ${failing.map((each) => html`<${Row} key=${`${each.provider_name} ${each.requested_model}`} of=${each} />`)}
  </ul>`;
}

function Row({ of: { requested_model, provider_name, requests, failed, since } }: { readonly of: FailingModel }): View {
  const lasting = duration(useSecond() - parseTime(since));
  const error_type = provider_name === '' ? 'error' : 'provider_error';
  const found = { view: 'requests', requested_model, provider: provider_name, error_type, minutes: '60' };
  const { who } = useCell(session);
  const name =
    who?.scoped === false
      ? html`<a href=${linkTo('/models', { q: provider_name })}>${provider_name}</a>`
      : provider_name;
  const where = provider_name === '' ? 'without a provider' : html`at ${name}`;
  return html`<li>
    <${Badge} tone=${failed >= requests * badShare ? 'bad' : 'warn'}><a href=${linkTo('/requests', found)}>${share(failed / requests)} fail</a></${Badge}>
    <strong class="foreign">${requested_model === '' ? 'Requests' : requested_model}</strong>
    <span class="foreign">${where}: ${failed} of ${plural(requests, 'request')} in ten minutes</span>
    <span class="quiet small">since <${TimeText} at=${since} />, for ${lasting}</span>
  </li>`;
}

/** For who sees nothing of the health of the gateway: the requests that it may see. */
export function Failing(): View {
  const { body } = useLastHours();
  const failed = body && failedShare(body);
  if (body === undefined || failed === undefined) return null;
  return html`<section class="card" aria-labelledby="failing">
    <div class="page-head"><h2 id="failing">Failing now</h2><div class="badges"><${FailedBadge} of=${failed} /></div></div>
    <${FailingList} failing=${body.failing} />
  </section>`;
}
