// The tables of revisions of the configuration. Files are kept once, by their hash, however many revisions have them.
import type { Dialect } from './dialect.ts';

/**
 * `config_content`: the files of one content; `config_file`: `packed` is base64 of gzip, `packed_bytes` its length.
 * `config_revision`: `content` is null where the files are not kept, `facts` a `RevisionFacts`.
 * `config_verdict`: what a proxy has made of an entry of `config_revision`; see `ProxyVerdict`.
 */
export function revisionTables({ text, countedId, clustered }: Dialect): readonly string[] {
  return [
    `CREATE TABLE config_content (id ${countedId}, hash ${text} NOT NULL UNIQUE)`,
    `CREATE TABLE config_file (id ${countedId}, hash ${text} NOT NULL UNIQUE, bytes BIGINT NOT NULL,
       packed_bytes BIGINT NOT NULL, packed ${text} NOT NULL)`,
    `CREATE TABLE config_content_file (content BIGINT NOT NULL, name ${text} NOT NULL, file BIGINT NOT NULL,
       PRIMARY KEY (content, name))${clustered}`,
    'CREATE INDEX config_content_of ON config_content_file (file)',
    `CREATE TABLE config_revision (id ${countedId}, revision ${text} NOT NULL, hash ${text} NOT NULL, at_ms BIGINT NOT NULL,
       outcome ${text} NOT NULL, content BIGINT, facts ${text} NOT NULL)`,
    `CREATE TABLE config_verdict (entry BIGINT NOT NULL, instance ${text} NOT NULL, in_force_ms BIGINT, until_ms BIGINT,
       rejected_ms BIGINT, problems ${text} NOT NULL, PRIMARY KEY (entry, instance))${clustered}`,
  ];
}
