// What the files are loaded with: the variables, the entitlements, and what may be left out.
import type { VariableMode } from '../read/expand.ts';
import type { Examined } from './examined.ts';

export interface LoadContext {
  /** The variables: values for `${VAR}`, rules and switches. */
  environment: Readonly<Record<string, string | undefined>>;
  variables: VariableMode;
  /** Paid features that are switched on, such as `quota_templates`. */
  entitlements: ReadonlySet<string>;
  /** The day, YYYY-MM-DD, for warnings about models that end; absent: none are given. */
  today?: string;
  /**
   * The providers that are left out, with a warning, when their keys cannot be used or a variable of theirs is not set; absent: that is a
   * problem. All where a start would fail otherwise, because one provider must not stop it; later those that are left out already, because an
   * edit must not end a provider that works.
   */
  leavesOut?: 'all' | ReadonlySet<string>;
  /** Is given the entries of the files before variables replace or leave out any, when they have no problems. Only where files are loaded in this thread. */
  examine?: (examined: Examined) => void;
}

export type LeavesOut = NonNullable<LoadContext['leavesOut']>;

/** Whether a mistake in the keys or variables of this provider leaves it out. */
export function mayLeaveOut({ leavesOut = new Set() }: Pick<LoadContext, 'leavesOut'>, name: string): boolean {
  return leavesOut === 'all' || leavesOut.has(name);
}
