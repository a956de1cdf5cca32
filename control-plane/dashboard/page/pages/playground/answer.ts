// The answer of the playground as it comes, and afterwards what it took, what it cost, and what is left of the limits.
import { useEffect, useState } from 'preact/hooks';
import { count, dollars, duration, latency } from '../../format.ts';
import { html, type View } from '../../html.ts';
import { useLoad } from '../../load.ts';
import { Badge, type Tone } from '../../parts/badge.ts';
import { CopyButton } from '../../parts/copy-button.ts';
import { linkTo } from '../../router.ts';
import type { Entry, EntryPage } from '../requests/entry.ts';
import type { Run } from './ask-model.ts';
import { endpoint } from './draft.ts';
import type { TrialKey } from './trial-key.ts';

/** One question and its answer. */
export interface Asked {
  readonly run: Run;
  /** That was asked for. */
  readonly model: string;
  /** The key that was made for it here; a typed one is known by its record alone. */
  readonly issued: TrialKey['issued'];
}

interface OfAsked {
  readonly of: Asked;
}

const standings: Readonly<Record<Run['standing'], readonly [text: string, tone: Tone]>> = {
  waiting: ['waiting for the answer', 'info'],
  answering: ['answering', 'info'],
  done: ['answered', 'good'],
  failed: ['failed', 'bad'],
  stopped: ['stopped', 'warn'],
};

export function AnswerCard({ of }: OfAsked): View {
  const { run } = of;
  const [text, tone] = standings[run.standing];
  const { status } = run;
  const isOver = run.standing !== 'waiting' && run.standing !== 'answering';
  return html`<section class="card answer" aria-label="Answer">
    <div class="page-head">
      <h2>Answer</h2>
      <div class="badges" role="status"><${Badge} tone=${tone}>${isOver && status !== undefined && status >= 400 ? `${status} ${run.code ?? ''}` : text}</${Badge}></div>
    </div>
    ${run.thoughts !== '' && html`<details><summary class="small">Thoughts</summary><p class="said quiet">${run.thoughts}</p></details>`}
    ${run.text !== '' && html`<p class="said answer-text">${run.text}</p>`}
    ${run.problem !== undefined && html`<p class="problem foreign" role="alert">${run.problem}</p>`}
    ${run.standing === 'done' && run.text === '' && html`<p class="quiet">The model said nothing: it may have called a tool, or used all its tokens for thoughts.</p>`}
    ${isOver && html`<${Facts} of=${of} />`}
    ${run.text !== '' && isOver && html`<${CopyButton} text=${run.text} what="answer" />`}
  </section>`;
}

/** How often the record of a request is looked for, and for how long. */
const [everyMs, mostLooks] = [1_000, 10];

/** The record of the request, once it is there; undefined until then, and for who may not see it. */
function useEntry(requestId: string | undefined): { readonly entry: Entry | undefined; readonly isGivenUp: boolean } {
  const [looks, setLooks] = useState(0);
  const isGivenUp = looks > mostLooks;
  const query = new URLSearchParams({ search: requestId ?? '', days: '2', limit: '1' });
  const isAsked = requestId !== undefined && !isGivenUp;
  const { body, loadedMs } = useLoad<EntryPage>(isAsked ? `/admin/audit/log?${query}` : undefined, everyMs);
  const entry = body?.entries[0];
  useEffect(() => setLooks(0), [requestId]);
  useEffect(() => {
    if (loadedMs > 0 && entry === undefined) setLooks((before) => before + 1);
  }, [loadedMs, entry]);
  return { entry, isGivenUp };
}

function Facts({ of }: OfAsked): View {
  const { run } = of;
  const { headers, usage, firstMs, tookMs } = run;
  const requestId = headers?.get('x-request-id') ?? undefined;
  const { entry, isGivenUp } = useEntry(requestId);
  const explained = explanationOf(of, entry);
  const cost = entry?.usage?.total_cost;
  const kept = headers?.get('x-gateway-cache');
  return html`<dl class="facts">
      ${run.model !== undefined && html`<dt>Answered by</dt><dd class="foreign">${entry?.resolved_model ?? run.model}</dd>`}
      ${usage !== undefined && html`<dt>Tokens</dt><dd>${count(usage.prompt_tokens ?? 0)} in, ${count(usage.completion_tokens ?? 0)} out</dd>`}
      <dt>Cost</dt><dd>${cost === undefined ? html`<span class="quiet">${entry !== undefined ? 'nothing that is counted' : isGivenUp ? 'not among the requests that you see' : 'being recorded…'}</span>` : dollars(cost)}</dd>
      <dt>Time</dt><dd>${firstMs === undefined ? '' : `first byte after ${latency(firstMs * 1e6)}, `}whole ${latency((tookMs ?? 0) * 1e6)}</dd>
      ${kept !== null && kept !== undefined && html`<dt>Cache</dt><dd>${kept}</dd>`}
      ${headers !== undefined && html`<${LimitsLeft} headers=${headers} />`}
    </dl>
    <p class="small answer-links">
      ${explained !== undefined && html`<a href=${explained}>Explain this</a>`}
      ${entry !== undefined && html` · <a href=${linkTo(`/requests/${entry.id}`)}>The request as it is recorded</a>`}
    </p>`;
}

/**
 * Where it is explained. For the master key the proxy has kept the decision itself; else what would become of the same request now. Undefined:
 * it is not known yet whose request it was.
 */
function explanationOf({ run, model, issued }: Asked, entry: Entry | undefined): string | undefined {
  const kept = run.headers?.get('x-gateway-explain-id') ?? '';
  if (kept !== '') return linkTo(`/explain/${kept}`);
  if (issued === undefined && entry === undefined) return undefined;
  const { user_path = issued?.user_path, auth_key_id: key_id = issued?.id } = entry ?? {};
  return linkTo('/explain', { user_path, model, key_id, endpoint });
}

function LimitsLeft({ headers }: { readonly headers: Headers }): View {
  const left = (['requests', 'tokens'] as const).flatMap((unit) => {
    const [cap, rest, reset] = ['limit', 'remaining', 'reset'].map((name) =>
      headers.get(`x-ratelimit-${name}-${unit}`),
    );
    if (!cap || !rest) return [];
    return [
      `${count(Number(rest))} of ${count(Number(cap))} ${unit}${reset ? `, again in ${duration(Number(reset) * 1000)}` : ''}`,
    ];
  });
  const wait = headers.get('retry-after');
  return html`<dt>Limits left</dt>
    <dd>${left.length === 0 ? 'no rule limits this key' : left.map((text) => html`<div key=${text}>${text}</div>`)}</dd>
    ${wait !== null && html`<dt>Retry after</dt><dd>${duration(Number(wait) * 1000)}</dd>`}`;
}
