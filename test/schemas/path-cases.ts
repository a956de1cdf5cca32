// What further paths answer where nothing is there: path, body of a POST, status, schema.
export const pathCases: readonly [path: string, body: string | undefined, status: number, schema: string][] = [
  ['/v1/embeddings', '{"model":"none"}', 404, 'ModelError'],
  ['/v1/completions', '{"model":"none"}', 404, 'ModelError'],
  ['/v1/realtime', undefined, 426, 'ModelError'],
  ['/v1/realtime/client_secrets', '{"session":{"model":"none"}}', 404, 'ModelError'],
  ['/v1/realtime/calls', '{"session":{"model":"none"}}', 404, 'ModelError'],
  ['/v1/files', 'no form', 400, 'ModelError'],
  ['/v1/files/{id}', undefined, 404, 'ModelError'],
  ['/v1/files/{id}/content', undefined, 404, 'ModelError'],
  ['/v1/batches', '{"input_file_id":"none"}', 404, 'ModelError'],
  ['/v1/batches/{id}', undefined, 404, 'ModelError'],
  ['/v1/batches/{id}/cancel', '', 404, 'ModelError'],
  ['/v1/messages/batches', '{"requests":[]}', 400, 'ModelError'],
  ['/v1/messages/batches/{id}', undefined, 404, 'ModelError'],
  ['/v1/messages/batches/{id}/cancel', '', 404, 'ModelError'],
  ['/v1/messages/batches/{id}/results', undefined, 404, 'ModelError'],
];
