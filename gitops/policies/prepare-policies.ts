// The policies of a directory, ready to be asked while its configuration is loaded.
import type { LoadContext } from '../assemble/load-context.ts';
import type { Problem } from '../read/problem.ts';
import { checkPolicies, type PolicyFindings } from './check-policies.ts';
import { readPolicies } from './read-policies.ts';

export interface PreparedPolicies {
  readonly count: number;
  /** Mistakes in their files. */
  readonly problems: readonly Problem[];
  /** For the loader; undefined: there is none to ask. */
  readonly examine: LoadContext['examine'];
  /** Empty until a configuration is loaded, and when it has problems. */
  readonly findings: PolicyFindings;
}

/** `shown` stands for the directory in paths for messages; `today`: YYYY-MM-DD. Never rejects. */
export async function preparePolicies(directory: string, shown: string, today?: string): Promise<PreparedPolicies> {
  const { policies, problems } = await readPolicies(directory, shown);
  const findings: PolicyFindings = { problems: [], warnings: [] };
  const examine: LoadContext['examine'] = (examined) => {
    const { problems: breaches, warnings } = checkPolicies(policies, examined, today);
    findings.problems.push(...breaches);
    findings.warnings.push(...warnings);
  };
  return { count: policies.length, problems, examine: policies.length === 0 ? undefined : examine, findings };
}
