// What is explained, and what must be said of it.

import { timestamp } from '../../domain/timestamp.ts';
import type { Explanation } from '../../proxy/explain/explanation.ts';
import type { Question } from '../../proxy/explain/question.ts';
import {
  aliasDocument,
  broken,
  type ExplainStand,
  explainStand,
  keyDocument,
  limit,
  ruleDocument,
  start,
  used,
  usedTarget,
} from './explain-stand.ts';

export interface ExplainCase {
  readonly says: string;
  readonly stand: () => ExplainStand;
  readonly asked: Partial<Omit<Question, 'key'>> & { readonly keyId?: string };
  readonly expected: (explanation: Explanation) => Record<string, unknown>;
  readonly gives: Record<string, unknown>;
}

const providers = { a: {}, b: {}, c: {} };
const both = { source: 'both', targets: [{ model: 'a/m' }, { model: 'b/m' }] };
const places = (more: object) => ({ places: { providers: [], aliases: [], rules: [], ...more } });
const path = (subject: string, max: Parameters<typeof limit>[0], perChild = false) => ({
  user_paths: [{ path: subject, per_child: perChild, limits: [limit(max)] }],
});
const onProvider = (name: string, max: Parameters<typeof limit>[0]) => ({
  providers: [{ name, limits: [limit(max)] }],
});

const steps = ({ targets }: Explanation) => ({
  targets: targets.map(({ target, would, reason }) =>
    [target, would, ...(reason === undefined ? [] : [reason])].join(' '),
  ),
});
const refused = ({ refusal }: Explanation) => ({ ...refusal, message: undefined });
const missed = ({ near_misses: all }: Explanation) => ({ missed: all.map(({ name, reason }) => `${name}: ${reason}`) });
const kind = ({ resolution }: Explanation) => ({
  kind: resolution.kind,
  chain: resolution.aliases.map(({ name }) => name),
});
const rules = (explanation: Explanation) => ({
  rules: explanation.rules.map(({ effective_subject, requests_used, requests_remaining }) =>
    [effective_subject, requests_used, requests_remaining].join(' '),
  ),
});

