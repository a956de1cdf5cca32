// Where the time of a request went: its whole length, and each call of a provider within it.
import { latency } from '../../format.ts';
import { html, type View } from '../../html.ts';
import { Badge } from '../../parts/badge.ts';
import { parseTime } from '../../time.ts';
import type { Entry } from './entry.ts';

type Attempt = Entry['data']['attempts'][number];

interface Bar {
  readonly attempt: Attempt;
  /** Of the length of the request, from 0 to 1. */
  readonly start: number;
  readonly length: number;
  readonly startNs: number;
}

export function Waterfall({ entry }: { readonly entry: Entry }): View {
  const { duration_ns, first_byte_ns, data } = entry;
  const bars = barsOf(entry);
  return html`<section class="card">
    <h2>Time</h2>
    <div class="falls" role="table" aria-label="Time of the request and its calls">
      <div class="fall" role="row">
        <span role="rowheader" class="fall-name">Request</span>
        <span class="fall-track" role="cell"><span class="fall-bar whole" style=${{ left: '0%', width: '100%' }}></span><span class="unseen">from the start</span></span>
        <span role="cell" class="fall-time">${latency(duration_ns)}</span>
      </div>
      ${bars.map((bar) => html`<${Fall} key=${bar.attempt.seq} bar=${bar} />`)}
    </div>
    ${data.attempts.length === 0 && html`<p class="quiet small">No provider was asked.</p>`}
    ${first_byte_ns !== undefined && html`<p class="quiet small">The first byte of the answer came after ${latency(first_byte_ns)}.</p>`}
    ${bars.filter(({ attempt }) => !attempt.success).map((bar) => html`<${Failure} key=${bar.attempt.seq} attempt=${bar.attempt} />`)}
  </section>`;
}

function barsOf({ timestamp, duration_ns, data }: Entry): Bar[] {
  const begunMs = parseTime(timestamp);
  const whole = Math.max(duration_ns, 1);
  return data.attempts.map((attempt) => {
    const length = Math.min(1, attempt.duration_ns / whole);
    // Its start is known to the millisecond only; no call ends after the request.
    const start = Math.min(1 - length, Math.max(0, ((parseTime(attempt.started_at) - begunMs) * 1e6) / whole));
    return { attempt, start, length, startNs: start * whole };
  });
}

function Fall({ bar: { attempt, start, length, startNs } }: { readonly bar: Bar }): View {
  const { kind, provider_name, model, success, status_code, duration_ns, error_code } = attempt;
  const outcome = status_code ?? error_code ?? (success ? 'answered' : 'no answer');
  return html`<div class="fall" role="row">
    <span role="rowheader" class="fall-name">
      <span class="foreign">${provider_name}${model === '' ? '' : `/${model}`}</span>
      <${Badge}>${kind}</${Badge}> <${Badge} tone=${success ? 'good' : 'bad'}>${outcome}</${Badge}>
    </span>
    <span class="fall-track" role="cell">
      <span class=${success ? 'fall-bar' : 'fall-bar failed'} style=${{ left: `${(start * 100).toFixed(2)}%`, width: `${(length * 100).toFixed(2)}%` }}></span>
      <span class="unseen">from ${latency(startNs)} on</span>
    </span>
    <span role="cell" class="fall-time">${latency(duration_ns)}</span>
  </div>`;
}

function Failure({ attempt }: { readonly attempt: Attempt }): View {
  const { seq, provider_name, error_code, error_message, response_body } = attempt;
  return html`<div class="failure">
    <p class="small"><strong>Call ${seq}, ${provider_name}:</strong> <span class="foreign">${error_message ?? error_code ?? 'it failed'}</span></p>
    ${response_body !== undefined && html`<details><summary class="small">What the provider answered</summary><pre tabindex="0">${recordedText(response_body)}</pre></details>`}
  </div>`;
}

/** A recorded body as text. */
export function recordedText(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body, null, 2);
}
