// How much of a cap is used and set aside, as a bar that moves.
import { compact, count } from '../format.ts';
import { html, type View } from '../html.ts';

export interface MeterProps {
  readonly used: number;
  /** What open requests have set aside beside it; absent: nothing. */
  readonly reserved?: number;
  readonly cap: number;
  /** The counted unit: `requests`. */
  readonly unit: string;
  /** Of what, for screen readers: `/team-a, minute`. */
  readonly label: string;
}

export function Meter({ used, reserved = 0, cap, unit, label }: MeterProps): View {
  const partOf = (amount: number): number => (cap === 0 ? 1 : Math.min(1, amount / cap));
  const part = partOf(used);
  const taken = partOf(used + reserved);
  const level = taken >= 1 ? 'full' : taken >= 0.8 ? 'high' : 'low';
  const aside = reserved === 0 ? '' : `, ${count(reserved)} set aside by open requests`;
  const text = `${count(used)} of ${count(cap)} ${unit}${aside}`;
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
      ${reserved > 0 && html`<div class="meter-fill reserved" style=${{ width: `${((taken - part) * 100).toFixed(2)}%` }}></div>`}
    </div>
    <span class="meter-text" aria-hidden="true">${compact(used)}${reserved > 0 && html` + ${compact(reserved)}`} / ${compact(cap)} ${unit}</span>
  </div>`;
}
