// References to secrets in a configuration: which files they cannot name, and how many there may be.
import { test } from 'tap';
import { loadFiles } from '../../gitops/assemble/load.ts';

/** The problems of one file with these providers. */
function problemsOf(providers: object, environment: Record<string, string> = {}) {
  const bytes = Buffer.from(JSON.stringify({ providers }));
  const context = { environment, variables: 'error', entitlements: new Set<string>() } as const;
  return loadFiles([{ name: 'a.yaml', path: 'a.yaml', bytes }], context).problems;
}

const served = { type: 'openai', models: ['m'] };

await test('a file of the gateway itself is no secret of a provider, however its path is written', async (t) => {
  const naming = (path: string) => ({ ...served, headers: { 'x-key': `\${file:${path}}` } });
  const providers = {
    a: naming('./keys/../keys/master'),
    b: naming('./keys/other'),
    c: { ...served, api_key_file: 'keys/vault' },
  };
  const problems = problemsOf(providers, {
    GATEWAY_MASTER_KEY_FILE: 'keys/master',
    VAULT_TOKEN_FILE: `${process.cwd()}/keys/vault`,
    OTHER_FILE: 'keys/other',
  });
  t.match(problems, [
    {
      path: 'providers.a.headers.x-key',
      message: /^names the file of GATEWAY_MASTER_KEY_FILE, which belongs to the gateway/,
    },
    { path: 'providers.c.api_key_file', message: /^names the file of VAULT_TOKEN_FILE/ },
  ]);
  t.equal(problems.length, 2);
});

await test('a configuration holds at most 500 references', async (t) => {
  const headers = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, `\${file:/secrets/${index}}`]));
  t.same(problemsOf({ a: { ...served, headers: headers(500) } }), []);
  t.match(problemsOf({ a: { ...served, headers: headers(501) } }), [
    { file: 'a.yaml', message: 'holds 501 references to secrets in all, expected at most 500' },
  ]);
});
