// Google Secret Manager: https://docs.cloud.google.com/secret-manager/docs/reference/rest/v1/projects.secrets.versions/access
import { ask } from './ask.ts';
import type { CloudAccess } from './cloud-access.ts';
import { type ReadSecret, VaultTrouble } from './read-secret.ts';
import type { GoogleSettings } from './settings.ts';

export function googleVault({ endpoint }: GoogleSettings, access: CloudAccess): ReadSecret {
  return async (name, signal) => {
    const version = name.includes('/versions/') ? name : `${name}/versions/latest`;
    // A regional secret is served by its region alone.
    const region = /\/locations\/([^/]+)/.exec(name)?.[1];
    const usual = `https://secretmanager.${region === undefined ? '' : `${region}.rep.`}googleapis.com`;
    const url = `${endpoint === '' ? usual : endpoint}/v1/${version}:access`;
    const headers = { authorization: `Bearer ${await access.token('google', signal)}` };
    const { status, body } = await ask('Google', { url, headers, signal });
    if (status === 401) access.refused('google');
    if (status === 404) throw new VaultTrouble('is not in Secret Manager (404)');
    if (status === 403) {
      const role = 'roles/secretmanager.secretAccessor';
      throw new VaultTrouble(`cannot be read: Google answers 403: its identity needs ${role}`);
    }
    if (status !== 200) throw new VaultTrouble(`cannot be read: Google answers ${status}`);
    const { data } = (body['payload'] ?? {}) as { readonly data?: unknown };
    if (typeof data !== 'string') throw new VaultTrouble('cannot be read: Google gives no value');
    return Buffer.from(data, 'base64').toString('utf8');
  };
}
