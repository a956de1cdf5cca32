// The operations that show what is in force, one row each.
import { type Operation, type ParameterName, storedRefusals, writeHeaders } from './operation.ts';

/** Taking a target out, and giving it back. */
function drainOperations(
  model: string,
  name: string,
  what: string,
  parameters: readonly ParameterName[],
): readonly Operation[] {
  const common = {
    path: `/admin/targets/{provider}${model}/drain`,
    tag: 'Status',
    access: 'operator',
    parameters: [...parameters, 'IfMatch'],
    success: { status: 200, says: 'The targets after it.', schema: 'targets', headers: ['ETag', ...writeHeaders] },
  } as const;
  const refusals = { 412: ['precondition_failed'], 503: storedRefusals } as const;
  return [
    {
      ...common,
      id: `drain${name}`,
      method: 'post',
      summary: `Takes ${what} out until an end: no new call goes there, on any proxy.`,
      description:
        'Open calls go on, and what it keeps can be read, cancelled and deleted. Requests go to the other targets of their name; where there is none, they are refused with 503 `target_drained` and the time to the end. It replaces an earlier end and reason.',
      body: 'target-drain-write',
      refusals: {
        ...refusals,
        403: ['admin_scope_denied'],
        404: ['target_not_found'],
        409: ['too_many_target_drains', 'write_conflict'],
      },
    },
    {
      ...common,
      id: `endDrainOf${name}`,
      method: 'delete',
      summary: `Gives ${what} back before the end.`,
      refusals: {
        ...refusals,
        403: ['admin_scope_denied'],
        404: ['target_drain_not_found'],
        409: ['write_conflict'],
      },
    },
  ];
}

/** Of the pin of the configuration. */
const ofPin = { path: '/admin/config/pin', tag: 'Status', access: 'operator' } as const;

const afterPin = {
  status: 200,
  says: 'The pin after it; proxies follow within a second.',
  schema: 'config-pin',
  headers: ['ETag', ...writeHeaders],
} as const;

const pinOperations: readonly Operation[] = [
  {
    ...ofPin,
    id: 'getConfigPin',
    method: 'get',
    summary: 'Which revision of the configuration is pinned, where it is in force, and what waits.',
    description: 'It also answers while the store is down, marked `stale`.',
    success: { status: 200, says: 'The pin.', schema: 'config-pin', headers: ['ETag', 'x-gateway-stale'] },
    refusals: { 400: ['invalid_query'], 503: ['store_unavailable'] },
  },
  {
    ...ofPin,
    id: 'pinConfig',
    method: 'put',
    summary:
      'Pins an earlier revision of the configuration until an end: all proxies keep to it, whatever their directories hold.',
    description:
      'Its files go through the same checks as those of a directory. A proxy that cannot use them changes nothing, and says so. What the directories hold meanwhile waits, and comes in force at the end. It replaces an earlier pin.',
    body: 'config-pin-write',
    parameters: ['IfMatch'],
    success: afterPin,
    refusals: {
      404: ['config_revision_not_found'],
      409: ['write_conflict'],
      412: ['precondition_failed'],
      413: ['config_too_large_to_pin'],
      503: storedRefusals,
    },
  },
  {
    ...ofPin,
    id: 'unpinConfig',
    method: 'delete',
    summary: 'Ends the pin: what the directories hold is in force again.',
    parameters: ['IfMatch'],
    success: afterPin,
    refusals: {
      404: ['config_pin_not_found'],
      409: ['write_conflict'],
      412: ['precondition_failed'],
      503: storedRefusals,
    },
  },
];
const ofRollout = { path: '/admin/config/rollout', tag: 'Status', access: 'operator' } as const;

const ofRevisions = { method: 'get', tag: 'Status', access: 'operator' } as const;
const unstoredRecords = { 400: ['invalid_query'], 503: ['store_unavailable'] } as const;
const revisionRefusals = { ...unstoredRecords, 404: ['config_revision_not_found'] } as const;

