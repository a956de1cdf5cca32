// A moment in the viewer's zone, with UTC when the pointer rests on it; and how long it is until then.
import { duration } from '../format.ts';
import { html, type View } from '../html.ts';
import { localTime, parseTime, useSecond, utcTime } from '../time.ts';

/** `at` in RFC 3339, or `ms` in Unix milliseconds. */
export function TimeText({ at, ms }: { readonly at?: string; readonly ms?: number }): View {
  const moment = ms ?? parseTime(at ?? '');
  const utc = utcTime(moment);
  return html`<time dateTime=${utc} title=${`${utc} (UTC)`}>${localTime(moment)}</time>`;
}

/** `3 h 12 min`, counted down every second; `over` once it is past. */
export function Countdown({ at, over = 'over' }: { readonly at: string; readonly over?: string }): View {
  const end = parseTime(at);
  const left = end - useSecond();
  const utc = utcTime(end);
  return html`<time class="countdown" dateTime=${utc} title=${`${localTime(end)}, ${utc} (UTC)`}>
    ${left > 0 ? duration(left) : over}
  </time>`;
}
