// A fleet whose people sign in at two identity providers, and how its configuration is changed.
import { startFakeUpstream } from '../support/fake-upstream.ts';
import { startFleet } from '../support/fleet.ts';
import { type SignInProvider, startSignInProvider } from '../support/sign-in-provider.ts';
import type { Teardown } from '../support/teardown.ts';
import { waitFor } from '../support/wait-for.ts';

/** Of the gateway at both providers. */
export const secret = 'the-client-CANARY-secret-0123456789';

export async function startSignInStand(t: Teardown) {
  const fleet = await startFleet(t, {
    store: 'sqlite',
    proxies: 1,
    upstream: await startFakeUpstream({ t: t }),
    config: { server: { trusted_proxies: ['127.0.0.1'] }, audit: { enabled: true } },
    env: { OIDC_SECRET: secret },
  });
  const [gateway] = fleet.proxies;
  if (gateway === undefined) throw new Error('no proxy');
  const proxy = gateway.url;
  // Of another site than the providers, which are at 127.0.0.1: so browsers see it.
  const publicUrl = proxy.replace('127.0.0.1', 'localhost');
  const doors = [
    ['the control plane', fleet.controlPlane.address],
    ['a proxy', proxy],
  ] as const;
  const callbackOf = (identity: string) => `${publicUrl}/admin/sign-in/${identity}/callback`;
  const client = {
    client_id: 'gateway',
    client_secret: secret,
    post_logout_redirect_uris: [`${publicUrl}/admin/dashboard`],
  };
  const company = await startSignInProvider(t, [{ ...client, redirect_uris: [callbackOf('company')] }]);
  const other = await startSignInProvider(t, [{ ...client, redirect_uris: [callbackOf('other')] }]);
  for (const { people } of [company, other])
    people
      .set('ann', { email: 'ann@example.com', groups: ['admins'] })
      .set('vic', { email: 'vic@example.com', groups: ['viewers'] })
      .set('nora', { email: 'nora@example.com', groups: [] });

  const scopes = ['openid', 'email', 'groups'];
  const identityOf = ({ issuer }: SignInProvider, more: object = {}) => ({
    issuer,
    audience: 'api',
    user_path: '/{email}',
    rights: [
      { when: "'admins' in claims.groups", dashboard: { role: 'admin', user_path: '/' } },
      { when: "'viewers' in claims.groups", dashboard: { role: 'viewer', user_path: '/team' } },
    ],
    sign_in: {
      client_id: 'gateway',
      client_secret: `\${OIDC_SECRET}`,
      public_url: publicUrl,
      scopes,
      title: 'Example Inc.',
    },
    ...more,
  });

  /** Puts the identities in force at both planes. */
  async function configure(identities: object): Promise<void> {
    await gateway?.applyConfig({ 'identities.yaml': { identities } });
    const revision = /^gateway_config_info\{[^}]*revision="([^"]*)"/m.exec((await gateway?.metrics()) ?? '')?.[1];
    await waitFor('the control plane to follow', async () => {
      const status = (await (await fleet.admin('/admin/status')).json()) as { desired: { config_revision: string } };
      return status.desired.config_revision === revision;
    });
  }
  const both = { company: identityOf(company), other: identityOf(other) };
  await configure(both);
  return { fleet, gateway, proxy, publicUrl, doors, callbackOf, company, other, identityOf, both, configure };
}
