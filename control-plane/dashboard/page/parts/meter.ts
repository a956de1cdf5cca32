// How much of a cap is used, as a bar that moves.
import { compact, count } from '../format.ts';
import { html, type View } from '../html.ts';

export interface MeterProps {
  readonly used: number;
  readonly cap: number;
  /** The counted unit: `requests`. */
  readonly unit: string;
  /** Of what, for screen readers: `/team-a, minute`. */
  readonly label: string;
}

export function Meter({ used, cap, unit, label }: MeterProps): View {
  const part = cap === 0 ? 1 : Math.min(1, used / cap);
  const level = part >= 1 ? 'full' : part >= 0.8 ? 'high' : 'low';
  const text = `${count(used)} of ${count(cap)} ${unit}`;
  return html`<div class="meter-line">
    <div
      class=${`meter ${level}`}
      role="meter"
      aria-label=${`${label}: ${unit}`}
      aria-valuemin="0"
      aria-valuemax=${cap}
      aria-valuenow=${Math.min(used, cap)}
      aria-valuetext=${text}
      title=${text}
    >
      <div class="meter-fill" style=${{ width: `${(part * 100).toFixed(2)}%` }}></div>
    </div>
    <span class="meter-text" aria-hidden="true">${compact(used)} / ${compact(cap)} ${unit}</span>
  </div>`;
}
