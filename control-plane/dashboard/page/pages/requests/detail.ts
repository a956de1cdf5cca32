// One request: why it ended as it did, who sent it, where its time went, and what is recorded of it.
import { useCell } from '../../cell.ts';
import { dollars } from '../../format.ts';
import { html, type Inside, type View } from '../../html.ts';
import { useLoad } from '../../load.ts';
import { Badge } from '../../parts/badge.ts';
import { CopyButton } from '../../parts/copy-button.ts';
import { useMay } from '../../parts/for-role.ts';
import { Loaded } from '../../parts/states.ts';
import { TimeText } from '../../parts/time-text.ts';
import { linkTo } from '../../router.ts';
import { session } from '../../session-state.ts';
import { TestButton } from '../explain/test-button.ts';
import { type Key, keysPath, noteOfUnlisted } from '../keys/key.ts';
import { StopButton } from '../rate-limits/stop.ts';
import { type Entry, isChange, sessionName, statusWords, titleOf, toneOf } from './entry.ts';
import { Bodies, Revisions, usageWords, useCost } from './records.ts';
import { Waterfall } from './waterfall.ts';
import { Why } from './why.ts';

export function RequestPage({ id }: { readonly id: string }): View {
  const entry = useLoad<Entry>(`/admin/audit/detail?${new URLSearchParams({ log_id: id })}`);
  return html`<nav class="trail small" aria-label="Where you are"><a href=${linkTo('/requests')}>Requests</a></nav>
    ${entry.body === undefined && html`<h1>Request</h1>`}
    <${Loaded} of=${entry} what="request">${(body: Entry) => html`<${Shown} entry=${body} />`}</${Loaded}>`;
}

interface OfEntry {
  readonly entry: Entry;
}

function Shown({ entry }: OfEntry): View {
  return html`<${EntryHead} entry=${entry} part="request" />
    <${Why} entry=${entry} />
    <${Facts} entry=${entry} />
    ${!isChange(entry) && html`<${Waterfall} entry=${entry} />`}
    <${Revisions} entry=${entry} />
    <${Bodies} entry=${entry} />`;
}

/** The head of both addresses of a request. */
export function EntryHead({ entry, part }: OfEntry & { readonly part: 'request' | 'conversation' }): View {
  const { id, conversation_payload, session_id } = entry;
  const may = useMay();
  const hasThread = may('operator') && (conversation_payload || session_id !== undefined);
  return html`<div class="page-head">
    <h1 class="entry-title"><span class="foreign">${titleOf(entry)}</span>
      <${Badge} tone=${toneOf(entry)}>${statusWords(entry)}</${Badge}></h1>
    ${
      hasThread &&
      html`<div class="switcher" role="group" aria-label="Show">
        <a href=${linkTo(`/requests/${id}`)} aria-current=${part === 'request' ? 'true' : undefined}>Request</a>
        <a href=${linkTo(`/requests/${id}/conversation`)} aria-current=${part === 'conversation' ? 'true' : undefined}>Conversation</a>
      </div>`
    }
  </div>`;
}

