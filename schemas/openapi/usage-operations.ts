// The operations of /admin/usage, one row each.
import { exampleOf } from './example-of.ts';
import type { Operation, ParameterName, Refusals } from './operation.ts';

const usage = { tag: 'Usage', access: 'operator', method: 'get' } as const;
const refusals: Refusals = { 400: ['invalid_query', 'invalid_header'], 503: ['store_unavailable'] };
const filters: readonly ParameterName[] = [
  'Minutes',
  'Days',
  'StartDate',
  'EndDate',
  'TimeZone',
  'RecordUserPath',
  'CacheMode',
  'UsageModel',
  'UsageProvider',
  'UsageLabel',
  'UsageSession',
  'AskedBy',
];
const inTable =
  'As CSV (RFC 4180) it has at most 100,000 rows; text that a spreadsheet would take for a formula has an apostrophe before it.';

/** The example of a listing as a table. */
function tableExample(listing: string): string {
  const example = exampleOf(listing) as object;
  const [row = {}] = (Array.isArray(example) ? example : Object.values(example)[0]) as readonly object[];
  return [Object.keys(row), Object.values(row)].map((cells) => `${cells.join(',')}\r\n`).join('');
}

/** A list of rows, in JSON and as a table. */
function rows(name: 'daily' | 'keys' | 'labels' | 'models' | 'user-paths', id: string, summary: string): Operation {
  return {
    ...usage,
    id,
    path: `/admin/usage/${name}`,
    summary,
    description: inTable,
    parameters: [...filters, 'UsageFormat'],
    success: {
      status: 200,
      says: 'The rows.',
      schema: `usage-${name}`,
      texts: { 'text/csv': tableExample(`usage-${name}`) },
      headers: ['x-gateway-truncated'],
    },
    refusals,
  };
}

const daily = rows('daily', 'listUsageByTime', 'What each minute, hour, day, week, month or year has used and cost.');

export const usageOperations: readonly Operation[] = [
  {
    ...usage,
    id: 'getUsageSummary',
    path: '/admin/usage/summary',
    summary: 'What was used in all, and what it cost.',
    description:
      'All filters of usage are exact; `user_path` means all below it, too. Costs are US dollars. Questions of the gateway itself cost the caller: they are in costs, tokens and `attempts`, and are no requests; so are copies to mirrors, whose user path is `/mirror`. Zero while usage is not tracked.',
    parameters: filters,
    success: { status: 200, says: 'The sums.', schema: 'usage-summary' },
    refusals,
  },
  {
    ...daily,
    parameters: [...filters, 'UsageInterval', 'UsageFormat'],
  },
  rows('models', 'listUsageByModel', 'What each model has used and cost, the most expensive first.'),
  rows('user-paths', 'listUsageByUserPath', 'What each user path has used and cost, the most expensive first.'),
  rows(
    'keys',
    'listUsageByKey',
    'What each managed key has used and cost, the most expensive first. Requests with the master key have no row.',
  ),
  rows('labels', 'listUsageByLabel', 'What each label of keys has used and cost, the most expensive first.'),
  {
    ...usage,
    id: 'listUsageBySession',
    path: '/admin/usage/sessions',
    summary: 'What each conversation has used and cost, the latest first.',
    parameters: [...filters, 'UsageLimit', 'Offset'],
    success: { status: 200, says: 'One page of conversations.', schema: 'usage-sessions' },
    refusals,
  },
  {
    ...usage,
    id: 'listUsageRecords',
    path: '/admin/usage/log',
    summary: 'Every call of a provider with what it used and cost, the newest first.',
    description: inTable,
    parameters: [...filters, 'UsageSearch', 'UsageLimit', 'Offset', 'UsageFormat'],
    success: {
      status: 200,
      says: 'One page of records.',
      schema: 'usage-log',
      texts: { 'text/csv': tableExample('usage-log') },
      headers: ['x-gateway-truncated'],
    },
    refusals,
  },
  {
    id: 'compareMirrors',
    method: 'get',
    path: '/admin/mirrors',
    tag: 'Usage',
    access: 'operator',
    summary: 'How mirrors of aliases answer, beside the models that clients are answered by.',
    description:
      'By alias and pair of models, of the newest 20,000 requests that were copied. What both cost is in the other sums of usage, too: that of the mirror on the user path `/mirror`.',
    parameters: ['Minutes', 'Days', 'StartDate', 'EndDate', 'TimeZone'],
    success: { status: 200, says: 'The pairs.', schema: 'mirrors' },
    refusals,
  },
];
