// The cells of a target: its breaker, its calls, its speed, the limits of its provider.
import { compact, latency, share } from '../../format.ts';
import { html, type View } from '../../html.ts';
import { Badge, type Tone } from '../../parts/badge.ts';
import { Meter } from '../../parts/meter.ts';
import { Countdown, TimeText } from '../../parts/time-text.ts';
import { DrainMark } from './drain.ts';
import {
  blockedViews,
  highFirstByte,
  learnedLimits,
  meanFirstByte,
  nameOf,
  type Target,
  type TargetView,
} from './fleet.ts';

const obstacles: Readonly<
  Record<NonNullable<TargetView['obstacle']>, readonly [text: string, tone: Tone, says: string]>
> = {
  breaker_open: ['breaker open', 'bad', 'It fails, so others are asked in its place'],
  breaker_half_open: ['breaker half open', 'warn', 'The next request finds out whether it works again'],
  resting: ['resting', 'warn', 'The provider asked to be left alone for a while'],
  key_refused: ['key refused', 'bad', 'The provider refuses the key of the gateway'],
  account_used_up: ['no money left', 'bad', 'The provider says that the account of the key has no money left'],
  model_unavailable: ['no such model', 'bad', 'The provider says that it has no such model now'],
  quota_used_up: ['limit used up', 'warn', 'Its answers said that its rate limit for us is used up'],
};

interface OfTarget {
  readonly of: Target;
}

/** Which proxies ask it, and until when the others do not. */
export function Standing({ of }: OfTarget): View {
  if (of.drain !== undefined) return html`<div class="cell"><${DrainMark} drain=${of.drain} /></div>`;
  const blocked = blockedViews(of);
  const [first] = blocked;
  if (first?.obstacle === undefined)
    return html`<${Badge} tone="good" title="No proxy prefers others to it">usable</${Badge}>`;
  const [text, tone, says] = obstacles[first.obstacle];
  const where = of.proxies.length === 1 ? '' : ` on ${blocked.length} of ${of.proxies.length}`;
  const title = `${says}: ${blocked.map(({ instance }) => instance).join(', ')}`;
  return html`<div class="cell">
    <span class="cell-line"><${Badge} tone=${tone} title=${title}>${`${text}${where}`}</${Badge}></span>
    ${first.since !== undefined && html`<span class="quiet small">since <${TimeText} at=${first.since} /></span>`}
    ${first.until !== undefined && html`<span class="quiet small">asked again in <${Countdown} at=${first.until} over="a moment" /></span>`}
  </div>`;
}

/** `all`: the calls of all targets that it is compared with. */
export function Calls({ of: { calls, failures }, all }: OfTarget & { readonly all: number }): View {
  if (calls === 0) return html`<span class="quiet">none</span>`;
  return html`<div class="cell">
    <span>${compact(calls)} <span class="quiet small">${share(calls / all)}</span></span>
    ${failures > 0 && html`<span class="small failed">${compact(failures)} failed</span>`}
  </div>`;
}

export function Speed({ of }: OfTarget): View {
  const [mean, high] = [meanFirstByte(of), highFirstByte(of)];
  if (mean === undefined) return html`<span class="quiet">–</span>`;
  return html`<div class="cell">
    <span>${latency(mean * 1e6)}</span>
    ${high !== undefined && html`<span class="quiet small" title="95 of 100 first bytes came within this time">p95 ${latency(high * 1e6)}</span>`}
  </div>`;
}

export function Limits({ of }: OfTarget): View {
  const limits = learnedLimits(of);
  if (limits.length === 0) return html`<span class="quiet">none told</span>`;
  return html`<div class="cell">
    ${limits.map(({ dimension, remaining, limit }) => {
      const unit = dimension.replace('_', ' ');
      return limit === undefined
        ? html`<span key=${dimension} class="small">${compact(remaining)} ${unit} left</span>`
        : html`<${Meter} key=${dimension} used=${Math.max(0, limit - remaining)} cap=${limit} unit=${unit} label=${nameOf(of)} />`;
    })}
  </div>`;
}