/** The kept revisions of the configuration. */
const revisionOperations: readonly Operation[] = [
  {
    ...ofRevisions,
    id: 'listConfigRevisions',
    path: '/admin/config/revisions',
    summary: 'The last fifty revisions of the configuration, each with its commit and the verdict of each proxy.',
    description: 'What was put in force, and what was rejected, the newest first.',
    success: { status: 200, says: 'The revisions.', schema: 'config-revisions' },
    refusals: unstoredRecords,
  },
  {
    ...ofRevisions,
    id: 'getConfigRevision',
    path: '/admin/config/revisions/{id}',
    parameters: ['ConfigRevision', 'ConfigRevisionFile'],
    summary: 'One revision: each time that it came, its files, and the text of one of them.',
    description: 'Comments and values that may be a secret are left out; references to variables stay.',
    success: { status: 200, says: 'The revision.', schema: 'config-revision' },
    refusals: revisionRefusals,
  },
  {
    ...ofRevisions,
    id: 'getConfigRevisionChanges',
    path: '/admin/config/revisions/{id}/changes',
    parameters: ['ConfigRevision', 'ConfigRevisionAgainst'],
    summary: 'What differs between two revisions, entry by entry and value by value.',
    description: 'No value that may be a secret is shown.',
    success: { status: 200, says: 'The differences.', schema: 'config-revision-changes' },
    refusals: revisionRefusals,
  },
];

