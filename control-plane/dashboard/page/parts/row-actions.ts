// The actions of a row that shows a rule or a budget.
import { html, type View } from '../html.ts';
import { RowButtons } from './row-buttons.ts';

/** Of a rule or a budget. */
export type ManagedAction = 'edit' | 'override' | 'yaml' | 'reset' | 'delete';

export interface RowActionsProps {
  /** The configuration is not changed here, but overridden. */
  readonly source: 'manual' | 'config';
  /** The title of the row, for screen readers. */
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
  return html`<${RowButtons} name=${title} offered=${offered[source]} onChoose=${act} />`;
}
