// Azure Key Vault: https://learn.microsoft.com/rest/api/keyvault/secrets/get-secret/get-secret
import { ask } from './ask.ts';
import type { CloudAccess } from './cloud-access.ts';
import { type ReadSecret, VaultTrouble } from './read-secret.ts';
import type { AzureSettings } from './settings.ts';

const apiVersion = '7.4';

export function azureVault({ address }: AzureSettings, access: CloudAccess): ReadSecret {
  return async (name, signal) => {
    const [vault = '', ...secret] = name.split('/');
    const url = `${address.replace('{vault}', vault)}/secrets/${secret.join('/')}?api-version=${apiVersion}`;
    const headers = { authorization: `Bearer ${await access.token('azure', signal)}` };
    const { status, body } = await ask('Azure', { url, headers, signal });
    if (status === 401) access.refused('azure');
    if (status === 404) throw new VaultTrouble('is not in Key Vault (404)');
    if (status === 403)
      throw new VaultTrouble('cannot be read: Azure answers 403: its identity needs the role Key Vault Secrets User');
    if (status !== 200) throw new VaultTrouble(`cannot be read: Azure answers ${status}`);
    const { value } = body;
    if (typeof value !== 'string') throw new VaultTrouble('cannot be read: Azure gives no value');
    return value;
  };
}