export const explainCases: readonly ExplainCase[] = [
  {
    says: 'a model of one provider',
    stand: () => explainStand({ providers }),
    asked: { model: 'b/m' },
    expected: (told) => ({ ...kind(told), ...steps(told), outcome: told.outcome }),
    gives: { kind: 'model', chain: [], targets: ['b/m ask'], outcome: 'It would be sent to b/m.' },
  },
  {
    says: 'a bare id goes to every provider in order',
    stand: () => explainStand({ providers }),
    asked: { model: 'm' },
    expected: (told) => ({ ...kind(told), ...steps(told), outcome: told.outcome }),
    gives: {
      kind: 'bare_id',
      chain: [],
      targets: ['a/m ask', 'b/m ask', 'c/m ask'],
      outcome: 'It would be sent to a/m; when that fails, to b/m, then c/m.',
    },
  },
  {
    says: 'an alias of an alias names both',
    stand: () => explainStand({ providers, aliases: [both, { source: 'chat', targets: [{ model: 'both' }] }] }),
    asked: { model: 'chat' },
    expected: (told) => ({ ...kind(told), ...steps(told), strategy: told.resolution.strategy }),
    gives: { kind: 'alias', chain: ['chat', 'both'], targets: ['a/m ask', 'b/m ask'], strategy: 'round_robin' },
  },
  {
    says: 'a name of a family names the family',
    stand: () => explainStand({ providers, aliases: [{ source: 'eu/*', targets: [{ model: 'b/*' }] }] }),
    asked: { model: 'eu/m' },
    expected: (told) => ({ ...kind(told), ...steps(told), family: told.resolution.aliases[0]?.family }),
    gives: { kind: 'family', chain: ['eu/m'], targets: ['b/m ask'], family: 'eu/*' },
  },
  {
    says: 'an alias of the configuration names its line',
    stand: () => explainStand({ providers, aliases: [both], more: places({ aliases: [['both', 'aliases.yaml:2']] }) }),
    asked: { model: 'both' },
    expected: ({ resolution: { aliases } }) => ({ from: aliases.map(({ source, declared_at: at }) => [source, at]) }),
    gives: { from: [['config', 'aliases.yaml:2']] },
  },
  {
    says: 'an alias of an operator names its author',
    stand: () => {
      const targets = [{ model: 'c/m', weight: 1 }];
      const manual = { source: 'both', targets, strategy: 'failover', enabled: true, hedge: false } as const;
      return explainStand({ providers, aliases: [both] }, [aliasDocument({ ...manual, targets })]);
    },
    asked: { model: 'both' },
    expected: ({ resolution: { aliases }, ...told }) => ({
      from: aliases.map(({ source, updated_by: by }) => [source, by]),
      ...steps({ ...told, resolution: { kind: 'alias', aliases } }),
    }),
    gives: { from: [['manual', 'ops']], targets: ['c/m ask'] },
  },
  {
    says: 'the order is the one of the next turn',
    stand: () => {
      const stand = explainStand({ providers, aliases: [both] });
      stand.balance(stand.route('both'), { nowMs: start, thread: undefined });
      return stand;
    },
    asked: { model: 'both' },
    expected: steps,
    gives: { targets: ['b/m ask', 'a/m ask'] },
  },
  {
    says: 'an open breaker makes a target the last resort',
    stand: () => broken(explainStand({ providers, aliases: [both] }), 'a'),
    asked: { model: 'both' },
    expected: (told) => ({ ...steps(told), until: told.targets[1]?.until }),
    gives: { targets: ['b/m ask', 'a/m last_resort breaker_open'], until: timestamp(start + 1000) },
  },
  {
    says: 'a half-open breaker makes a target the first choice',
    stand: () => broken(explainStand({ providers, aliases: [both] }), 'b', start - 1500),
    asked: { model: 'both' },
    expected: steps,
    gives: { targets: ['b/m ask breaker_half_open', 'a/m ask'] },
  },
  {
    says: 'when every target is likely to fail, the first one is asked nevertheless',
    stand: () => broken(explainStand({ providers }), 'a'),
    asked: { model: 'a/m' },
    expected: (told) => ({ ...steps(told), outcome: told.outcome, refusal: told.refusal }),
    gives: {
      targets: ['a/m last_resort breaker_open'],
      outcome: 'It would be sent to a/m as a last resort, because its circuit breaker is open, because it failed.',
      refusal: undefined,
    },
  },
  {
    says: 'a provider that asked for a rest',
    stand: () => {
      const stand = explainStand({ providers, aliases: [both] });
      stand.targets.of(stand.target('a')).rest(start + 7000, start);
      return stand;
    },
    asked: { model: 'both' },
    expected: (told) => ({ ...steps(told), until: told.targets[1]?.until }),
    gives: { targets: ['b/m ask', 'a/m last_resort resting'], until: timestamp(start + 7000) },
  },
  {
    says: 'limits that a provider told',
    stand: () => {
      const stand = explainStand({ providers, aliases: [both] });
      const told = ['x-ratelimit-limit-requests', '9', 'x-ratelimit-remaining-requests', '0'];
      const quota = told.map((text) => Buffer.from(text));
      const target = stand.target('a');
      stand.targets.of(target).quota.learn({ quota }, start, target.upstream.credentials.remembered[0]);
      return stand;
    },
    asked: { model: 'both' },
    expected: (told) => ({ ...steps(told), left: told.targets[1]?.learned_remaining }),
    gives: { targets: ['b/m ask', 'a/m last_resort quota_used_up'], left: { requests: 0 } },
  },
  {
    says: 'a saturated target is skipped, and names its rule with its counters',
    stand: () => {
      const options = { providers, aliases: [both], rules: onProvider('a', { max_requests: 1, name: 'a per minute' }) };
      return usedTarget(explainStand(options), 'a');
    },
    asked: { model: 'both' },
    expected: (told) => ({
      ...steps(told),
      rules: told.targets[0]?.rules.map(({ name, requests_used: count, exhausted }) => [name, count, exhausted]),
      refusal: told.refusal,
    }),
    gives: { targets: ['a/m skip saturated', 'b/m ask'], rules: [['a per minute', 1, true]], refusal: undefined },
  },
  {
    says: 'a name of which every target is saturated is refused with the wait of the soonest',
    stand: () => {
      const all = [
        { name: 'a', limits: [limit({ max_requests: 1, name: 'slow', period: 'hour' })] },
        { name: 'b', limits: [limit({ max_requests: 1, name: 'soon' })] },
      ];
      return usedTarget(usedTarget(explainStand({ providers, aliases: [both], rules: { providers: all } }), 'a'), 'b');
    },
    asked: { model: 'both' },
    expected: refused,
    gives: { status: 429, code: 'rate_limit_exceeded', retry_after_seconds: 61, rule: 'soon', message: undefined },
  },
  {
    says: 'the calls of a request are counted',
    stand: () => {
      const retry = { attempts: 1, on: ['connect' as const] };
      return explainStand({ providers, aliases: [{ ...both, retry }] });
    },
    asked: { model: 'both' },
    expected: (told) => ({ ...steps(told), attempts: told.resolution.attempts }),
    gives: { targets: ['a/m ask', 'b/m skip attempts_used_up'], attempts: 1 },
  },
  {
    says: 'a consumer that is used up is refused by the rule of its parent',
    stand: () =>
      used(explainStand({ providers, rules: path('/team', { max_requests: 2, name: 'team' }) }), '/team/x', 2),
    asked: { model: 'm', userPath: '/team/app' },
    expected: (told) => ({ ...refused(told), ...rules(told) }),
    gives: {
      status: 429,
      code: 'rate_limit_exceeded',
      retry_after_seconds: 61,
      rule: 'team',
      message: undefined,
      rules: ['/team 2 0'],
    },
  },
  {
    says: 'the counters of a template are those of the child',
    stand: () =>
      used(explainStand({ providers, rules: path('/customers', { max_requests: 5 }, true) }), '/customers/x/y'),
    asked: { userPath: '/customers/x' },
    expected: rules,
    gives: { rules: ['/customers/x 1 4'] },
  },
  {
    says: 'a template does not hold for its own path',
    stand: () => explainStand({ providers, rules: path('/customers', { max_requests: 5 }, true) }),
    asked: { userPath: '/customers' },
    expected: (told) => ({ ...rules(told), ...missed(told) }),
    gives: { rules: [], missed: ['user_path /customers minute: template_itself'] },
  },
  {
    says: 'a shadow rule is shown and refuses nothing',
    stand: () => used(explainStand({ providers, rules: path('/', { max_requests: 1, mode: 'shadow' }) }), '/'),
    asked: {},
    expected: (told) => ({ mode: told.rules.map(({ mode }) => mode), refusal: told.refusal }),
    gives: { mode: ['shadow'], refusal: undefined },
  },
  {
    says: 'a rule names its line, and the override of an operator its author',
    stand: () => {
      const more = places({ rules: [['user_path 60 /', 'limits.yaml:4']] });
      const options = { providers, rules: path('/', { max_requests: 9 }), more };
      return explainStand(options, [ruleDocument('/', { reason: 'runaway job' })]);
    },
    asked: {},
    expected: (told) => ({
      from: told.rules.map(({ source, declared_at: at, updated_by: by, reason }) => [source, at, by, reason]),
      cap: told.rules[0]?.max_requests,
    }),
    gives: { from: [['manual', 'limits.yaml:4', 'ops', 'runaway job']], cap: 1 },
  },
  {
    says: '/team is not /team-alpha',
    stand: () => explainStand({ providers, rules: path('/team', { max_requests: 1 }) }),
    asked: { userPath: '/team-alpha' },
    expected: (told) => ({ ...rules(told), ...missed(told) }),
    gives: { rules: [], missed: ['user_path /team minute: other_segment'] },
  },
  {
    says: 'paths differ in separators and spelling',
    stand: () => {
      const limits = [limit({ max_requests: 1 })];
      const paths = ['/red_team', '/red-taem', '/blue', '/red-team/deeper'];
      return explainStand({
        providers,
        rules: { user_paths: paths.map((each) => ({ path: each, per_child: false, limits })) },
      });
    },
    asked: { userPath: '/red-team' },
    expected: missed,
    gives: {
      missed: ['user_path /red-taem minute: spelling', 'user_path /red_team minute: separator'],
    },
  },
  {
    says: 'a rule on an alias, and one on a model that nothing has',
    stand: () => {
      const rulesOf = (model: string) => ({ model, limits: [limit({ max_requests: 1 })] });
      const options = {
        providers: { a: { models: ['gpt-4o'] } },
        aliases: [{ source: 'chat', targets: [{ model: 'gpt-4o' }] }],
      };
      return explainStand({ ...options, rules: { models: [rulesOf('chat'), rulesOf('gpt_4o'), rulesOf('o9')] } });
    },
    asked: { model: 'chat' },
    expected: missed,
    gives: { missed: ['model chat minute: rule_on_alias', 'model gpt_4o minute: separator'] },
  },
  {
    says: 'rate limits that are switched off',
    stand: () => explainStand({ providers, rules: { ...path('/', { max_requests: 1 }), enabled: false } }),
    asked: {},
    expected: (told) => ({ ...rules(told), ...missed(told), enabled: told.rate_limits_enabled }),
    gives: { rules: [], missed: ['user_path / minute: not_enforced'], enabled: false },
  },
  {
    says: 'a name that nothing has, and the one it was meant to be',
    stand: () => explainStand({ providers: { a: { models: ['gpt-4o'] } } }),
    asked: { model: 'GPT_4o' },
    expected: (told) => ({ ...kind(told), ...refused(told), ...missed(told) }),
    gives: {
      kind: 'unknown',
      chain: [],
      status: 404,
      code: 'model_not_found',
      message: undefined,
      missed: ['gpt-4o: separator'],
    },
  },
  {
    says: 'an alias of other user paths',
    stand: () => explainStand({ providers, aliases: [{ ...both, user_paths: ['/team'] }] }),
    asked: { model: 'both', userPath: '/team-alpha' },
    expected: (told) => ({ ...refused(told), ...missed(told) }),
    gives: { status: 404, code: 'model_not_found', message: undefined, missed: ['both: alias_of_other_user_paths'] },
  },
  {
    says: 'an alias that is not enabled',
    stand: () => explainStand({ providers, aliases: [{ ...both, enabled: false }] }),
    asked: { model: 'both' },
    expected: (told) => ({ ...kind(told), ...missed(told) }),
    gives: { kind: 'unknown', chain: [], missed: ['both: alias_disabled'] },
  },
  {
    says: 'a target whose provider is left out',
    stand: () => explainStand({ providers, aliases: [both], more: { droppedTargets: [['both', 'gone/m']] } }),
    asked: { model: 'both' },
    expected: steps,
    gives: { targets: ['a/m ask', 'b/m ask', 'gone/m skip provider_left_out'] },
  },
  {
    says: 'a key may use one of two targets',
    stand: () => explainStand({ providers, aliases: [both] }, [keyDocument('k', { allowed_models: ['b/*'] })]),
    asked: { model: 'both', keyId: 'k' },
    expected: steps,
    gives: { targets: ['b/m ask', 'a/m skip not_granted'] },
  },
  {
    says: 'a key may use none of the targets',
    stand: () => explainStand({ providers, aliases: [both] }, [keyDocument('k', { allowed_models: ['c/m'] })]),
    asked: { model: 'both', keyId: 'k' },
    expected: (told) => ({ ...refused(told), ...steps(told) }),
    gives: {
      status: 403,
      code: 'model_access_denied',
      message: undefined,
      targets: ['a/m skip not_granted', 'b/m skip not_granted'],
    },
  },
  {
    says: 'the path of a key wins over the one that is named',
    stand: () => explainStand({ providers }, [keyDocument('k', { user_path: '/team/ann' })]),
    asked: { userPath: '/other', keyId: 'k' },
    expected: ({ request }) => ({ path: request.user_path, state: request.key?.state }),
    gives: { path: '/team/ann', state: 'active' },
  },
  {
    says: 'a key may not name a path',
    stand: () => explainStand({ providers }, [keyDocument('k', { any_user_path: false })]),
    asked: { userPath: '/other', keyId: 'k' },
    expected: refused,
    gives: { status: 403, code: 'user_path_denied', message: undefined },
  },
  {
    says: 'a key that was revoked',
    stand: () => explainStand({ providers }, [keyDocument('k', { enabled: false })]),
    asked: { keyId: 'k' },
    expected: (told) => ({ ...refused(told), state: told.request.key?.state }),
    gives: { status: 401, code: 'invalid_api_key', message: undefined, state: 'revoked' },
  },
  {
    says: 'an operator of a path sees its counters, and of the others only what a refusal says',
    stand: () => {
      const limits = [limit({ max_requests: 3 })];
      const user_paths = ['/', '/team'].map((each) => ({ path: each, per_child: false, limits }));
      return explainStand({ providers, rules: { user_paths, ...onProvider('a', { max_requests: 4 }) } });
    },
    asked: { model: 'a/m', userPath: '/team', scope: '/team' },
    expected: ({ rules: all, targets: [target] }) => ({
      counted: all.map(({ subject, requests_used: count, source }) => [subject, count, source]),
      target: target?.rules.map(({ subject, max_requests: cap, requests_used: count }) => [subject, cap, count]),
    }),
    gives: {
      counted: [
        ['/', undefined, undefined],
        ['/team', 0, 'config'],
      ],
      target: [['a', 4, undefined]],
    },
  },
];
