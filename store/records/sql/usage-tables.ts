// The tables of usage records: a row for each executed attempt, and its labels.
import type { Dialect } from './dialect.ts';

/** Costs are nano-dollars; null: there is no price. `record` and `seq` name the attempt, and keep it once. */
export function usageTables({ text, countedId, clustered }: Dialect): readonly string[] {
  const count = (name: string): string => `${name} BIGINT`;
  const optional = ['cached_input_tokens', 'cache_write_input_tokens', 'reasoning_tokens', 'audio_input_tokens'];
  return [
    `CREATE TABLE usage (id ${countedId}, record ${text} NOT NULL, seq BIGINT NOT NULL, at_ms BIGINT NOT NULL,
       request_id ${text} NOT NULL, provider_id ${text}, model ${text} NOT NULL, provider ${text} NOT NULL,
       provider_name ${text} NOT NULL, endpoint ${text} NOT NULL, user_path ${text} NOT NULL, session_id ${text},
       auth_key_id ${text}, cache_type ${text}, source ${text} NOT NULL, input_tokens BIGINT NOT NULL,
       output_tokens BIGINT NOT NULL, total_tokens BIGINT NOT NULL, ${optional.map(count).join(', ')},
       audio_output_tokens BIGINT, audio_seconds DOUBLE PRECISION, characters BIGINT, images BIGINT,
       input_cost BIGINT, output_cost BIGINT, total_cost BIGINT)`,
    'CREATE UNIQUE INDEX usage_attempt ON usage (record, seq)',
    'CREATE INDEX usage_at ON usage (at_ms)',
    `CREATE TABLE usage_label (usage BIGINT NOT NULL, label ${text} NOT NULL, PRIMARY KEY (usage, label))${clustered}`,
    'CREATE INDEX usage_label_of ON usage_label (label, usage)',
  ];
}
