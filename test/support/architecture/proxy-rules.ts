// The rules of the rooms of the data plane, and of what is pure: who may import what.
import { never, only, type Rule } from './checks.ts';
import { type File, importsOf } from './source-files.ts';

/** The rooms of the data plane from the bottom to the top: each imports itself and those before it. */
const order =
  'bytes pacing error-table.ts errors.ts answer.ts tokens call dialects limits budgets store tallies targets http cloud-identity upstream providers discovery guardrails translation snapshot kept capture routing cache records environment.ts readiness.ts workers metrics stages admin trial realtime opaque endpoints explain replay config-tests trips probes server.ts boot serve.ts main.ts plan.ts check.ts'.split(
    ' ',
  );

/** The most parts that an interface may name. */
const mostParts = 15;

/** The number of members of the largest interface whose name ends with `Parts`. */
function largestParts(text: string): number | undefined {
  const sizes = [...text.matchAll(/^(?:export )?interface \w*Parts\b[^{]*\{\n([\s\S]*?)^\}/gm)].map(
    ([, members = '']) => members.split('\n').filter((line) => /^ {2}(readonly )?\w+\??[:(]/.test(line)).length,
  );
  return sizes.length === 0 ? undefined : Math.max(...sizes);
}

function upwardArrows(file: File): string[] {
  const rankOf = (path: string): number => order.indexOf(path.split('/')[1] ?? '');
  if (!file.path.startsWith('proxy/')) return [];
  const own = rankOf(file.path);
  if (own === -1) return ['stands in a room without a place in the order'];
  return importsOf(file)
    .filter((name) => name.startsWith('proxy/') && rankOf(name) > own)
    .map((name) => `imports ${name}, which is above it`);
}

export const proxyRules: readonly Rule[] = [
  {
    claim: 'no arrow of the data plane runs upward',
    check: upwardArrows,
    bad: [
      ['proxy/upstream/a.ts', "import { b } from '../stages/b.ts';"],
      ['proxy/http/a.ts', "import type { ServerParts } from '../server.ts';"],
      ['proxy/stages/a.ts', "import { b } from '../endpoints/b.ts';"],
      ['proxy/attic/a.ts', ''],
    ],
    good: [['proxy/stages/a.ts', "import { b } from '../http/b.ts';"]],
  },
  {
    claim: 'arithmetic imports no package and no node module',
    check: only(
      /^(proxy\/limits\/|domain\/(limits|rules)\/|domain\/(listed-models|sorted-list|user-path|selector)\.ts$)/,
      /^(proxy\/limits|domain\/limits|domain\/rules|schemas\/formats)\/|^domain\/(listed-models|sorted-list|user-path|selector)\.ts$|^schemas\/types\.ts$/,
    ),
    bad: [
      ['proxy/limits/a.ts', "import { hash } from 'node:crypto';"],
      ['proxy/limits/a.ts', "import type { Snapshot } from '../snapshot/snapshot.ts';"],
      ['domain/rules/a.ts', "import leven from 'leven';"],
      ['domain/user-path.ts', "import 'node:path';"],
      ['domain/selector.ts', "import { b } from './config/read.ts';"],
    ],
    good: [['domain/rules/a.ts', "import type { Limit } from '../../schemas/types.ts';"]],
  },
  {
    claim: 'no type of the data plane names all its parts: each stage declares those that it needs',
    check: ({ path, text }) => {
      const members = path.startsWith('proxy/') ? (largestParts(text) ?? 0) : 0;
      return members > mostParts ? [`declares an interface of ${members} parts`] : [];
    },
    bad: [['proxy/a.ts', `export interface Parts {\n${'  readonly a: A;\n'.repeat(20)}}\n`]],
    good: [['proxy/a.ts', `export interface Parts {\n${'  readonly a: A;\n'.repeat(14)}}\n`]],
  },
  {
    claim: 'what is remembered of targets is arithmetic, too',
    check: only(/^proxy\/targets\//, /^(proxy\/(targets|bytes)|domain\/targets|schemas\/formats)\//),
    bad: [
      ['proxy/targets/a.ts', "import { hash } from 'node:crypto';"],
      ['proxy/targets/a.ts', "import type { Snapshot } from '../snapshot/snapshot.ts';"],
    ],
    good: [['proxy/targets/a.ts', "import { parseMoment } from '../../schemas/formats/moment.ts';"]],
  },
  {
    claim: 'balancing knows routes and what is remembered of their targets, nothing else',
    check: only(/^proxy\/routing\/balance\//, /^proxy\/((routing\/balance|targets)\/|snapshot\/snapshot\.ts$)/),
    bad: [
      ['proxy/routing/balance/a.ts', "import { hash } from 'node:crypto';"],
      ['proxy/routing/balance/a.ts', "import type { Limiter } from '../../limits/limiter.ts';"],
    ],
    good: [['proxy/routing/balance/a.ts', "import type { Route } from '../../snapshot/snapshot.ts';"]],
  },
  {
    claim: 'discovery asks providers and knows nothing of requests, routes and limits',
    check: never(/^proxy\/discovery\//, /^proxy\/(?!(discovery|dialects|upstream|pacing)\/|errors\.ts$)/),
    bad: [
      ['proxy/discovery/a.ts', "import type { Upstream } from '../snapshot/snapshot.ts';"],
      ['proxy/discovery/a.ts', "import { b } from '../stages/b.ts';"],
    ],
    good: [['proxy/discovery/a.ts', "import { b } from '../upstream/b.ts';"]],
  },
  {
    claim: 'dialects translate and nothing else: no sockets, no stages, no limits',
    check: never(
      /^proxy\/dialects\//,
      /^(node:(http|https|net|tls|fs)|fastify$|proxy\/(?!dialects\/|bytes\/|call\/|tokens\/))/,
    ),
    bad: [
      ['proxy/dialects/a.ts', "import { b } from '../stages/b.ts';"],
      ['proxy/dialects/chat/a.ts', "import { connect } from 'node:net';"],
    ],
    good: [['proxy/dialects/chat/a.ts', "import { b } from '../../tokens/b.ts';"]],
  },
  {
    claim: 'bytes have no meaning: scanning and cutting know nothing of ours',
    check: only(/^proxy\/bytes\//, /^proxy\/bytes\/|^node:buffer$/),
    bad: [
      ['proxy/bytes/a.ts', "import { b } from '../dialects/b.ts';"],
      ['proxy/bytes/a.ts', "import type { Refusal } from '../errors.ts';"],
    ],
    good: [['proxy/bytes/a.ts', "import { b } from './b.ts';"]],
  },
  {
    claim: 'upstream speaks HTTP and knows no dialect',
    check: never(/^proxy\/upstream\//, /^proxy\/(dialects|providers|tokens|snapshot|limits)\//),
    bad: [['proxy/upstream/a.ts', "import { b } from '../dialects/b.ts';"]],
  },
  {
    claim: 'an answer is a value: relaying knows neither who made it nor what a tap does',
    check: never(
      /^proxy\/(answer|stages\/relay|http\/client-sink)\.ts$/,
      /^proxy\/(upstream|providers|dialects|tokens)\//,
    ),
    bad: [
      ['proxy/answer.ts', "import type { Failure } from './upstream/failure.ts';"],
      ['proxy/stages/relay.ts', "import { UsageTap } from '../tokens/usage-tap.ts';"],
    ],
    good: [['proxy/stages/relay.ts', "import type { Answer } from '../answer.ts';"]],
  },
  {
    claim: 'a stage and a trip know no store: what they count is kept by others',
    check: never(/^proxy\/(stages|trips)\//, /^proxy\/store\//),
    bad: [
      ['proxy/stages/a.ts', "import { b } from '../store/b.ts';"],
      ['proxy/trips/a.ts', "import type { b } from '../store/b.ts';"],
    ],
    good: [['proxy/stages/a.ts', "import { b } from '../limits/b.ts';"]],
  },
  {
    claim: 'a door knows no store and no upstream',
    check: never(/^proxy\/endpoints\//, /^proxy\/(store|upstream)\//),
    bad: [['proxy/endpoints/a.ts', "import { b } from '../store/b.ts';"]],
  },
  {
    claim: 'the forwarding of /admin is a trip of its own and knows nothing of the line',
    check: never(/^proxy\/admin\//, /^proxy\/(stages|endpoints|limits|dialects|providers|trips)\//),
    bad: [
      ['proxy/admin/a.ts', "import { b } from '../stages/b.ts';"],
      ['proxy/admin/a.ts', "import type { b } from '../stages/b.ts';"],
      ['proxy/admin/a.ts', "import { serve } from '../trips/pipeline.ts';"],
    ],
    good: [['proxy/admin/a.ts', "import { b } from '../http/b.ts';"]],
  },
  {
    claim: 'an explanation sends nothing and stores nothing',
    check: never(
      /^proxy\/explain\//,
      /^(node:(http|https|net|tls|fs)|proxy\/(upstream|store|routing\/retry|dialects|tokens|trips)\/|proxy\/endpoints\/(?!naming-endpoint\.ts$))/,
    ),
    bad: [
      ['proxy/explain/a.ts', "import { send } from '../upstream/send.ts';"],
      ['proxy/explain/a.ts', "import type { RetryBudgets } from '../routing/retry/retry-budgets.ts';"],
      ['proxy/explain/a.ts', "import { serve } from '../trips/pipeline.ts';"],
    ],
    good: [['proxy/explain/a.ts', "import type { Limiter } from '../limits/limiter.ts';"]],
  },
  {
    claim: 'a store imports no sibling room',
    check: never(/^(proxy|control-plane)\/store\//, /^(proxy|control-plane)\/(?!store\/)/),
    bad: [['proxy/store/a.ts', "import { b } from '../limits/b.ts';"]],
  },
];
