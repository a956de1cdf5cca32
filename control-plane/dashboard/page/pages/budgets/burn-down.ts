// The rest of a budget over its window: its past, the even pace, and the forecast.
import { useId } from 'preact/hooks';
import { dollars } from '../../format.ts';
import { html, type View } from '../../html.ts';
import { useLoad } from '../../load.ts';
import { ErrorNote, Loading } from '../../parts/states.ts';
import { TimeText } from '../../parts/time-text.ts';
import { dayText, parseTime } from '../../time.ts';
import { type Budget, forecastOf, spanOf } from './budget.ts';

interface Bucket {
  /** The start of an hour. RFC 3339, UTC. */
  readonly date: string;
  readonly total_cost: number | null;
}

interface Point {
  readonly ms: number;
  /** US dollars that were left then. */
  readonly left: number;
}

export interface BurnDownProps {
  readonly budget: Budget;
  /** The time of the listing. Unix milliseconds. */
  readonly nowMs: number;
}

const hourMs = 3_600_000;
/** A shorter window has too few hours for a line. */
const shortestMs = 6 * hourMs;
const everyMs = 10_000;

export function BurnDown({ budget, nowMs }: BurnDownProps): View {
  const { scope, subject, effective_subject = subject, spent, per_child } = budget;
  const [startMs, endMs] = spanOf(budget);
  const isShown = spent !== undefined && endMs - startMs >= shortestMs;
  const query = new URLSearchParams({
    [scope === 'label' ? 'label' : 'user_path']: effective_subject,
    start_date: dayText(Math.max(startMs, nowMs - 30 * 24 * hourMs)),
    end_date: dayText(nowMs),
    interval: 'hourly',
  });
  const usage = useLoad<Bucket[]>(isShown ? `/admin/usage/daily?${query}` : undefined, everyMs);
  if (per_child && spent === undefined)
    return html`<p class="quiet">It is a template: every direct child of <code>${subject}</code> has this budget of its own. Filter by a user path below it to see what that child has spent.</p>`;
  if (spent === undefined) return html`<p class="quiet">What was spent is not known now.</p>`;
  if (!isShown) return html`<p class="quiet">The window is too short for a curve.</p>`;
  if (usage.body === undefined)
    return usage.error === undefined
      ? html`<${Loading} what="the curve" />`
      : html`<${ErrorNote} message=${usage.error.message} retry=${usage.reload} />`;
  return html`<${Curve} budget=${budget} nowMs=${nowMs} points=${pointsOf(usage.body, budget, nowMs)} />`;
}

/** The rest at the end of each hour, from the start of the window until now. */
function pointsOf(buckets: readonly Bucket[], budget: Budget, nowMs: number): Point[] {
  const [startMs] = spanOf(budget);
  const points: Point[] = [{ ms: startMs, left: budget.amount }];
  let left = budget.amount;
  for (const { date, total_cost } of buckets) {
    const endMs = parseTime(date) + hourMs;
    if (endMs <= startMs) continue;
    // Nothing was spent in the hours between.
    const last = points.at(-1);
    if (last !== undefined && endMs - hourMs > last.ms) points.push({ ms: endMs - hourMs, left });
    left -= total_cost ?? 0;
    points.push({ ms: Math.min(endMs, nowMs), left });
  }
  points.push({ ms: nowMs, left: budget.amount - (budget.spent ?? 0) });
  return points;
}

const width = 720;
const height = 200;

function Curve({ budget, nowMs, points }: BurnDownProps & { readonly points: readonly Point[] }): View {
  const title = useId();
  const { amount, spent = 0 } = budget;
  const [startMs, endMs] = spanOf(budget);
  const forecast = forecastOf(budget, nowMs);
  const least = Math.min(0, ...points.map(({ left }) => left), Math.max(-amount, amount - (forecast?.atEnd ?? 0)));
  const x = (ms: number): number => (width * (ms - startMs)) / (endMs - startMs);
  const y = (left: number): number => (height * (amount - left)) / (amount - least);
  const path = (line: readonly Point[]): string =>
    line.map(({ ms, left }) => `${x(ms).toFixed(1)},${y(left).toFixed(1)}`).join(' ');
  const ahead =
    forecast === undefined
      ? []
      : [
          { ms: nowMs, left: amount - spent },
          { ms: endMs, left: Math.max(least, amount - forecast.atEnd) },
        ];
  return html`<figure class="burn">
    <svg viewBox=${`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-labelledby=${title}>
      <title id=${title}>${`${dollars(amount - spent)} of ${dollars(amount)} are left`}</title>
      <line class="burn-zero" x1="0" x2=${width} y1=${y(0)} y2=${y(0)} />
      <line class="burn-even" x1="0" y1="0" x2=${width} y2=${y(0)} />
      <line class="burn-now" x1=${x(nowMs)} x2=${x(nowMs)} y1="0" y2=${height} />
      <polygon class="burn-area" points=${`0,${y(0)} ${path(points)} ${x(nowMs).toFixed(1)},${y(0)}`} />
      <polyline class="burn-left" points=${path(points)} />
      <polyline class="burn-ahead" points=${path(ahead)} />
    </svg>
    <figcaption class="small quiet">
      <span><${TimeText} ms=${startMs} /></span>
      <span class="legend"><span><span class="swatch a" aria-hidden="true"></span>left</span><span><span class="swatch burn-dash" aria-hidden="true"></span>at this pace</span><span><span class="swatch burn-grey" aria-hidden="true"></span>spent evenly</span></span>
      <span><${TimeText} ms=${endMs} /></span>
    </figcaption>
  </figure>
  <details class="plot-table"><summary>The curve as a table</summary>
    <div class="table-scroll" tabindex="0" role="region" aria-label="What was left"><table>
      <thead><tr><th scope="col">Time</th><th scope="col" class="number">Left</th></tr></thead>
      <tbody>${points.map(({ ms, left }, row) => html`<tr key=${row}><td><${TimeText} ms=${ms} /></td><td class="number">${dollars(left)}</td></tr>`)}</tbody>
    </table></div>
  </details>`;
}
