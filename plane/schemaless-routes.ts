// Lets Fastify start without a validator and a serializer of JSON Schemas, whose loading takes 30 ms of each start.

/** For `schemaController` of Fastify: routes have no schemas. Throws at the start for a route with a schema. */
export const schemalessRoutes = { compilersFactory: { buildValidator: refuseSchema, buildSerializer: refuseSchema } };

function refuseSchema(): never {
  throw new Error('a route has a schema, and nothing compiles it: bodies are read by schemas/validation');
}
