// The README of examples/secrets, as its reader does it: a key in a file, and one in a Vault, which comes later and goes down.
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { startFakeVault } from '../support/fake-vault.ts';
import { commandsOf, runPage } from '../support/pages.ts';
import { temporaryDirectory } from '../support/teardown.ts';
import { openTerminal, startLocal } from '../support/terminal.ts';
import { waitFor } from '../support/wait-for.ts';

const readme = 'examples/secrets/README.md';

await test('secrets are in force when they come, and stay so when their vault is down', async (t) => {
  const home = temporaryDirectory(t, 'secrets');
  const config = join(home, 'config');
  cpSync('examples/secrets/config', config, { recursive: true });
  const file = join(config, 'providers.yaml');
  writeFileSync(file, readFileSync(file, 'utf8').replace('./data/secrets', join(home, 'data')));
  const block = commandsOf(readme).find(({ text }) => text.includes('vault kv put'))?.text ?? '';
  const [, token = ''] = /-dev-root-token-id=(\S+)/.exec(block) ?? [];
  const [, path = '', name = '', value] = /vault kv put secret\/(\S+) (\w+)=(\S+)/.exec(block) ?? [];
  t.match(block, new RegExp(`VAULT_TOKEN=${token} npm start -- secrets$`, 'm'));
  const vault = await startFakeVault(t);
  vault.tokens.add(token);

  const env = { VAULT_ADDR: vault.url, VAULT_TOKEN: token, GATEWAY_SECRET_REFRESH_MS: '1000', GATEWAY_CONFIG: config };
  const { places } = await startLocal(t, home, env, 'secrets');
  const paste = openTerminal(t, places);
  // Two seconds are less than they take on a busy machine.
  const came = 'until [ "$(ask demo)" = 200 ]; do sleep 0.1; done';
  await runPage(t, readme, (commands) => paste(commands.replace('sleep 2', came)));

  const ask = () => paste('ask demo-of-vault');
  t.equal(await ask(), '404\n', 'nothing has been put into the vault');
  vault.values.set(`secret/data/${path}`, { [name]: value });
  await waitFor('the secret', async () => (await ask()) === '200\n');
  vault.mood = 'reset';
  const before = vault.asked.length;
  await waitFor('another question', () => vault.asked.length > before);
  t.equal(await ask(), '200\n');
});
