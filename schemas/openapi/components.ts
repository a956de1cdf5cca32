// Turns the JSON Schemas of bodies into components of the API description, with unique names and internal references.
import adminError from '../admin/admin-error.schema.json' with { type: 'json' };
import auditConversation from '../admin/audit-conversation.schema.json' with { type: 'json' };
import auditEntry from '../admin/audit-entry.schema.json' with { type: 'json' };
import auditLog from '../admin/audit-log.schema.json' with { type: 'json' };
import auditSessions from '../admin/audit-sessions.schema.json' with { type: 'json' };
import auditStats from '../admin/audit-stats.schema.json' with { type: 'json' };
import authKey from '../admin/auth-key.schema.json' with { type: 'json' };
import allowedModels from '../admin/auth-key-allowed-models.schema.json' with { type: 'json' };
import authKeyChange from '../admin/auth-key-change.schema.json' with { type: 'json' };
import dashboardAccess from '../admin/auth-key-dashboard-access.schema.json' with { type: 'json' };
import authKeyIssued from '../admin/auth-key-issued.schema.json' with { type: 'json' };
import authKeyLabels from '../admin/auth-key-labels.schema.json' with { type: 'json' };
import authKeyList from '../admin/auth-key-list.schema.json' with { type: 'json' };
import authKeyRotate from '../admin/auth-key-rotate.schema.json' with { type: 'json' };
import authKeyWrite from '../admin/auth-key-write.schema.json' with { type: 'json' };
import budgetDelete from '../admin/budget-delete.schema.json' with { type: 'json' };
import budgetReset from '../admin/budget-reset.schema.json' with { type: 'json' };
import budgetResetOne from '../admin/budget-reset-one.schema.json' with { type: 'json' };
import budgetSettings from '../admin/budget-settings.schema.json' with { type: 'json' };
import budgetSettingsWrite from '../admin/budget-settings-write.schema.json' with { type: 'json' };
import budgetWrite from '../admin/budget-write.schema.json' with { type: 'json' };
import budgets from '../admin/budgets.schema.json' with { type: 'json' };
import cache from '../admin/cache.schema.json' with { type: 'json' };
import configInForce from '../admin/config.schema.json' with { type: 'json' };
import configDifferences from '../admin/config-differences.schema.json' with { type: 'json' };
import convergence from '../admin/convergence.schema.json' with { type: 'json' };
import explainedRequest from '../admin/explained-request.schema.json' with { type: 'json' };
import explanation from '../admin/explanation.schema.json' with { type: 'json' };
import guardrailDelete from '../admin/guardrail-delete.schema.json' with { type: 'json' };
import guardrailTest from '../admin/guardrail-test.schema.json' with { type: 'json' };
import guardrailVerdicts from '../admin/guardrail-verdicts.schema.json' with { type: 'json' };
import guardrailWrite from '../admin/guardrail-write.schema.json' with { type: 'json' };
import guardrails from '../admin/guardrails.schema.json' with { type: 'json' };
import rateLimitDelete from '../admin/rate-limit-delete.schema.json' with { type: 'json' };
import rateLimitReset from '../admin/rate-limit-reset.schema.json' with { type: 'json' };
import rateLimitResetOne from '../admin/rate-limit-reset-one.schema.json' with { type: 'json' };
import rateLimitWrite from '../admin/rate-limit-write.schema.json' with { type: 'json' };
import rateLimits from '../admin/rate-limits.schema.json' with { type: 'json' };
import session from '../admin/session.schema.json' with { type: 'json' };
import sessionWrite from '../admin/session-write.schema.json' with { type: 'json' };
import status from '../admin/status.schema.json' with { type: 'json' };
import targets from '../admin/targets.schema.json' with { type: 'json' };
import usageDaily from '../admin/usage-daily.schema.json' with { type: 'json' };
import usageKeys from '../admin/usage-keys.schema.json' with { type: 'json' };
import usageLabels from '../admin/usage-labels.schema.json' with { type: 'json' };
import usageLog from '../admin/usage-log.schema.json' with { type: 'json' };
import usageModels from '../admin/usage-models.schema.json' with { type: 'json' };
import usageSessions from '../admin/usage-sessions.schema.json' with { type: 'json' };
import usageSummary from '../admin/usage-summary.schema.json' with { type: 'json' };
import usageUserPaths from '../admin/usage-user-paths.schema.json' with { type: 'json' };
import virtualModelDelete from '../admin/virtual-model-delete.schema.json' with { type: 'json' };
import virtualModelWrite from '../admin/virtual-model-write.schema.json' with { type: 'json' };
import virtualModels from '../admin/virtual-models.schema.json' with { type: 'json' };
import chatCompletion from '../model-api/chat-completion.schema.json' with { type: 'json' };
import chatCompletionRequest from '../model-api/chat-completion-request.schema.json' with { type: 'json' };
import completion from '../model-api/completion.schema.json' with { type: 'json' };
import completionRequest from '../model-api/completion-request.schema.json' with { type: 'json' };
import embeddingList from '../model-api/embedding-list.schema.json' with { type: 'json' };
import embeddingRequest from '../model-api/embedding-request.schema.json' with { type: 'json' };
import message from '../model-api/message.schema.json' with { type: 'json' };
import messageRequest from '../model-api/message-request.schema.json' with { type: 'json' };
import model from '../model-api/model.schema.json' with { type: 'json' };
import modelError from '../model-api/model-error.schema.json' with { type: 'json' };
import modelList from '../model-api/model-list.schema.json' with { type: 'json' };
import realtimeSecret from '../model-api/realtime-secret.schema.json' with { type: 'json' };
import realtimeSecretRequest from '../model-api/realtime-secret-request.schema.json' with { type: 'json' };
import response from '../model-api/response.schema.json' with { type: 'json' };
import responseDeleted from '../model-api/response-deleted.schema.json' with { type: 'json' };
import responseInputItems from '../model-api/response-input-items.schema.json' with { type: 'json' };
import responseRequest from '../model-api/response-request.schema.json' with { type: 'json' };
import tokenCount from '../model-api/token-count.schema.json' with { type: 'json' };
import tokenCountRequest from '../model-api/token-count-request.schema.json' with { type: 'json' };
import usage from '../model-api/usage.schema.json' with { type: 'json' };
import apiDescription from './api-description.schema.json' with { type: 'json' };
import resetDone from './reset-done.schema.json' with { type: 'json' };

