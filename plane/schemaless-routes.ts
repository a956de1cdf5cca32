// Fastify loads a validator and a serializer of JSON Schemas unless it is given others: 30 ms of each start.

/** For `schemaController` of Fastify: routes have no schema of their own. Throws at the start of one that has. */
export const schemalessRoutes = { compilersFactory: { buildValidator: refuseSchema, buildSerializer: refuseSchema } };

function refuseSchema(): never {
  throw new Error('a route has a schema, and nothing compiles it: bodies are read by schemas/validation');
}