function Facts({ entry }: OfEntry): View {
  const { user_path, auth_key_id, auth_method, client_ip, data, requested_model, resolved_model } = entry;
  const { provider_name, provider, cache_type, session_id, request_id, method, path, stream, timestamp } = entry;
  const cost = useCost(entry);
  const unnamed = {
    master_key: 'the master key',
    no_key: 'none',
    api_key: 'a key',
    certificate: 'a certificate',
    jwt: 'a token',
    sign_in: 'a sign-in',
  }[auth_method ?? 'no_key'];
  const labels = data.labels ?? [];
  const asked = [...numberFact('max_tokens', data.max_tokens), ...numberFact('temperature', data.temperature)].join(
    ', ',
  );
  return html`<div class="grid">
    <section class="card"><h2>Who</h2><dl class="facts">
      <${Fact} name="Consumer"><a class="foreign" href=${linkTo('/requests', { user_path })}>${user_path}</a>
        ${
          !isChange(entry) &&
          html`<div class="buttons of-fact">
          <a class="button row" href=${linkTo('/usage', { user_path, by: 'model' })}>Usage</a>
          <a class="button row" href=${linkTo('/rate-limits', { covers: user_path })}>Rate limits</a>
          <${StopButton} userPath=${user_path} isSmall />
        </div>`
        }</${Fact}>
      ${data.operator_name !== undefined && html`<${Fact} name="Person"><span class="foreign">${data.operator_name}</span></${Fact}>`}
      <${Fact} name="Key">${auth_key_id === undefined ? unnamed : html`<${KeyName} id=${auth_key_id} />`}${labels.map((label) => html` <${Badge} key=${label}><span class="foreign">${label}</span></${Badge}>`)}</${Fact}>
      ${entry.asked_by === 'gateway' && html`<${Fact} name="Asked by"><${Badge} tone="info">gateway</${Badge}> for a request of this consumer</${Fact}>`}
      <${Fact} name="Client"><span class="foreign">${data.user_agent ?? 'unnamed'}</span> at ${client_ip}</${Fact}>
      ${session_id !== undefined && html`<${Fact} name="Session"><a class="foreign" href=${linkTo('/requests', { session_id, view: 'requests' })} title=${session_id}>${sessionName(session_id)}</a></${Fact}>`}
    </dl></section>
    <section class="card"><h2>What</h2><dl class="facts">
      <${Fact} name="Sent"><code class="foreign">${method} ${path}</code> <${TimeText} at=${timestamp} />${stream && html` <${Badge}>stream</${Badge}>`}</${Fact}>
      ${requested_model !== undefined && html`<${Fact} name="Model"><${SetupLink} name=${requested_model} />${resolved_model !== undefined && resolved_model !== requested_model && html` → <${SetupLink} name=${resolved_model} />`}</${Fact}>`}
      ${provider_name !== undefined && html`<${Fact} name="Provider"><${SetupLink} name=${provider_name} />${provider !== provider_name && html` <span class="foreign">(${provider})</span>`}</${Fact}>`}
      ${cache_type !== undefined && html`<${Fact} name="Cache"><${Badge} tone="info">${cache_type}</${Badge}></${Fact}>`}
      ${!isChange(entry) && html`<${Fact} name="Used">${usageWords(entry)}${cost === undefined ? '' : `, ${cost === null ? 'without a price' : dollars(cost)}`}</${Fact}>`}
      ${asked !== '' && html`<${Fact} name="Asked for">${asked}</${Fact}>`}
    </dl></section>
    <section class="card"><h2>Where</h2><dl class="facts">
      <${Fact} name="Request id"><code class="foreign">${request_id}</code> <${CopyButton} text=${request_id} what="id" /> <${TestButton} text=${entry.as_test} name=${request_id} /></${Fact}>
      ${data.instance !== undefined && html`<${Fact} name="Served by"><code>${data.instance}</code></${Fact}>`}
      ${data.config_revision !== undefined && html`<${Fact} name="Configuration"><code>${data.config_revision}</code></${Fact}>`}
      ${data.rescued !== undefined && html`<${Fact} name="Broke in the middle">${data.rescued === 'continue' ? 'another target went on' : 'another target began again'}</${Fact}>`}
      ${data.failover !== undefined && html`<${Fact} name="Failed over"><${SetupLink} name=${data.failover.target_model} /></${Fact}>`}
    </dl></section>
  </div>`;
}

/** The name of a key beside its id, which leads to it. */
function KeyName({ id }: { readonly id: string }): View {
  const keys = useLoad<readonly Pick<Key, 'id' | 'name'>[]>(keysPath);
  const name = keys.body?.find((key) => key.id === id)?.name;
  if (name === undefined)
    return html`<code class="foreign">${id}</code>${keys.body !== undefined && html` <span class="quiet small">${noteOfUnlisted(id)}</span>`}`;
  return html`<a class="foreign" href=${linkTo('/keys', { key: id })}>${name}</a> <code class="quiet small foreign">${id}</code>`;
}

/** A provider, a model or an alias: where it is set up, for who may see that. */
function SetupLink({ name }: { readonly name: string }): View {
  const { who } = useCell(session);
  return who?.scoped === false
    ? html`<a class="foreign" href=${linkTo('/models', { q: name })}>${name}</a>`
    : html`<span class="foreign">${name}</span>`;
}

function Fact({ name, children }: { readonly name: string; readonly children?: Inside }): View {
  return html`<dt>${name}</dt><dd>${children}</dd>`;
}

function numberFact(name: string, value: number | undefined): string[] {
  return value === undefined ? [] : [`${name} ${value}`];
}
