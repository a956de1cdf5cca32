// Where a request goes: the base URL of a provider, the path of what it is asked, and a model whose id may be any text.
import * as fc from 'fast-check';
import { test } from 'tap';
import { modelListPath, speechPath } from '../../../proxy/providers/paths.ts';
import { rows } from '../../../proxy/providers/rows.ts';
import { anyCharacter } from '../../support/arbitrary.ts';

const bare = { basePath: '', query: '' };
const versioned = { basePath: '/openai', query: '?api-version=2024-10-21' };
const speech = { path: '/models/{model}:ask', streamPath: '/models/{model}:stream?alt=sse' };

await test('the query of the base URL and that of the path are joined', async (t) => {
  t.equal(speechPath(speech, bare, 'm', true), '/models/m:stream?alt=sse');
  t.equal(speechPath(speech, versioned, 'm', true), '/openai/models/m:stream?alt=sse&api-version=2024-10-21');
  t.equal(speechPath(speech, versioned, 'm', false), '/openai/models/m:ask?api-version=2024-10-21');
  t.equal(speechPath({ path: '/a' }, versioned, 'm', true), '/openai/a?api-version=2024-10-21', 'streams go there too');
});

await test('a path from the host on leaves the path of the base URL out', async (t) => {
  t.equal(speechPath({ path: '/a', isFromRoot: true }, versioned, 'm', false), '/a?api-version=2024-10-21');
  t.equal(modelListPath(rows.cohere, { basePath: '/compatibility/v1', query: '' }), '/v1/models?page_size=1000');
  t.equal(modelListPath(rows.anthropic, { basePath: '/v1', query: '?k=1' }), '/v1/models?limit=1000&k=1');
  t.equal(modelListPath(rows.bedrock, bare), undefined);
});

await test('the id of a model is one segment of the path', async (t) => {
  const pathOf = (model: string) => speechPath({ path: '/model/{model}/converse' }, bare, model, false);
  const cases = {
    'anthropic.claude-3-5-haiku-20241022-v1:0': '/model/anthropic.claude-3-5-haiku-20241022-v1%3A0/converse',
    'arn:aws:bedrock:us-east-1:1:x/y': '/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ax%2Fy/converse',
    'a?b#c d%': '/model/a%3Fb%23c%20d%25/converse',
    "$& $' {model}": "/model/%24%26%20%24'%20%7Bmodel%7D/converse",
    '..': '/model/%252E%252E/converse',
    '.': '/model/%252E/converse',
    '…': '/model/%E2%80%A6/converse',
  };
  for (const [model, path] of Object.entries(cases)) t.equal(pathOf(model), path, model);
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter, minLength: 1 }), (model) => {
      const { pathname, search, hash } = new URL(pathOf(model), 'http://h');
      const [, first, segment = '', last, ...more] = pathname.split('/');
      return (
        [first, last, search, hash].join() === 'model,converse,,' &&
        more.length === 0 &&
        (/^\.\.?$/.test(model) || decodeURIComponent(segment) === model)
      );
    }),
  );
  t.equal(pathOf('\ud800'), '/model/%EF%BF%BD/converse', 'half a character does not throw');
});
