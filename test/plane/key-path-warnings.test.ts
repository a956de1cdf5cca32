// A variable that limits /team_b, beside keys of /team-b: one warning for both, in the words of the check of the files.
import { test } from 'tap';
import { managedKeys } from '../../domain/documents/kinds.ts';
import { written } from '../../domain/documents/managed-kind.ts';
import { authKey } from '../../domain/keys/auth-key.ts';
import { digestOf } from '../../domain/keys/secret.ts';
import { createKeyPathWarnings } from '../../plane/key-path-warnings.ts';

const keyOf = (id: string, userPath: string | undefined, enabled = true) =>
  written(
    managedKeys,
    id,
    authKey({
      id,
      name: 'a name',
      description: '',
      labels: [],
      allowedModels: [],
      userPath,
      anyUserPath: false,
      role: undefined,
      digest: digestOf(id),
      redactedValue: 'sk-gw-...0000',
      enabled,
      deactivatedAtMs: undefined,
      expiresAtMs: Number.POSITIVE_INFINITY,
      createdAtMs: 0,
      updatedAtMs: 0,
      createdBy: 'master_key',
    }),
  );

await test('a key of the path with hyphens is named beside the variable, once', (t) => {
  const said: string[] = [];
  const warn = createKeyPathWarnings(
    { SET_RATE_LIMIT_TEAM_B: 'rpm=4', SET_RATE_LIMIT_PLAIN: 'rpm=4', SET_PROVIDER_RATE_LIMIT_A_B: 'rpm=4' },
    { warn: (_, text) => void said.push(text ?? '') },
  );
  const others = [keyOf('1', '/team_b'), keyOf('2', '/plain'), keyOf('3', undefined), keyOf('4', '/team-b', false)];
  warn(others);
  t.same(said, []);
  for (let change = 0; change < 2; change += 1) warn([...others, keyOf('5', '/team-b/ann'), keyOf('6', '/team-b')]);
  t.same(said, [
    'SET_RATE_LIMIT_TEAM_B limits "/team_b", not "/team-b" of the key 5: an underscore in the name of a variable stays an underscore; limit paths with hyphens in the YAML files',
  ]);
  t.end();
});