/** Every schema in the API description, by the name of its file. */
const schemas = {
  'admin-error': adminError,
  'api-description': apiDescription,
  'audit-conversation': auditConversation,
  'audit-entry': auditEntry,
  'audit-log': auditLog,
  'audit-sessions': auditSessions,
  'audit-stats': auditStats,
  'auth-key': authKey,
  'auth-key-allowed-models': allowedModels,
  'auth-key-change': authKeyChange,
  'auth-key-dashboard-access': dashboardAccess,
  'auth-key-issued': authKeyIssued,
  'auth-key-labels': authKeyLabels,
  'auth-key-list': authKeyList,
  'auth-key-rotate': authKeyRotate,
  'auth-key-write': authKeyWrite,
  'budget-delete': budgetDelete,
  'budget-reset': budgetReset,
  'budget-reset-one': budgetResetOne,
  'budget-settings': budgetSettings,
  'budget-settings-write': budgetSettingsWrite,
  'budget-write': budgetWrite,
  budgets,
  cache,
  'chat-completion': chatCompletion,
  'chat-completion-request': chatCompletionRequest,
  completion,
  'completion-request': completionRequest,
  config: configInForce,
  'config-differences': configDifferences,
  convergence,
  'embedding-list': embeddingList,
  'embedding-request': embeddingRequest,
  'explained-request': explainedRequest,
  explanation,
  'guardrail-delete': guardrailDelete,
  'guardrail-test': guardrailTest,
  'guardrail-verdicts': guardrailVerdicts,
  'guardrail-write': guardrailWrite,
  guardrails,
  message,
  'message-request': messageRequest,
  model,
  'model-error': modelError,
  'model-list': modelList,
  'rate-limit-delete': rateLimitDelete,
  'rate-limit-reset': rateLimitReset,
  'rate-limit-reset-one': rateLimitResetOne,
  'rate-limit-write': rateLimitWrite,
  'rate-limits': rateLimits,
  'realtime-secret': realtimeSecret,
  'realtime-secret-request': realtimeSecretRequest,
  'reset-done': resetDone,
  response,
  'response-deleted': responseDeleted,
  'response-input-items': responseInputItems,
  'response-request': responseRequest,
  session,
  'session-write': sessionWrite,
  status,
  targets,
  'token-count': tokenCount,
  'token-count-request': tokenCountRequest,
  usage,
  'usage-daily': usageDaily,
  'usage-keys': usageKeys,
  'usage-labels': usageLabels,
  'usage-log': usageLog,
  'usage-models': usageModels,
  'usage-sessions': usageSessions,
  'usage-summary': usageSummary,
  'usage-user-paths': usageUserPaths,
  'virtual-model-delete': virtualModelDelete,
  'virtual-model-write': virtualModelWrite,
  'virtual-models': virtualModels,
} satisfies Record<string, object>;

