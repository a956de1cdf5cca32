// Shows its children to those whose role may do what they are for.
import type { ComponentChildren } from 'preact';
import type { Role } from '../../../../domain/keys/role.ts';
import { useCell } from '../cell.ts';
import { html, type View } from '../html.ts';
import { session } from '../session-state.ts';

const roles: readonly Role[] = ['viewer', 'operator', 'admin'];

/** Whether the viewer may do what needs such a role. */
export function useMay(): (needed: Role) => boolean {
  const { who } = useCell(session);
  return (needed) => who !== undefined && roles.indexOf(who.role) >= roles.indexOf(needed);
}

export interface ForRoleProps {
  readonly needs: Role;
  /** Only of operators of the whole gateway. */
  readonly isWhole?: boolean;
  readonly children?: ComponentChildren;
}

export function ForRole({ needs, isWhole = false, children }: ForRoleProps): View {
  const { who } = useCell(session);
  const may = useMay();
  return may(needs) && !(isWhole && who?.scoped !== false) ? html`${children}` : null;
}
