// The columns of the list of requests.
import { compact, latency } from '../../format.ts';
import { html, type View } from '../../html.ts';
import { Badge } from '../../parts/badge.ts';
import type { Column } from '../../parts/table.ts';
import { TimeText } from '../../parts/time-text.ts';
import { linkTo } from '../../router.ts';
import { type Entry, type EntryRow, isChange, nameOfSession, statusWords, titleOf, toneOf } from './entry.ts';

interface OfEntry {
  readonly entry: Entry;
}

export const columns: readonly Column<EntryRow>[] = [
  { title: 'Time', width: '13%', cell: ({ entry }) => html`<${Start} entry=${entry} />` },
  { title: 'Request', width: '25%', cell: ({ entry, count }) => html`<${What} entry=${entry} count=${count} />` },
  { title: 'Consumer', width: '20%', cell: ({ entry }) => html`<${Who} entry=${entry} />` },
  { title: 'Answer', width: '26%', cell: ({ entry }) => html`<${Answer} entry=${entry} />` },
  { title: 'Tokens', width: '7%', isNumber: true, cell: ({ entry }) => html`<${Tokens} entry=${entry} />` },
  { title: 'Duration', width: '9%', isNumber: true, cell: ({ entry }) => latency(entry.duration_ns) },
];

function Start({ entry }: OfEntry): View {
  return html`<a href=${linkTo(`/requests/${entry.id}`)}><${TimeText} at=${entry.timestamp} /><span class="unseen">, ${titleOf(entry)}</span></a>`;
}

function What({ entry, count }: OfEntry & { readonly count?: number | undefined }): View {
  const { method, path, resolved_model, requested_model, stream, asked_by } = entry;
  const target = resolved_model === undefined || resolved_model === requested_model ? '' : `${resolved_model} · `;
  const session = nameOfSession(entry);
  const way = `${session === undefined ? '' : `${session} · `}${requested_model === undefined ? method : `${target}${path}`}`;
  return html`<div class="cell">
    <span class="cell-line"><span class="name" title=${titleOf(entry)}>${titleOf(entry)}</span>
      ${isChange(entry) && html`<${Badge} tone="info">change</${Badge}>`}
      ${asked_by === 'gateway' && html`<${Badge} tone="info">gateway</${Badge}>`}
      ${stream && html`<${Badge}>stream</${Badge}>`}
      ${count !== undefined && count > 1 && html`<a class="badge info" href=${linkTo(`/requests/${entry.id}/conversation`)}>${count} requests</a>`}</span>
    <span class="quiet small" title=${way}>${way}</span>
  </div>`;
}

function Who({ entry: { user_path, auth_method, data } }: OfEntry): View {
  const agent = data.user_agent ?? (auth_method === 'master_key' ? 'master key' : '');
  return html`<div class="cell"><span title=${user_path}>${user_path}</span><span class="quiet small" title=${agent}>${agent}</span></div>`;
}

function Answer({ entry }: OfEntry): View {
  const { data } = entry;
  const note =
    data.rule === undefined ? (data.error_message ?? '') : `by ${data.rule}: ${data.error_message ?? 'refused'}`;
  const failover = data.failover === undefined ? '' : `failed over to ${data.failover.target_model}`;
  return html`<div class="cell">
    <span><${Badge} tone=${toneOf(entry)}>${statusWords(entry)}</${Badge}></span>
    <span class="quiet small" title=${note}>${note === '' ? failover : note}</span>
  </div>`;
}

function Tokens({ entry: { usage } }: OfEntry): View {
  if (usage === undefined) return html`<span class="quiet">–</span>`;
  return html`<span title=${`${usage.input_tokens} in, ${usage.output_tokens} out`}>${compact(usage.total_tokens)}</span>`;
}
