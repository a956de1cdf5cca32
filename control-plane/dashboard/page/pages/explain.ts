// The page that explains: who asks for what goes in, the whole decision comes out, with the counters as they are now.
import { useEffect, useState } from 'preact/hooks';
import { useCell } from '../cell.ts';
import { html, type View } from '../html.ts';
import { type Load, useLoad } from '../load.ts';
import { AskProxy } from '../parts/ask-proxy.ts';
import { type FilterField, FilterForm } from '../parts/filter-form.ts';
import { Empty, Loaded } from '../parts/states.ts';
import { TimeText } from '../parts/time-text.ts';
import { linkTo, place } from '../router.ts';
import { Became, type ExplainedRequest } from './explain/became.ts';
import type { Explanation } from './explain/explanation.ts';
import { Line } from './explain/line.ts';
import { OriginText } from './explain/origin.ts';
import { TestButton } from './explain/test-button.ts';

const everyMs = 2_000;
const ownOfProxies = 'Breakers, and counters of their own, live in the proxies';
/** Of the query of /admin/explain. */
const names = ['user_path', 'model', 'key_id', 'endpoint', 'stream', 'thread'] as const;
/** With more keys than this, the id is typed. */
const mostOptions = 200;

/** Loads an explanation. A refused question is not sent again, because the same question gets the same answer. */
function useExplained<Body>(path: string | undefined): Load<Body> {
  const [refused, setRefused] = useState<string | undefined>(undefined);
  const loaded = useLoad<Body>(path, refused === path ? undefined : everyMs);
  const { status = 0 } = loaded.error ?? {};
  useEffect(() => {
    if (status >= 400 && status < 500) setRefused(path);
  }, [status, path]);
  return loaded;
}

interface Key {
  readonly id: string;
  readonly name: string;
  readonly user_path?: string;
}

export function view(): View {
  const { path } = useCell(place);
  const id = path.split('/')[2];
  return id === undefined ? html`<${Question} />` : html`<${Past} id=${id} />`;
}

function Question(): View {
  const { query } = useCell(place);
  const keys = useLoad<readonly Key[]>('/admin/auth-keys');
  const asked = new URLSearchParams(
    names.flatMap((name) => {
      const value = query.get(name) ?? '';
      return value === '' ? [] : [[name, value]];
    }),
  );
  const path = asked.has('model') ? `/admin/explain?${asked}` : undefined;
  const explanation = useExplained<Explanation>(path);
  return html`<h1>Explain</h1>
    <p class="quiet">What would become of a request now, and why. Nothing is sent, and nothing is counted.</p>
    <${FilterForm} fields=${fieldsFor(keys.body ?? [])} label="The request" />
    ${
      path === undefined
        ? html`<${Empty} title="Who asks for what?">
            <p>Write the model or alias that a client asks for, and its user path; choose its key if it has one. The address of this page then shows the same to a colleague.</p>
          </${Empty}>`
        : html`<${Answer} of=${explanation} asked=${asked} />`
    }`;
}

function fieldsFor(keys: readonly Key[]): readonly FilterField[] {
  const options = keys.map(({ id, name, user_path = 'no user path' }) => [id, `${name} (${user_path})`] as const);
  return [
    { name: 'user_path', label: 'User path', placeholder: '/team-a/app', suggest: 'user_paths' },
    { name: 'model', label: 'Model or alias', placeholder: 'chat', suggest: 'models' },
    {
      name: 'key_id',
      label: 'Key',
      ...(keys.length === 0 || keys.length > mostOptions
        ? { placeholder: 'id; empty for the master key', suggest: 'keys' as const }
        : { options: [['', 'Master key'], ...options] }),
    },
    { name: 'endpoint', label: 'Endpoint', placeholder: '/v1/chat/completions' },
    {
      name: 'stream',
      label: 'Answer',
      options: [
        ['', 'In one piece'],
        ['true', 'As a stream'],
      ],
    },
    { name: 'thread', label: 'Conversation', placeholder: 'for session affinity' },
  ];
}

interface AnswerProps {
  readonly of: Load<Explanation>;
  readonly asked: URLSearchParams;
}

function Answer({ of, asked }: AnswerProps): View {
  if (of.error?.code === 'answered_by_proxies' && of.body === undefined)
    return html`<${AskProxy} what=${ownOfProxies} />`;
  return html`<${Loaded} of=${of} what="explanation">
    ${(explanation: Explanation) => html`<${Shown} explanation=${explanation} asked=${asked} />`}
  </${Loaded}>`;
}

function Shown({ explanation, asked }: { readonly explanation: Explanation; readonly asked?: URLSearchParams }): View {
  const { outcome, refusal, near_misses, instance, config_revision, server_time, request } = explanation;
  return html`<div class=${refusal === undefined ? 'verdict good' : 'verdict bad'} role="status">
      <p class="foreign"><strong>${outcome}</strong></p>
      <p class="small">
        <a href=${linkTo('/requests', { user_path: request.user_path, requested_model: request.model })}>Requests like this one</a>
        <${TestButton} text=${explanation.as_test} name=${`explained-${request.model}`} />
      </p>
    </div>
    <${Line} explanation=${explanation} />
    ${
      near_misses.length > 0 &&
      html`<section class="card">
        <h2>What almost holds</h2>
        <ul class="list near">
          ${near_misses.map(
            (miss) => html`<li key=${`${miss.kind} ${miss.name} ${miss.says}`}>
              <span><strong class="foreign">${miss.name}</strong> <span class="small quiet">${miss.kind}</span></span>
              <span class="foreign">${miss.says}</span>
              <span class="small quiet"><${OriginText} of=${miss} /></span>
            </li>`,
          )}
        </ul>
      </section>`
    }
    <p class="small quiet">
      By the proxy <code>${instance}</code> at <${TimeText} at=${server_time} />, configuration <code>${config_revision}</code>. Breakers are its own, and so are the counters of rules that no fleet counts.
      ${asked !== undefined && html` With curl: <code>GET /admin/explain?${asked.toString()}</code>`}
    </p>`;
}

function Past({ id }: { readonly id: string }): View {
  const request = useExplained<ExplainedRequest>(`/admin/explain/${encodeURIComponent(id)}`);
  return html`<h1>Explained request</h1>
    ${
      request.error?.code === 'answered_by_proxies'
        ? html`<${AskProxy} what=${ownOfProxies} />`
        : html`<${Loaded} of=${request} what="explanation">
            ${(body: ExplainedRequest) => html`<${Became} of=${body} />${body.explanation !== undefined && html`<${Shown} explanation=${body.explanation} />`}`}
          </${Loaded}>`
    }`;
}
