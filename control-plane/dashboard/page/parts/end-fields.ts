// The fields for why a change is made, and when it ends by itself.
import { html, type View } from '../html.ts';
import { SelectField, TextField } from './fields.ts';

export interface Ending {
  readonly reason: string;
  /** `` for none, `at` for a moment, else a length such as `8h`. */
  readonly end: string;
  /** The local time of `at`. */
  readonly endAt: string;
}

export interface EndFieldsProps {
  readonly draft: Ending;
  readonly change: (change: Partial<Ending>) => void;
  /** It must end by itself. */
  readonly mustEnd?: boolean;
}

const ends: readonly (readonly [value: string, text: string])[] = [
  ['', 'Does not end by itself'],
  ['30m', 'In 30 minutes'],
  ['1h', 'In an hour'],
  ['2h', 'In 2 hours'],
  ['8h', 'In 8 hours'],
  ['1d', 'In a day'],
  ['7d', 'In 7 days'],
  ['at', 'At a time'],
];

export function EndFields({ draft: { reason, end, endAt }, change, mustEnd = false }: EndFieldsProps): View {
  const options = mustEnd ? ends.filter(([value]) => value !== '') : ends;
  return html`<div class="fields">
    <${TextField} label="Reason" name="reason" value=${reason} placeholder="Shown to other operators" onChange=${(value: string) => change({ reason: value })} />
    <${SelectField} label="End" name="end" value=${end} options=${options} onChange=${(value: string) => change({ end: value })} />
    ${end === 'at' && html`<${TextField} label="Ends at (your time)" name="endAt" type="datetime-local" value=${endAt} onChange=${(value: string) => change({ endAt: value })} />`}
  </div>`;
}
