// What to do instead of each setting of LiteLLM that the gateway has no counterpart for.
import { noCounterpart } from '../draft.ts';

const sent = `${noCounterpart}: clients say it in their requests, and the gateway adds nothing to them`;
const watched =
  'is not needed: the circuit breaker and the limits that providers tell steer requests away from a failing target';
const shown = `${noCounterpart}: the gateway has metrics (/metrics), traces and metrics over OTLP (OTEL_EXPORTER_OTLP_ENDPOINT), records of usage and an audit log`;
const stored = 'is a variable of the planes, not of the configuration: set DATABASE_URL';
const redis = 'is a variable of the planes, not of the configuration: set REDIS_URL';
const logged = 'is a variable of the planes, not of the configuration: set LOG_LEVEL';
const perKey =
  'a key has no limits of its own: bind keys to user paths, and write rate_limits and budgets for these (per_child, with the entitlement quota_templates, for each path below one)';

const deployments: Readonly<Record<string, string>> = {
  temperature: sent,
  top_p: sent,
  max_tokens: `${sent}; a guardrail of the kind limits can cap max_tokens`,
  max_completion_tokens: `${sent}; a guardrail of the kind limits can cap max_tokens`,
  stop: sent,
  seed: sent,
  reasoning_effort: sent,
  thinking: sent,
  extra_body: sent,
  additional_drop_params: 'is one decision for a provider here: unsupported: drop',
  max_retries: 'is one decision for an alias here: retry.attempts',
  num_retries: 'is one decision for an alias here: retry.attempts',
  cooldown_time: watched,
  allowed_fails: watched,
  max_budget: `${noCounterpart}: budgets are for user paths and labels of keys`,
  budget_duration: `${noCounterpart}: budgets are for user paths and labels of keys`,
  tags: `${noCounterpart}: give each tag an alias of its own, with user_paths where it is for some callers`,
  access_groups: 'is user_paths of an alias, or allowed_models of a key, here',
  team_id: 'is user_paths of an alias here',
  base_model: 'is not needed where the deployment is named as its model; else give the model a pricing',
  mock_response: noCounterpart,
  use_in_pass_through: 'is not needed: /p/{provider}/{endpoint} is served for every provider',
  configurable_clientside_auth_params: `${noCounterpart}: keys of clients are keys of the gateway`,
};

/** What only describes a model; nothing is lost with it. */
const descriptions =
  /^(id|db_model|description|max_tokens|max_input_tokens|max_output_tokens|output_vector_size|litellm_provider|supports_.*|supported_.*|created_(at|by)|updated_(at|by)|key|metadata|health_check_.*|version|mode)$/;

/** About a member of a deployment; undefined: nothing is lost with it. */
export function deploymentWords(name: string): string | undefined {
  if (Object.hasOwn(deployments, name)) return deployments[name];
  return descriptions.test(name) ? undefined : noCounterpart;
}

const settings: Readonly<Record<string, string>> = {
  allowed_fails: watched,
  allowed_fails_policy: watched,
  cooldown_time: watched,
  enable_pre_call_checks:
    'is not needed: caps of a target are checked before it is asked; after a prompt that is too long for a model the next target is asked',
  routing_strategy_args: noCounterpart,
  model_group_retry_policy: 'is one decision for an alias here: retry.attempts and retry.on',
  provider_budget_config: `${noCounterpart}: budgets are for user paths and labels of keys; rate_limits.providers caps tokens of a provider`,
  tag_budget_config: 'are budgets.labels here: give keys a label',
  enable_tag_filtering: `${noCounterpart}: give each tag an alias of its own, with user_paths where it is for some callers`,
  content_policy_fallbacks: `${noCounterpart}: put its models behind the targets of the alias, and content_filter into its retry.on`,
  max_fallbacks: 'is one decision for an alias here: retry.attempts',
  retry_after: 'is not needed: a provider that says Retry-After is asked later',
  polling_interval: noCounterpart,
  redis_host: redis,
  redis_port: redis,
  redis_password: redis,
  redis_url: redis,
  redis_db: redis,
  client_ttl: noCounterpart,
  set_verbose: logged,
  debug_level: logged,
  json_logs: 'is not needed: logs are JSON',
  callbacks: shown,
  success_callback: shown,
  failure_callback: shown,
  service_callbacks: shown,
  alerting: `${noCounterpart}: examples/observability has rules for alerts of Prometheus`,
  alerting_args: `${noCounterpart}: examples/observability has rules for alerts of Prometheus`,
  turn_off_message_logging: 'is not needed: bodies are recorded only with audit.bodies',
  redact_user_api_key_info: 'is not needed: keys are in no log',
  store_prompts_in_spend_logs: 'is audit.bodies here; decide whether bodies may be kept',
  disable_spend_logs: 'is USAGE_ENABLED=false here, which ends budgets and token limits too',
  maximum_spend_logs_retention_period: 'is usage.retention and audit.retention here',
  database_url: stored,
  database_connection_pool_limit: noCounterpart,
  master_key: 'is a variable of both planes: set GATEWAY_MASTER_KEY, or GATEWAY_MASTER_KEY_FILE',
  salt_key: 'is not needed: keys of providers are not stored',
  store_model_in_db: 'is not needed: aliases, limits and budgets of operators are kept beside those of the files',
  default_key_generate_params: perKey,
  upperbound_key_generate_params: perKey,
  default_internal_user_params: perKey,
  default_team_params: perKey,
  default_team_settings: perKey,
  max_internal_user_budget: perKey,
  internal_user_budget_duration: perKey,
  max_end_user_budget: perKey,
  max_user_budget: perKey,
  key_generation_settings: 'is admin.max_keys, max_keys_per_scope and the scopes of dashboard keys here',
  custom_auth: `${noCounterpart}: callers have keys of the gateway`,
  enable_jwt_auth: `${noCounterpart}: callers have keys of the gateway`,
  litellm_jwtauth: `${noCounterpart}: callers have keys of the gateway`,
  allowed_ips: `${noCounterpart}: a load balancer or a NetworkPolicy does it`,
  forward_client_headers_to_llm_api:
    'is a list here: name the headers in forward_headers of a provider; logins of clients go to a provider with auth: client',
  forward_llm_provider_auth_headers: 'is auth: client of a provider here',
  litellm_key_header_name: 'is server.gateway_key_header here',
  forward_openai_org_id: 'is a list here: name OpenAI-Organization in forward_headers of a provider',
  background_health_checks: 'is not needed: targets are judged by their answers',
  health_check_interval: 'is not needed: targets are judged by their answers',
  pass_through_endpoints: 'is /p/{provider}/{endpoint} here: add a provider with this address',
  modify_params:
    'is not needed: what a provider does not take is translated, or refused; see unsupported of a provider',
  ssl_verify: `${noCounterpart}: certificates are always verified; name your authority in ca_file of a provider`,
  cache_kwargs: redis,
};

/** About a member of the settings of the whole file. */
export function settingWords(name: string): string {
  return (Object.hasOwn(settings, name) ? settings[name] : undefined) ?? noCounterpart;
}

/** About a section of the whole file. */
export const sectionWords: Readonly<Record<string, string>> = {
  mcp_servers: `${noCounterpart}: the gateway serves no MCP; tools that a provider runs itself pass through`,
  vector_store_registry: noCounterpart,
  callback_settings: shown,
  assistant_settings: noCounterpart,
  files_settings: 'is not needed: /v1/files and /v1/batches go to the providers that keep them',
  finetune_settings: noCounterpart,
  environment_variables: 'are variables of the planes: set them where the proxy runs',
  include: `${noCounterpart}: import each of the files into the same directory`,
};
