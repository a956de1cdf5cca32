// The route GET /admin/openapi.json: the description of both APIs (spec, Versioning 1).
import type { FastifyPluginAsync } from 'fastify';
import { describeApi } from '../../../schemas/openapi/document.ts';

/** The description holds no data, so a scoped operator may read it too. */
export const openapi: FastifyPluginAsync = async (app) => {
  const text = JSON.stringify(describeApi());

  app.get('/admin/openapi.json', (_, reply) => reply.type('application/json; charset=utf-8').send(text));
};
