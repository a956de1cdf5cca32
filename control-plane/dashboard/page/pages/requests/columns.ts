// The columns of the list of requests, and of that of changes.
import { compact, dollars, latency } from '../../format.ts';
import { html, type View } from '../../html.ts';
import { Badge } from '../../parts/badge.ts';
import type { Column } from '../../parts/table.ts';
import { TimeText } from '../../parts/time-text.ts';
import { linkTo } from '../../router.ts';
import { parseTime } from '../../time.ts';
import { type Entry, type EntryRow, nameOfSession, statusWords, titleOf, toneOf } from './entry.ts';

interface OfEntry {
  readonly entry: Entry;
}

const time: Column<EntryRow> = {
  title: 'Time',
  width: '11%',
  isLargestFirst: true,
  sort: ({ entry }) => parseTime(entry.timestamp),
  cell: ({ entry }) => html`<${Start} entry=${entry} />`,
};
const answer: Column<EntryRow> = {
  title: 'Answer',
  width: '23%',
  isLargestFirst: true,
  sort: ({ entry }) => entry.status_code,
  cell: ({ entry }) => html`<${Answer} entry=${entry} />`,
};

export const columns: readonly Column<EntryRow>[] = [
  time,
  {
    title: 'Request',
    width: '24%',
    sort: ({ entry }) => titleOf(entry),
    cell: ({ entry, count }) => html`<${What} entry=${entry} count=${count} />`,
  },
  {
    title: 'Consumer',
    width: '18%',
    sort: ({ entry }) => entry.user_path,
    cell: ({ entry }) => html`<${Who} entry=${entry} />`,
  },
  answer,
  {
    title: 'Tokens',
    width: '7%',
    isNumber: true,
    sort: ({ entry }) => entry.usage?.total_tokens,
    cell: ({ entry }) => html`<${Tokens} entry=${entry} />`,
  },
  {
    title: 'Cost',
    width: '9%',
    isNumber: true,
    sort: ({ entry }) => entry.usage?.total_cost ?? undefined,
    cell: ({ entry }) => html`<${Cost} entry=${entry} />`,
  },
  {
    title: 'Duration',
    width: '8%',
    isNumber: true,
    sort: ({ entry }) => entry.duration_ns,
    cell: ({ entry }) => latency(entry.duration_ns),
  },
];

/** A write costs nothing. */
export const changeColumns: readonly Column<EntryRow>[] = [
  time,
  {
    title: 'Change',
    width: '40%',
    sort: ({ entry }) => changeTitle(entry),
    cell: ({ entry }) => html`<${Changed} entry=${entry} />`,
  },
  {
    title: 'By',
    width: '22%',
    sort: ({ entry }) => operatorOf(entry),
    cell: ({ entry }) => html`<code>${operatorOf(entry)}</code>`,
  },
  answer,
];

function Start({ entry }: OfEntry): View {
  return html`<a href=${linkTo(`/requests/${entry.id}`)}><${TimeText} at=${entry.timestamp} /><span class="unseen">, ${titleOf(entry)}</span></a>`;
}

function changeTitle({ data, path }: Entry): string {
  return data.about ?? path;
}

function Changed({ entry }: OfEntry): View {
  const { method, path } = entry;
  return html`<div class="cell"><span class="name" title=${changeTitle(entry)}>${changeTitle(entry)}</span><span class="quiet small">${method} ${path}</span></div>`;
}

function operatorOf({ auth_key_id, auth_method, data }: Entry): string {
  if (data.event_type === 'config_reload') return 'the directory';
  return data.operator_name ?? auth_key_id ?? (auth_method === 'master_key' ? 'master key' : 'without a key');
}

function What({ entry, count }: OfEntry & { readonly count?: number | undefined }): View {
  const { method, path, resolved_model, requested_model, stream, asked_by } = entry;
  const target = resolved_model === undefined || resolved_model === requested_model ? '' : `${resolved_model} · `;
  const session = nameOfSession(entry);
  const way = `${session === undefined ? '' : `${session} · `}${requested_model === undefined ? method : `${target}${path}`}`;
  return html`<div class="cell">
    <span class="cell-line"><span class="name" title=${titleOf(entry)}>${titleOf(entry)}</span>
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
  // A rule without a name has an id, which tells less than the words before it.
  const note = [data.error_message, data.rule === undefined ? undefined : `by ${data.rule}`]
    .filter((part) => part !== undefined)
    .join(' · ');
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

function Cost({ entry: { usage } }: OfEntry): View {
  if (usage?.total_cost === undefined) return html`<span class="quiet">–</span>`;
  return html`<span class=${usage.total_cost === null ? 'quiet' : undefined}>${dollars(usage.total_cost)}</span>`;
}