/** A schema by the name of its file, such as `rate-limit-write`. */
export type SchemaName = keyof typeof schemas;

/** A reference to a component of the description. */
export function referenceTo(name: SchemaName): { readonly $ref: string } {
  return { $ref: pointer(name) };
}

/** All components: `rate-limit-write` becomes `RateLimitWrite`, its definition `limit_key` becomes `RateLimitWriteLimitKey`. */
export function schemaComponents(): Record<string, unknown> {
  const components: Record<string, unknown> = {};
  for (const [name, { $schema: _, $defs = {}, ...schema }] of Object.entries<Schema>(schemas)) {
    components[componentName(name)] = rewritten(schema, name);
    for (const [part, definition] of Object.entries($defs)) {
      // Generators name a type after its title, so titles must be unique.
      const title = `${schema.title}: ${part.replaceAll('_', ' ')}`;
      components[componentName(name, part)] = { ...rewritten(definition, name), title };
    }
  }
  return components;
}

interface Schema {
  readonly $schema?: string;
  readonly title: string;
  readonly $defs?: Readonly<Record<string, object>>;
}

function componentName(name: string, part = ''): string {
  return `${name}-${part}`.replace(/(?:^|[-_]+)([a-z]|$)/g, (_, letter: string) => letter.toUpperCase());
}

function pointer(name: string, part = ''): string {
  return `#/components/schemas/${componentName(name, part)}`;
}

/** Our own keywords that say how a mistake is worded; no other tool knows them. */
const wording: ReadonlySet<string> = new Set(['x-form']);

/** The schema with references to files and definitions replaced by references to components, and without words for mistakes. */
function rewritten(node: object, home: string): object {
  const rewrite = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(rewrite);
    return typeof value === 'object' && value !== null ? rewritten(value, home) : value;
  };
  const kept = Object.entries(node).filter(([key]) => !wording.has(key));
  return Object.fromEntries(
    kept.map(([key, value]: [string, unknown]) => [
      key,
      key === '$ref' && typeof value === 'string' ? moved(value, home) : rewrite(value),
    ]),
  );
}

/** The component of a reference. Throws at the start for a reference in another form or to an unknown schema. */
function moved(reference: string, home: string): string {
  const match = /^(?:([a-z-]+)\.schema\.json)?(?:#\/\$defs\/([a-z_]+))?$/.exec(reference);
  const name = match?.[1] ?? home;
  if (match === null || !(name in schemas)) throw new Error(`${home} refers to ${reference}, which is not described`);
  return pointer(name, match[2]);
}
