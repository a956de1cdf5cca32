// The buttons of a row: what can be done with what it shows.
import { html, type View } from '../html.ts';

/** Of a rule or a budget. */
export type ManagedAction = 'edit' | 'override' | 'yaml' | 'reset' | 'delete';

export interface RowActionsProps {
  /** The configuration is not changed here, but overridden. */
  readonly source: 'manual' | 'config';
  /** What the row shows, for screen readers. */
  readonly title: string;
  readonly act: (action: ManagedAction) => void;
}

const offered: Readonly<Record<RowActionsProps['source'], readonly (readonly [ManagedAction, string])[]>> = {
  config: [
    ['override', 'Override'],
    ['yaml', 'YAML'],
    ['reset', 'Reset'],
  ],
  manual: [
    ['edit', 'Edit'],
    ['reset', 'Reset'],
    ['delete', 'Delete'],
  ],
};

export function RowActions({ source, title, act }: RowActionsProps): View {
  return html`<div class="row-actions">
    ${offered[source].map(
      ([action, text]) =>
        html`<button class="row" key=${action} aria-label=${`${text}: ${title}`} onClick=${() => act(action)}>${text}</button>`,
    )}
  </div>`;
}
