// The secret at an identity provider: its variable stays as written in both planes, so a proxy needs none and no configuration holds the value.
import { test } from 'tap';
import { expand } from '../../gitops/read/expand.ts';

await test('the variable of a client secret is filled in by neither plane', (t) => {
  const written = { identities: { company: { sign_in: { client_secret: `\${OIDC_SECRET}` } } } };
  for (const variables of ['error', 'warning', 'keep'] as const)
    for (const environment of [{}, { OIDC_SECRET: 'canary' }]) {
      const { value, errors, unset } = expand(written, environment, variables);
      t.strictSame({ value, errors, unset }, { value: written, errors: [], unset: [] });
    }
  t.end();
});
