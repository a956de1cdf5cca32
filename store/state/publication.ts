// What the control plane tells all proxies lies in the state store beside the heartbeats, under names with a space, which no instance has.
import { createHash } from 'node:crypto';
import type { StateStore } from './state-store.ts';

/** A kind of content that is told as a whole, in place of what was told before. */
export interface PublicationKind<Content extends { readonly computedAtMs: number }> {
  /** Of a small record that is read often. */
  readonly markName: string;
  /** Of the whole, which is read when the small record says that it is another. */
  readonly wholeName: string;
  /** A JSON object without a member `revision`. */
  readonly write: (content: Content) => object;
  /** The inverse of `write`; undefined when the body is none. Does not throw. */
  readonly read: (body: unknown) => Content | undefined;
}

/** A content with its name. */
export type Published<Content> = Content & { readonly revision: string };

export interface Publication<Content> {
  /** The name of a content, whenever it was computed: two control planes that find the same give it the same name. */
  readonly revision: (content: Content) => string;
  /** Tells the content to all proxies. `nowMs`: Unix milliseconds. Rejects with `StoreUnavailable`. */
  readonly publish: (
    store: Pick<StateStore, 'writeHeartbeat'>,
    content: Published<Content>,
    nowMs: number,
  ) => Promise<void>;
  /**
   * The content in the store, when it is another than the one named `known`; undefined: it is the same, or there is none that can be read.
   * Rejects with `StoreUnavailable`.
   */
  readonly fetch: (
    store: Pick<StateStore, 'heartbeats'>,
    known: string | undefined,
  ) => Promise<Published<Content> | undefined>;
}

export function publicationOf<Content extends { readonly computedAtMs: number }>({
  markName,
  wholeName,
  write,
  read,
}: PublicationKind<Content>): Publication<Content> {
  return {
    revision(content) {
      const text = JSON.stringify(write({ ...content, computedAtMs: 0 }));
      return createHash('sha256').update(text).digest('hex').slice(0, 16);
    },
    async publish(store, content, nowMs) {
      const { revision } = content;
      const atMs = Math.floor(nowMs);
      // The whole first: a reader that knows the mark finds at least what it names.
      await store.writeHeartbeat({ instance: wholeName, atMs, body: { revision, ...write(content) } });
      await store.writeHeartbeat({ instance: markName, atMs, body: { revision } });
    },
    async fetch(store, known) {
      const [mark] = await store.heartbeats(markName);
      const wanted = revisionIn(mark?.body);
      if (wanted === undefined || wanted === known) return undefined;
      const [whole] = await store.heartbeats(wholeName);
      const revision = revisionIn(whole?.body);
      const content = read(whole?.body);
      return revision === undefined || content === undefined ? undefined : { ...content, revision };
    },
  };
}

function revisionIn(body: unknown): string | undefined {
  const revision = typeof body === 'object' && body !== null && 'revision' in body ? body.revision : undefined;
  return typeof revision === 'string' ? revision : undefined;
}
