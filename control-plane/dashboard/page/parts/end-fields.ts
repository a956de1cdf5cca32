// The fields for why a change was made and when it ends by itself, and the frame of any field.
import { useId } from 'preact/hooks';
import { html, type Inside, type View } from '../html.ts';
import { textOf } from './dialog.ts';

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
  /** The name of the field that is wrong. */
  readonly wrong: string | undefined;
}

const ends: readonly (readonly [value: string, text: string])[] = [
  ['', 'Does not end by itself'],
  ['30m', 'In 30 minutes'],
  ['1h', 'In an hour'],
  ['8h', 'In 8 hours'],
  ['1d', 'In a day'],
  ['7d', 'In 7 days'],
  ['at', 'At a time'],
];

export function EndFields({ draft: { reason, end, endAt }, change, wrong }: EndFieldsProps): View {
  return html`<div class="fields">
    <${Field} label="Reason">${(id: string) => html`<input id=${id} name="reason" value=${reason} placeholder="Shown to other operators" autocomplete="off" aria-invalid=${wrong === 'reason'} onInput=${(event: Event) => change({ reason: textOf(event) })} />`}</${Field}>
    <${Field} label="End">${(
      id: string,
    ) => html`<select id=${id} name="end" value=${end} onChange=${(event: Event) => change({ end: textOf(event) })}>
      ${ends.map(([value, text]) => html`<option value=${value} key=${value}>${text}</option>`)}
    </select>`}</${Field}>
    ${end === 'at' && html`<${Field} label="Ends at (your time)">${(id: string) => html`<input id=${id} name="endAt" type="datetime-local" value=${endAt} aria-invalid=${wrong === 'endAt'} onInput=${(event: Event) => change({ endAt: textOf(event) })} />`}</${Field}>`}
  </div>`;
}

/** A label with its field, which gets the id. */
export function Field({
  label,
  children,
}: {
  readonly label: string;
  readonly children: (id: string) => Inside;
}): View {
  const id = useId();
  return html`<div class="field"><label for=${id}>${label}</label>${children(id)}</div>`;
}
