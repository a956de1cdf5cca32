// Which endpoints are cached: by their paths, as the reference and the metrics name them, and by their former names.
import { test } from 'tap';
import { openCaching } from '../../../proxy/cache/caching.ts';
import { modelEndpoints } from '../../../proxy/endpoints/model-endpoints.ts';
import { compile } from '../../../proxy/snapshot/compile.ts';
import { compileCache } from '../../../proxy/snapshot/compile-cache.ts';
import type { Config } from '../../../schemas/types.ts';
import { sampleConfig } from '../sample-config.ts';
import { open } from '../stage-parts.ts';

const { cache } = sampleConfig({ providers: {} });
const { resets } = compile(sampleConfig({ providers: {} }), '', open).cache;

/** The paths of the endpoints whose answers are kept. */
function cachedPaths(endpoints: Config['cache']['endpoints']): string[] {
  const settings = compileCache({ ...cache, enabled: true, endpoints }, resets);
  const cached = modelEndpoints.filter((row) => openCaching(row, { userPath: '/' }, settings) !== undefined);
  return [...new Set(cached.map(({ path }) => path))];
}

await test('an endpoint is cached when its path is named', (t) => {
  const former = ['chat', 'completions', 'responses', 'messages', 'embeddings'] as const;
  for (const [index, path] of cache.endpoints.entries()) {
    t.same(cachedPaths([path]), [path]);
    t.same(cachedPaths([former[index] ?? 'chat']), [path], 'as before');
  }
  t.same(cachedPaths(['/v1/messages', 'messages', '/v1/embeddings']), ['/v1/messages', '/v1/embeddings']);
  t.same(cachedPaths([]), []);
  t.end();
});
