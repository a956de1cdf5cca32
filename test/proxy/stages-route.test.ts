// Where a call goes and what comes in: the targets that the caller may use, and bodies.

import { test } from 'tap';
import { onlyPath } from '../../domain/conditions/facts.ts';
import { modelAccess } from '../../domain/keys/model-access.ts';
import { Refusal } from '../../proxy/errors.ts';
import { closeExchange } from '../../proxy/http/exchange.ts';
import { atOnce } from '../../proxy/pacing/slices.ts';
import { compile } from '../../proxy/snapshot/compile.ts';
import { expectJson, received } from '../../proxy/stages/receive.ts';
import { resolve, visibleRoute } from '../../proxy/stages/resolve.ts';
import { waitFor } from '../support/wait-for.ts';
import { sampleConfig } from './sample-config.ts';
import { exchangeOf, held, named, open, refusedBy } from './stage-parts.ts';

// --- resolve

await test('an unknown model is not found, and says its name harmlessly', async (t) => {
  const snapshot = compile(sampleConfig({ providers: { p: {} } }), '', open);
  t.equal(resolve(named('p/m'), snapshot, undefined).targets[0]?.upstream.name, 'p');
  const refused = await refusedBy(() => resolve(named('no\nsuch'), snapshot, undefined));
  t.match(refused, {
    status: 404,
    code: 'model_not_found',
    type: 'not_found_error',
    param: 'model',
    message: '"no?such"',
  });
});

await test('a restricted caller reaches what is granted, by whatever name it asks', async (t) => {
  const snapshot = compile(
    sampleConfig({
      providers: { p: { models: ['m', 'n'] }, q: { models: ['m'] } },
      aliases: [{ source: 'mix', targets: [{ model: 'p/m' }, { model: 'q/m' }, { model: 'p/n' }] }],
    }),
    '',
    open,
  );
  const reached = async (allowed: string[], name: string) => {
    try {
      const { targets } = resolve(named(name), snapshot, modelAccess(allowed));
      return targets.map(({ upstream, model }) => `${upstream.name}/${model}`).join(' ');
    } catch (error) {
      return error instanceof Refusal ? `${error.status} ${error.type} ${error.code} ${error.param}` : error;
    }
  };
  const denied = '403 permission_error model_access_denied model';
  const rows: [allowed: string[], name: string, outcome: string][] = [
    [[], 'mix', 'p/m q/m p/n'],
    [['p/m'], 'p/m', 'p/m'],
    [['p/m'], 'm', 'p/m'],
    [['q/m'], 'm', 'q/m'],
    [[], 'm', 'p/m q/m'],
    [['m'], 'm', 'p/m q/m'],
    [['P/M'], 'p/m', 'p/m'],
    [['p/m'], 'q/m', denied],
    [['p/m'], 'p/n', denied],
    [['p/m'], 'mix', 'p/m'],
    [['p/*'], 'mix', 'p/m p/n'],
    [['m'], 'mix', 'p/m q/m'],
    [['mix'], 'mix', 'p/m q/m p/n'],
    [['mix'], 'p/m', denied],
    [['q/n'], 'mix', denied],
    [['p/m'], 'P/M', 'p/m'],
    [['p/m'], 'Mix', 'p/m'],
    [[], 'M', 'p/m q/m'],
    [['p/m'], 'nothing', '404 not_found_error model_not_found model'],
  ];
  for (const [allowed, name, outcome] of rows)
    t.equal(await reached(allowed, name), outcome, `${JSON.stringify(allowed)}: ${name}`);
});

await test('an alias covers its name in every letter case; of models that differ in it alone, the spelling decides', async (t) => {
  const ofCase = compile(
    sampleConfig({
      providers: { P: { models: ['Big', 'big', 'chat'] } },
      aliases: [{ source: 'Chat', targets: [{ model: 'p/BIG' }], user_paths: ['/Team'] }],
    }),
    '',
    open,
  );
  const leads = (model: string, userPath: string) =>
    visibleRoute(ofCase, model, onlyPath(userPath))?.targets.map((target) => target.model);
  for (const name of ['Chat', 'chat', 'CHAT']) t.same(leads(name, '/team/app'), ['Big'], name);
  t.same(leads('chat', '/other'), ['chat'], 'behind the alias is the model');
  t.same([leads('P/Big', '/'), leads('P/big', '/'), leads('p/BIG', '/')], [['Big'], ['big'], ['Big']]);
  const listed = atOnce(ofCase.routes.entries()).map(({ id }) => id);
  t.same(listed, ['Chat', 'P/Big', 'P/big', 'P/chat']);
});

