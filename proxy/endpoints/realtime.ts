// GET /v1/realtime without an upgrade: a session is opened by WebSocket alone.
import type { FastifyPluginAsync } from 'fastify';
import { pathOf } from '../call/head.ts';
import { refusal } from '../errors.ts';

export const realtime: FastifyPluginAsync = async (app) => {
  app.get('/v1/realtime', ({ raw: { url = '' } }) => {
    throw refusal('upgrade_required', {
      fill: { path: pathOf(url) },
      headers: { upgrade: 'websocket', connection: 'upgrade' },
    });
  });
};
