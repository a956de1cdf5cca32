// GET / and GET /v1: what answers here. People open a base URL, and agents probe it before their first request; none of them sends a key.
import type { FastifyPluginAsync } from 'fastify';

/** Paths that may be the base URL of a client. */
export const basePaths = ['/', '/v1'] as const;

/** No version and nothing of the configuration: the client may be a stranger. */
const words = {
  name: 'Model gateway',
  base_urls: { openai: '/v1', anthropic: '/' },
} as const;
/** Where /admin is served. */
const documented = { ...words, documentation: '/admin/openapi.json' } as const;

export interface WelcomeParts {
  /** /admin is served (GATEWAY_ADMIN_ON_PROXY). */
  readonly servesAdmin: boolean;
}

export const welcome: FastifyPluginAsync<{ gateway: WelcomeParts }> = async (app, { gateway }) => {
  for (const path of basePaths) app.get(path, () => (gateway.servesAdmin ? documented : words));
};
