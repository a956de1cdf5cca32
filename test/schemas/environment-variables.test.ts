// The table of environment variables: the planes read exactly these, and an unset one has the default of the table.
import { test } from 'tap';
import { readEnvironment as readForControlPlane } from '../../control-plane/environment.ts';
import { readEnvironmentBudgets } from '../../gitops/assemble/environment-budgets.ts';
import { readEnvironmentRules } from '../../gitops/assemble/environment-rules.ts';
import { readEnvironment as readForProxy } from '../../proxy/environment.ts';
import { environmentVariables } from '../../schemas/environment-variables.ts';
import type { Variables } from '../../schemas/variables.ts';

const planes = [
  { plane: 'proxy', read: (variables: Variables) => readForProxy(variables, 'machine') },
  { plane: 'control plane', read: readForControlPlane },
] as const;
const masterKey = { GATEWAY_MASTER_KEY: 'sk-test-master-key-0123456789' };
const families = environmentVariables.filter(({ name }) => name.includes('<'));

/** The names that `read` asks for, sorted. */
function namesReadBy(read: (variables: Variables) => unknown): string[] {
  const asked = new Set<string>();
  const recording = new Proxy<Record<string, string | undefined>>(masterKey, {
    get(target, name) {
      asked.add(String(name));
      return Reflect.get(target, name) as unknown;
    },
  });
  read(recording);
  return [...asked].sort();
}

for (const { plane, read } of planes) {
  await test(`the ${plane} reads exactly the variables of the table`, async (t) => {
    const declared = environmentVariables
      .filter((variable) => ['both', plane].includes(variable.readBy) && !families.includes(variable))
      .map(({ name }) => name);
    const names = namesReadBy((variables) => {
      read(variables);
      readEnvironmentRules(variables, new Set());
      readEnvironmentBudgets(variables, new Set());
    });
    t.strictSame(names, declared.sort());
  });

  await test(`an unset variable of the ${plane} has the default in the table`, async (t) => {
    const settings = (variables: Variables) => {
      const { environment, problems } = read({ ...masterKey, ...variables }) as Record<string, object | undefined>;
      return { ...environment, problems, variables: undefined };
    };
    const unset = settings({});
    t.strictSame(
      environmentVariables.filter(
        ({ name, default: value }) =>
          value !== undefined && JSON.stringify(settings({ [name]: value })) !== JSON.stringify(unset),
      ),
      [],
    );
  });
}

await test('the families of the table are those that give rules and budgets', async (t) => {
  t.equal(families.length, 3);
  for (const { name } of families) {
    const variable = name.replace(/<.*>/, 'A');
    const isBudget = name.includes('BUDGET');
    const { given, problems } = isBudget
      ? readEnvironmentBudgets({ [variable]: 'daily=1' }, new Set())
      : readEnvironmentRules({ [variable]: 'rpm=1' }, new Set());
    t.strictSame({ rules: given.length, problems }, { rules: 1, problems: [] }, name);
  }
});
