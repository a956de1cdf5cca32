// The conversation that a request belongs to: what was said, in order, each request with what it adds.
import { latency, plural } from '../../format.ts';
import { html, type View } from '../../html.ts';
import { useLoad } from '../../load.ts';
import { Badge } from '../../parts/badge.ts';
import { Loaded } from '../../parts/states.ts';
import { TimeText } from '../../parts/time-text.ts';
import { linkTo } from '../../router.ts';
import { EntryHead } from './detail.ts';
import { type Entry, statusWords, toneOf } from './entry.ts';
import { newTurns, type Part, type Turn, turnsOfAnswer, turnsOfRequest } from './turns.ts';

/** The answer of /admin/audit/conversation. */
interface Conversation {
  readonly anchor_id: string;
  readonly entries: readonly Entry[];
  readonly truncated: boolean;
}

const most = 100;
/** A longer text is cut, and shown whole on demand. */
const longestText = 4_000;

export function ConversationPage({ id }: { readonly id: string }): View {
  const query = new URLSearchParams({ log_id: id, limit: String(most) });
  const conversation = useLoad<Conversation>(`/admin/audit/conversation?${query}`, 5_000);
  return html`<nav class="trail small" aria-label="Where you are"><a href=${linkTo('/requests')}>Requests</a></nav>
    ${conversation.body === undefined && html`<h1>Conversation</h1>`}
    <${Loaded} of=${conversation} what="conversation">${(body: Conversation) => html`<${Shown} conversation=${body} />`}</${Loaded}>`;
}

interface Exchange {
  readonly entry: Entry;
  readonly asked: readonly Turn[];
  readonly answered: readonly Turn[];
}

function exchangesOf(entries: readonly Entry[]): Exchange[] {
  let before: readonly Turn[] = [];
  return entries.map((entry) => {
    const turns = turnsOfRequest(entry.data.request_body);
    const fresh = newTurns(before, turns);
    // The first of them is the answer that the client got last: it stands there already.
    const asked = fresh.length < turns.length && fresh[0]?.role === 'assistant' ? fresh.slice(1) : fresh;
    if (turns.length > 0) before = turns;
    return { entry, asked, answered: turnsOfAnswer(entry.data.response_body) };
  });
}

function Shown({ conversation: { anchor_id, entries, truncated } }: { readonly conversation: Conversation }): View {
  const anchor = entries.find(({ id }) => id === anchor_id);
  const hasBodies = entries.some(({ data }) => data.request_body !== undefined || data.response_body !== undefined);
  return html`${anchor !== undefined && html`<${EntryHead} entry=${anchor} part="conversation" />`}
    <p class="quiet small">${plural(entries.length, 'request')}${truncated ? ' around this one; the conversation has more' : ''}, the oldest first.</p>
    ${!hasBodies && html`<p class="note">No bodies are recorded, so there is nothing to read. <code>audit.bodies: true</code> in the configuration records those of requests to come.</p>`}
    <ol class="exchanges">
      ${exchangesOf(entries).map(
        ({
          entry,
          asked,
          answered,
        }) => html`<li key=${entry.id} class=${entry.id === anchor_id ? 'exchange anchor' : 'exchange'}>
        <p class="exchange-head small">
          <a href=${linkTo(`/requests/${entry.id}`)}><${TimeText} at=${entry.timestamp} /></a>
          <${Badge} tone=${toneOf(entry)}>${statusWords(entry)}</${Badge}>
          <span class="quiet foreign">${entry.resolved_model ?? entry.requested_model ?? entry.path}, ${latency(entry.duration_ns)}</span>
        </p>
        ${[...asked, ...answered].map((turn, index) => html`<${Said} key=${index} turn=${turn} />`)}
        ${asked.length + answered.length === 0 && hasBodies && html`<p class="quiet small">Nothing of it is recorded, or nothing in it is a text.</p>`}
      </li>`,
      )}
    </ol>`;
}

const roles: Readonly<Record<string, string>> = {
  system: 'Instructions',
  developer: 'Instructions',
  user: 'User',
  assistant: 'Model',
  tool: 'Tool',
  error: 'Error',
};

function Said({ turn: { role, parts } }: { readonly turn: Turn }): View {
  return html`<div class=${`turn ${Object.hasOwn(roles, role) ? role : 'user'}`}>
    <p class="turn-role">${roles[role] ?? role}</p>
    <div class="turn-text">${parts.map((part, index) => html`<${PartText} key=${index} part=${part} />`)}</div>
  </div>`;
}

function PartText({ part: { kind, text } }: { readonly part: Part }): View {
  if (kind === 'other') return html`<p class="quiet small">[${text}]</p>`;
  if (kind === 'thought')
    return html`<details><summary class="small quiet">Thought</summary><p class="said">${text}</p></details>`;
  const shown = html`<p class=${kind === 'text' ? 'said' : 'said code'}>${text.slice(0, longestText)}</p>`;
  if (text.length <= longestText) return shown;
  return html`${shown}<details><summary class="small">The other ${text.length - longestText} characters</summary><p class="said">${text.slice(longestText)}</p></details>`;
}