await test('callers with the same part of an alias share one route, however many targets it has', async (t) => {
  for (const count of [3, 40]) {
    const models = Array.from({ length: count }, (_, index) => `m${index}`);
    const targets = models.map((model, index) => ({ model: `p/${model}`, weight: index + 1 }));
    const config = sampleConfig({ providers: { p: { models } }, aliases: [{ source: 'mix', targets }] });
    const snapshot = compile(config, '', open);
    const part = (...allowed: string[]) => resolve(named('mix'), snapshot, modelAccess(allowed));
    const [one, same, other] = [part('p/m1', 'p/m2'), part('p/m2', 'p/m1', 'p/x'), part('p/m1')];
    t.same(
      [one.targets.map(({ model }) => model), one.weights],
      [
        ['m1', 'm2'],
        [2, 3],
      ],
    );
    t.equal(same.name, one.name);
    t.same([other.weights, other.name === one.name], [[2], false]);
    t.equal(part(...models.map((model) => `p/${model}`)), snapshot.routes.get('mix'), 'all of it is the route itself');
    t.equal(same === one, count === 3, 'a part of a usual route is made once');
  }
});

await test('a routing member takes a restricted caller only to providers that allow it', async (t) => {
  const snapshot = compile(
    sampleConfig({
      providers: { p: {}, q: { allow_routing_members: true }, r: {} },
      aliases: [{ source: 'mix', targets: [{ model: 'p/m' }, { model: 'q/m' }, { model: 'r/m' }] }],
    }),
    '',
    open,
  );
  const reached = (name: string, allowed: string[]) =>
    resolve(named(name, 'models'), snapshot, modelAccess(allowed)).targets.map(({ upstream }) => upstream.name);
  t.same(reached('mix', ['mix']), ['q'], 'the others are left out');
  t.same(reached('q/m', ['q/*']), ['q']);
  t.same(reached('mix', []), ['p', 'q', 'r'], 'without a restriction nothing changes');
  const refused = { status: 400, type: 'invalid_request_error', code: 'routing_member_not_allowed', param: 'models' };
  t.match(await refusedBy(() => reached('p/m', ['p/m'])), { ...refused, message: /"models"/ });
  t.match(await refusedBy(() => reached('mix', ['p/m', 'r/m'])), refused);
  t.match(
    await refusedBy(() => reached('p/m', ['q/m'])),
    { code: 'model_access_denied' },
    'what is worse is told first',
  );
});

// --- receive

await test('only plain JSON in UTF-8 is read', async (t) => {
  const json = { 'Content-Type': 'application/json' };
  const accepted: Record<string, string>[] = [
    json,
    { 'Content-Type': 'Application/JSON' },
    { 'Content-Type': 'application/json; charset=utf-8' },
    { 'Content-Type': 'application/json;charset="UTF-8"' },
    { 'Content-Type': 'application/json ; x=y' },
    { ...json, 'Content-Encoding': 'identity' },
  ];
  for (const headers of accepted) {
    const exchange = exchangeOf(headers);
    expectJson(exchange, 10);
    const body = received(exchange, 10, held());
    exchange.request.push('{}');
    exchange.request.push(null);
    t.equal((await body).toString(), '{}', JSON.stringify(headers));
  }
  const refused: [headers: Record<string, string>, code: string][] = [
    [{}, 'unsupported_media_type'],
    [{ 'Content-Type': '' }, 'unsupported_media_type'],
    [{ 'Content-Type': 'text/plain' }, 'unsupported_media_type'],
    [{ 'Content-Type': 'application/jsonp' }, 'unsupported_media_type'],
    [{ 'Content-Type': 'application/json, text/plain' }, 'unsupported_media_type'],
    [{ 'Content-Type': 'x; a=application/json' }, 'unsupported_media_type'],
    [{ 'Content-Type': 'application/json; charset=latin1' }, 'unsupported_media_type'],
    [{ ...json, 'Content-Encoding': 'gzip' }, 'unsupported_encoding'],
    [{ ...json, 'Content-Encoding': 'identity, gzip' }, 'unsupported_encoding'],
  ];
  for (const [headers, code] of refused) {
    t.match(await refusedBy(() => expectJson(exchangeOf(headers), 10)), { status: 415, code }, JSON.stringify(headers));
  }
});

await test('a body is whole, in its own bytes, up to the limit', async (t) => {
  const headers = { 'Content-Type': 'application/json' };
  const whole = exchangeOf(headers);
  const body = received(whole, 10, held());
  for (const chunk of [
    [0, 255],
    [254, 1, 2],
    [3, 4, 5, 6, 7],
  ])
    whole.request.push(Buffer.from(chunk));
  whole.request.push(null);
  t.same([...(await body)], [0, 255, 254, 1, 2, 3, 4, 5, 6, 7]);
  t.equal(whole.waiting, undefined, 'no step waits any more');

  const long = exchangeOf(headers);
  const refused = refusedBy(() => received(long, 10, held()));
  long.request.push(Buffer.alloc(6));
  long.request.push(Buffer.alloc(5));
  t.match(await refused, { status: 413, code: 'body_too_large', message: /10 bytes/ });

  const declared = exchangeOf({ ...headers, 'Content-Length': '11' });
  t.match(await refusedBy(() => expectJson(declared, 10)), { status: 413 }, 'without waiting for it');

  const left = exchangeOf(headers);
  const waiting = refusedBy(() => received(left, 10, held()));
  await waitFor('the stage to wait', () => left.waiting);
  closeExchange(left);
  t.match(await waiting, { status: 499, code: 'client_left' });
});