export const statusOperations: readonly Operation[] = [
  {
    id: 'getConfig',
    method: 'get',
    path: '/admin/config',
    tag: 'Status',
    access: 'operator',
    summary: 'What is in force, with the file and line of each entry, or who wrote it.',
    description:
      'Nothing of a provider that may be secret is shown. It also answers while the store is down, marked `stale`.',
    parameters: ['ConfigLists'],
    success: { status: 200, says: 'The configuration in force.', schema: 'config', headers: ['x-gateway-stale'] },
    refusals: { 400: ['invalid_query'], 503: ['store_unavailable'] },
  },
  {
    id: 'getConfigFiles',
    method: 'get',
    path: '/admin/config/files',
    tag: 'Status',
    access: 'operator',
    summary: 'The files of the configuration in force, and the text of one of them.',
    description: 'Comments and values that may be a secret are left out; references to variables stay.',
    parameters: ['ConfigFile'],
    success: { status: 200, says: 'The files.', schema: 'config-files' },
    refusals: { 400: ['invalid_query'] },
  },
  {
    id: 'getConfigDifferences',
    method: 'get',
    path: '/admin/config/differences',
    tag: 'Status',
    access: 'operator',
    summary: 'What the YAML directory holds now, against what is in force.',
    description: 'The files and values that differ, and the mistakes that keep them out of force. No secret is shown.',
    success: { status: 200, says: 'The differences.', schema: 'config-differences' },
    refusals: { 400: ['invalid_query'] },
  },
  ...pinOperations,
  {
    id: 'getConfigDrift',
    method: 'get',
    path: '/admin/config/drift',
    tag: 'Status',
    access: 'operator',
    summary: 'What runs, to compare it with git: revisions, rejected ones, and what operators have set.',
    description: 'It also answers while the store is down. `model-gateway drift` compares it with a directory.',
    success: { status: 200, says: 'What runs.', schema: 'drift', headers: ['x-gateway-stale'] },
    refusals: { 400: ['invalid_query'], 503: ['store_unavailable'] },
  },
  {
    id: 'getConfigOverrides',
    method: 'get',
    path: '/admin/config/overrides',
    tag: 'Status',
    access: 'operator',
    summary: 'Everything that operators have set, as entries of the configuration.',
    description: '`model-gateway export` makes YAML of it. What has ended is left out.',
    parameters: ['OverrideKinds'],
    success: { status: 200, says: 'The overrides.', schema: 'overrides', headers: ['x-gateway-stale'] },
    refusals: { 400: ['invalid_query'], 503: ['store_unavailable'] },
  },
  ...revisionOperations,
  {
    id: 'getConfigPatch',
    method: 'get',
    path: '/admin/config/patch',
    tag: 'Status',
    access: 'operator',
    summary: 'A patch of the files in force that says what operators have set.',
    description: 'For `git apply`. Issued keys are in it for admins alone.',
    parameters: ['OverrideKind', 'OverrideId'],
    success: { status: 200, says: 'The patch.', schema: 'config-patch', headers: ['x-gateway-stale'] },
    refusals: { 400: ['invalid_query'], 503: ['store_unavailable'] },
  },
  {
    id: 'getStatus',
    method: 'get',
    path: '/admin/status',
    tag: 'Status',
    access: 'operator',
    summary: 'The desired revisions, and the revisions that each proxy enforces.',
    description: 'It also answers while the store is down.',
    success: { status: 200, says: 'The state of the fleet.', schema: 'status' },
  },
  {
    id: 'tellHeartbeat',
    method: 'post',
    path: '/admin/heartbeats',
    tag: 'Status',
    access: 'operator',
    summary: 'A proxy says itself what the state store does not take; for proxies alone.',
    description:
      'A proxy asks this, with the master key, while the state store does not take its heartbeats: so `/admin/status` can tell an outage of the store from one of the proxy. The control plane dials no proxy.',
    body: 'heartbeat-write',
    success: { status: 204, says: 'It is heard.' },
    refusals: { 403: ['admin_scope_denied'] },
  },
  {
    id: 'listTargets',
    method: 'get',
    path: '/admin/targets',
    tag: 'Status',
    access: 'operator',
    summary: 'How models at providers are doing: breakers, speed, calls, learned limits; and what is taken out.',
    description:
      'What each live proxy knows, from its last heartbeat. It also answers while the store is down, marked `stale`.',
    success: {
      status: 200,
      says: 'The targets that were asked, and those that are taken out.',
      schema: 'targets',
      headers: ['ETag', 'x-gateway-stale'],
    },
    refusals: { 400: ['invalid_query'], 503: ['store_unavailable'] },
  },
  ...drainOperations('', 'Provider', 'a provider', ['TargetProvider']),
  ...drainOperations('/{model}', 'Model', 'a model of a provider', ['TargetProvider', 'TargetModel']),
  {
    id: 'getConvergence',
    method: 'get',
    path: '/admin/convergence',
    tag: 'Status',
    access: 'operator',
    summary: 'How many live proxies enforce a write.',
    description:
      'For the client that wrote: a scoped operator learns only these numbers about the fleet. It also answers while the store is down.',
    parameters: ['StateRevision'],
    success: { status: 200, says: 'The numbers.', schema: 'convergence' },
    refusals: { 400: ['invalid_query'] },
  },
  {
    id: 'listNames',
    method: 'get',
    path: '/admin/names',
    tag: 'Status',
    access: 'operator',
    summary: 'Names of what there is, to fill in a field with.',
    description: 'A scoped operator is told of its own subtree, and of the models that its key may use.',
    parameters: ['NamesOf', 'NamesSearch'],
    success: { status: 200, says: 'The names.', schema: 'names', headers: ['x-gateway-stale'] },
    refusals: { 400: ['invalid_query'], 503: ['store_unavailable'] },
  },
  {
    id: 'getApiDescription',
    method: 'get',
    path: '/admin/openapi.json',
    tag: 'Status',
    access: 'operator',
    summary: 'This description.',
    success: { status: 200, says: 'An OpenAPI document.', schema: 'api-description' },
  },
  {
    ...ofRollout,
    id: 'getConfigRollout',
    method: 'get',
    summary:
      'The revision of the configuration that is rolled out: its phase, and its figures on each proxy beside the limits.',
    success: { status: 200, says: 'The rollout.', schema: 'config-rollout' },
    refusals: { 400: ['invalid_query'] },
  },
  {
    ...ofRollout,
    id: 'endConfigRollout',
    method: 'put',
    summary: 'Ends the rollout of a revision before its time: for all proxies, or for none.',
    description:
      'All proxies follow within a second. A revision that was aborted waits until the directory has another one, or until it is finished here.',
    body: 'config-rollout-write',
    success: { status: 200, says: 'The rollout after it.', schema: 'config-rollout' },
    refusals: { 409: ['no_config_rollout', 'config_rollout_not_ready', 'write_conflict'], 503: storedRefusals },
  },
];
