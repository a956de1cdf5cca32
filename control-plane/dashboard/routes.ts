// The routes of /admin/dashboard: the shell at every address of a page, and the files of the page. Public: they hold no data.
import type { FastifyPluginAsync, FastifyReply } from 'fastify';
import { type SessionParts, sessionRoutes } from '../admin/session/routes.ts';
import { dashboardPath } from '../admin/sign-in/dashboard-page.ts';
import type { SignInLog } from '../admin/sign-in/finish.ts';
import { createProviders } from '../admin/sign-in/providers.ts';
import { signInRoutes } from '../admin/sign-in/routes.ts';
import type { SignIns } from '../admin/sign-in/settings.ts';
import { createSignOut } from '../admin/sign-in/sign-out.ts';
import { refusal } from '../errors.ts';
import { pathOf } from '../unknown-route.ts';
import { type Assets, assetsPath, buildAssets, type Encoding } from './assets.ts';
import { pageHeaders, shellText } from './shell.ts';

const publicly = { config: { access: 'public' } } as const;

export interface DashboardParts extends Omit<SessionParts, 'signOutUrl'> {
  readonly signIns: () => SignIns;
  readonly log: SignInLog;
}

/** Also registers the sessions, without which no browser gets data, and signing in. */
export const dashboard: FastifyPluginAsync<{ readonly parts: DashboardParts }> = async (app, { parts }) => {
  const providers = createProviders(() => parts.access.nowMs());
  const signOutUrl = createSignOut(parts.signIns, providers);
  await app.register(sessionRoutes, { parts: { ...parts, signOutUrl } });
  await app.register(signInRoutes, { parts: { ...parts, providers } });
  let built: { readonly assets: Assets; readonly shell: Buffer } | undefined;
  /** Made at the first visit: most starts of a control plane see none, and it takes longer than all the rest of a start. */
  const page = () => {
    if (built === undefined) {
      const assets = buildAssets();
      built = { assets, shell: Buffer.from(shellText(assets)) };
    }
    return built;
  };

  const sendShell = (reply: FastifyReply): FastifyReply =>
    reply
      .headers({ ...pageHeaders, 'cache-control': 'no-store' })
      .type('text/html; charset=utf-8')
      .send(page().shell);

  app.get(dashboardPath, publicly, (_, reply) => sendShell(reply));
  app.get(`${dashboardPath}/*`, publicly, (request, reply) => {
    const path = pathOf(request.url);
    if (!path.startsWith(assetsPath)) return sendShell(reply);
    const asset = page().assets.byAddress.get(path);
    if (asset === undefined) throw refusal('route_not_found', { fill: { method: request.method, path } });
    const tag = `"${path.slice(assetsPath.length)}"`;
    void reply.headers({
      ...pageHeaders,
      'cache-control': 'public, max-age=31536000, immutable',
      etag: tag,
      vary: 'accept-encoding',
    });
    if (request.headers['if-none-match'] === tag) return reply.code(304).send();
    const encoding = encodingOf(request.headers['accept-encoding']);
    if (encoding !== 'identity') void reply.header('content-encoding', encoding);
    return reply.type(asset.type).send(asset.bytes(encoding));
  });
};

function encodingOf(accepted: string = ''): Encoding {
  const names = accepted.split(',').filter((each) => !/;\s*q=0(\.0*)?\s*$/.test(each));
  const has = (name: string): boolean => names.some((each) => each.trim().split(';')[0] === name);
  return has('br') ? 'br' : has('gzip') ? 'gzip' : 'identity';
}
