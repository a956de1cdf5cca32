// The actions of a row that shows a rule or a budget.
import type { Role } from '../../../../domain/keys/role.ts';
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

const offered: Readonly<Record<RowActionsProps['source'], readonly (readonly [ManagedAction, string, Role?])[]>> = {
  config: [
    ['override', 'Override', 'operator'],
    ['yaml', 'YAML'],
    ['reset', 'Reset', 'operator'],
  ],
  manual: [
    ['edit', 'Edit', 'operator'],
    ['reset', 'Reset', 'operator'],
    ['delete', 'Delete', 'operator'],
  ],
};

export function RowActions({ source, title, act }: RowActionsProps): View {
  return html`<${RowButtons} name=${title} offered=${offered[source]} onChoose=${act} />`;
}
