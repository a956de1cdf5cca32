// The buttons of a row of a table, each named after the row.
import { html, type View } from '../html.ts';

export interface RowButtonsProps<Action extends string> {
  /** The name of the row, for screen readers. */
  readonly name: string;
  readonly offered: readonly (readonly [action: Action, text: string])[];
  readonly onChoose: (action: Action) => void;
}

export function RowButtons<Action extends string>({ name, offered, onChoose }: RowButtonsProps<Action>): View {
  return html`<div class="row-actions">
    ${offered.map(
      ([action, text]) =>
        html`<button class="row" key=${action} aria-label=${`${text}: ${name}`} onClick=${() => onChoose(action)}>${text}</button>`,
    )}
  </div>`;
}
