// The recorded revisions, bodies and headers of a request. All of it is foreign text.
import type { GuardrailRecord } from '../../../../../domain/records/request-record.ts';
import { count, latency } from '../../format.ts';
import { html, type View } from '../../html.ts';
import { useLoad } from '../../load.ts';
import { Badge } from '../../parts/badge.ts';
import { CopyButton } from '../../parts/copy-button.ts';
import { dayText, parseTime } from '../../time.ts';
import { type Entry, isChange } from './entry.ts';
import { recordedText } from './waterfall.ts';

interface OfEntry {
  readonly entry: Entry;
}

/** Words that a guardrail puts in cost tokens. */
function savedText(tokens: number | undefined): string {
  if (tokens === undefined || tokens === 0) return '';
  return tokens > 0 ? `, about ${count(tokens)} tokens saved` : `, about ${count(-tokens)} tokens more`;
}

export function Revisions({ entry: { data } }: OfEntry): View {
  const { request_revisions: revisions = [], guardrails = [], dropped = [] } = data;
  if (revisions.length + guardrails.length + dropped.length === 0) return null;
  return html`<section class="card">
    <h2>What was changed on its way</h2>
    ${guardrails.map((said, index) => html`<${Verdict} key=${index} of=${said} />`)}
    ${revisions.map(
      ({
        seq,
        rewriter,
        bytes_before,
        bytes_after,
        tokens_saved,
        no_change,
        body,
        detail,
      }) => html`<div key=${seq} class="revision">
        <p><span class="foreign">${rewriter}</span> ${
          no_change
            ? html`<${Badge}>left it alone</${Badge}>`
            : html`<span class="quiet">${count(bytes_before)} to ${count(bytes_after)} bytes${savedText(tokens_saved)}</span>`
        }</p>
        ${detail !== undefined && html`<details><summary class="small">What it says of itself</summary><pre tabindex="0">${recordedText(detail)}</pre></details>`}
        ${body !== undefined && html`<details><summary class="small">The body after it</summary><pre tabindex="0">${recordedText(body)}</pre></details>`}
      </div>`,
    )}
    ${dropped.length > 0 && html`<p>The provider could not be told: ${dropped.map((name) => html`<code class="foreign" key=${name}>${name}</code> `)}</p>`}
  </section>`;
}

const verdictTones = { block: 'bad', failed: 'bad', revise: 'warn', flag: 'info' } as const;

function Verdict({ of: said }: { readonly of: GuardrailRecord }): View {
  const { name, kind, phase, outcome, reason, mode } = said;
  return html`<p class="revision">
    <span class="foreign">${name}</span> <span class="quiet small">${kind}, of the ${phase === 'input' ? 'request' : 'answer'}</span>
    <${Badge} tone=${verdictTones[outcome]}>${outcome}</${Badge}>
    ${reason !== undefined && html` <span class="foreign">${reason}</span>`}
    ${mode === 'shadow' && html` <${Badge} tone="info" title="Nothing came of it">shadow</${Badge}>`}
  </p>`;
}

export function Bodies({ entry }: OfEntry): View {
  const { data } = entry;
  const { request_body, response_body, request_headers, response_headers } = data;
  const isEmpty = [request_body, response_body, request_headers, response_headers].every((each) => each === undefined);
  const names = isChange(entry) ? ['What was sent', 'What came of it'] : ['Request', 'Answer'];
  return html`<section class="card">
    <h2>Bodies and headers</h2>
    ${entry.bodies_omitted && html`<p class="quiet">What was said is not for viewers: it needs the role operator.</p>`}
    ${isEmpty && !entry.bodies_omitted && html`<p class="quiet">Neither is recorded. <code>audit.bodies</code> and <code>audit.headers</code> in the configuration turn them on for requests to come.</p>`}
    ${data.request_body_too_big_to_handle && html`<p class="note warning small">The body of the request is longer than what is recorded, and was left out.</p>`}
    ${data.response_body_too_big_to_handle && html`<p class="note warning small">Only the beginning of the answer is recorded.</p>`}
    <${Block} title=${`${names[0]}: body`} text=${bodyText(request_body)} />
    <${Block} title=${`${names[1]}: body`} text=${bodyText(response_body)} />
    <${Block} title=${`${names[0]}: headers`} text=${headerText(request_headers)} />
    <${Block} title=${`${names[1]}: headers`} text=${headerText(response_headers)} />
  </section>`;
}

function Block({ title, text }: { readonly title: string; readonly text: string | undefined }): View {
  if (text === undefined) return null;
  return html`<details class="block">
    <summary>${title} <span class="quiet small">${count(text.length)} characters</span></summary>
    <pre tabindex="0">${text}</pre>
    <${CopyButton} text=${text} what=${title.toLowerCase()} />
  </details>`;
}

function bodyText(body: unknown): string | undefined {
  return body === undefined ? undefined : recordedText(body);
}

function headerText(headers: Readonly<Record<string, string>> | undefined): string | undefined {
  if (headers === undefined) return undefined;
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');
}

interface UsageLog {
  readonly entries: readonly { readonly total_cost: number | null; readonly request_id: string }[];
}

/** The cost of all calls of the request together, in US dollars; null: there is no price. Undefined: not known yet. */
export function useCost({ request_id, timestamp, usage, duration_ns }: Entry): number | null | undefined {
  const begunMs = parseTime(timestamp);
  const query = new URLSearchParams({
    search: request_id,
    start_date: dayText(begunMs),
    end_date: dayText(begunMs + duration_ns / 1e6),
    limit: '20',
  });
  const { body } = useLoad<UsageLog>(usage === undefined ? undefined : `/admin/usage/log?${query}`);
  const costs = body?.entries.filter((each) => each.request_id === request_id).map(({ total_cost }) => total_cost);
  if (costs === undefined || costs.length === 0) return undefined;
  return costs.every((cost) => cost === null) ? null : costs.reduce<number>((sum, cost) => sum + (cost ?? 0), 0);
}

/** The counts of an entry as a line. */
export function usageWords({ usage, duration_ns }: Entry): string {
  if (usage === undefined) return 'nothing that is counted';
  const { input_tokens, output_tokens, cached_input_tokens, total_tokens } = usage;
  const cached = cached_input_tokens === 0 ? '' : ` (${count(cached_input_tokens)} cached)`;
  return `${count(total_tokens)} tokens: ${count(input_tokens)} in${cached}, ${count(output_tokens)} out, in ${latency(duration_ns)}`;
}
