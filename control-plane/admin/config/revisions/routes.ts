// The routes of /admin/config/revisions: the kept revisions of the configuration, the files of one, and what differs between two.
import type { FastifyPluginAsync } from 'fastify';
import { timestamp } from '../../../../domain/timestamp.ts';
import { diffFiles } from '../../../../gitops/diff/diff-files.ts';
import type { SourceFile } from '../../../../gitops/read/read.ts';
import { shownText } from '../../../../gitops/read/shown-text.ts';
import type { RevisionStore } from '../../../../store/records/kept-revisions.ts';
import { refusal } from '../../../errors.ts';
import { invalidQuery, readQuery } from '../../../managed/read-query.ts';
import { previousOf, type Revisions } from '../../../revisions/open-revisions.ts';
import { unpackedFiles } from '../../../revisions/pack-files.ts';
import { storeRefusal } from '../../store-refusal.ts';
import { changesBetween, type DifferenceParts, listed } from '../differences.ts';
import { describeEach, describeRevisions, type RevisionListParts } from './describe.ts';

type KeptRevisions = Pick<RevisionStore, 'revisions' | 'revisionFiles' | 'packedFiles'>;

export interface RevisionRouteParts extends RevisionListParts {
  readonly revisions: Pick<Revisions, 'status' | 'verdicts' | 'filesOf'> & { readonly store: KeptRevisions };
  readonly settings: DifferenceParts['settings'];
}

export const revisionRoutes: FastifyPluginAsync<{ parts: RevisionRouteParts }> = async (app, { parts }) => {
  const { store } = parts.revisions;

  app.get('/admin/config/revisions', async ({ query }, reply) => {
    readQuery(query, []);
    void reply.header('cache-control', 'no-store');
    return describeRevisions(await asked(store.revisions()), parts);
  });

  app.get<{ Params: { id: string } }>('/admin/config/revisions/:id', async ({ params: { id }, query }, reply) => {
    const { file } = readQuery(query, ['file']);
    void reply.header('cache-control', 'no-store');
    const all = await asked(store.revisions());
    const entries = describeEach(all, parts).filter((_, at) => all[at]?.revision === id);
    if (entries.length === 0) throw unknown(id);
    return { server_time: timestamp(parts.nowMs()), revision: id, entries, ...(await describeFilesOf(id, file)) };
  });

  app.get<{ Params: { id: string } }>(
    '/admin/config/revisions/:id/changes',
    async ({ params: { id }, query }, reply) => {
      const { against } = readQuery(query, ['against']);
      void reply.header('cache-control', 'no-store');
      const before = against ?? previousOf(await asked(store.revisions()), id);
      if (before === undefined) throw unknown(id, `No revision is kept that was in force before "${id}"`);
      const [old, present] = [await filesOrRefuse(before), await filesOrRefuse(id)];
      return {
        server_time: timestamp(parts.nowMs()),
        revision: id,
        against: before,
        ...listed(diffFiles(old, present)),
        ...(await changesBetween(old, { files: [...present], problems: [], hash: '' }, parts.settings)),
      };
    },
  );

  async function filesOrRefuse(revision: string): Promise<readonly SourceFile[]> {
    const files = await asked(parts.revisions.filesOf(revision));
    if (files === undefined) throw unknown(revision, `No files of a revision "${revision}" are kept`);
    return files;
  }

  /** The text of one file alone is unpacked. */
  async function describeFilesOf(revision: string, wanted: string | undefined): Promise<object> {
    const found = await asked(store.revisionFiles(revision));
    const file = found?.files.find(({ name }) => name === wanted);
    if (wanted !== undefined && file === undefined) throw invalidQuery('file', 'must be a file of this revision');
    const bytes = file && (await textOf(store, file));
    const text = bytes && shownText({ bytes }, parts.secrets());
    return {
      ...(found === undefined
        ? {}
        : { files: found.files.map(({ name, bytes: length, hash }) => ({ file: name, bytes: length, sha256: hash })) }),
      ...(text === undefined ? {} : { text }),
    };
  }
};

type File = NonNullable<Awaited<ReturnType<RevisionStore['revisionFiles']>>>['files'][number];

async function textOf(store: KeptRevisions, file: File): Promise<Uint8Array | undefined> {
  return (await asked(unpackedFiles(store, [file]))).get(file.hash);
}

function unknown(revision: string, what = `No revision "${revision}" is kept`): Error {
  return refusal('config_revision_not_found', { fill: { what } });
}

function asked<Answer>(answer: Promise<Answer>): Promise<Answer> {
  return answer.catch((error: unknown) => {
    throw storeRefusal(error, 'record store');
  });
}
